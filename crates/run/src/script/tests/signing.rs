//! Requests that are signed, and challenges that are answered.

use super::*;

/// The signature of a request at the time of the AWS test suite.
fn signature(request: &str, service: &str) -> (String, OutgoingRequest) {
    let text = format!(
        "[target]\nurl = \"https://example.amazonaws.com/\"\nauth = {{ aws = {{ region = \"us-east-1\", service = \"{service}\", \
         access_key = \"AKIDEXAMPLE\", secret_key = \"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\" }} }}\n[[request]]\n{request}"
    );
    let script = script(&text).unwrap();
    let mut built = script.request(0, AT, None, Instant::ZERO).unwrap();
    built.headers.retain(|(name, _)| name != "Authorization");
    let Some(Credentials::Aws(aws)) = &script.requests[0].auth else { panic!("a signature") };
    // 2015-08-30 12:36:00
    let now = Nanos::from_secs(1_440_938_160);
    aws.sign(&mut built, "example.amazonaws.com", now, &script.values, AT, None).unwrap();
    let header = header(&built, "Authorization").unwrap().to_owned();
    assert!(header.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/"), "{header}");
    (header.rsplit_once("Signature=").unwrap().1.to_owned(), built)
}

#[test]
fn signatures_are_those_of_the_aws_test_suite() {
    let text = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let unreserved = format!("get = \"/?{text}={text}\"");
    for (request, expected) in [
        ("get = \"/\"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("post = \"/\"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ("get = \"/?Param2=value2&Param1=value1\"", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        (unreserved.as_str(), "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
    ] {
        let (signature, built) = signature(request, "service");
        assert_eq!(signature, expected, "{request}");
        assert_eq!(header(&built, "X-Amz-Date"), Some("20150830T123600Z"));
    }
    let (_, stored) = signature("put = \"/a\"\nbody = \"x\"", "s3");
    let digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"; // printf x | sha256sum
    assert_eq!(header(&stored, "X-Amz-Content-Sha256"), Some(digest));
}

#[test]
fn a_digest_challenge_is_answered_and_its_nonce_used_again() {
    let script = script("[target]\nurl = \"http://h/\"\nauth.digest = \"{{user.name}}:{{user.password}}\"\n\
                         [variables]\nuser.file = \"users.csv\"\n[[request]]\nname = \"a\"\nget = \"/a?x\"\n[[request]]\nname = \"b\"\nget = \"/b\"\nauth = false")
        .unwrap();
    let mut state = SessionState::default();
    let first = script.request(0, AT, Some(&state), Instant::ZERO).unwrap();
    assert_eq!(header(&first, "Authorization"), None);
    let refusal = response(&[("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")], b"");
    assert_eq!(script.answer_challenge(0, AT, &first, 200, &refusal, &mut state), None);
    let answer = script.answer_challenge(0, AT, &first, 401, &refusal, &mut state).unwrap();
    let authorization = header(&answer, "Authorization").unwrap();
    assert!(
        authorization.contains("username=\"bob\"")
            && authorization.contains("uri=\"/a?x\"")
            && authorization.contains("nc=00000001")
    );
    let next = script.request(0, AT, Some(&state), Instant::ZERO).unwrap();
    assert!(header(&next, "Authorization").unwrap().contains("nc=00000002"));
    assert_eq!(header(&script.request(1, AT, Some(&state), Instant::ZERO).unwrap(), "Authorization"), None);
}
