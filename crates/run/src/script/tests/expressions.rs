//! Functions and arithmetic in placeholders.

use super::*;

/// The value of an expression with the variables `who` (ann), `n` (the number 7 in session 1) and `price` (2.50).
fn value(expression: &str, at: RequestContext) -> Result<String, String> {
    let text = format!(
        "[variables]\nuser.file = \"users.csv\"\nwho = \"ann smith\"\nn = {{ sequence = 6, per = \"session\" }}\nprice = \"2.50\"\n\
         [[request]]\npost = \"/\"\nbody = \"{{{{{expression}}}}}\""
    );
    let request = script(&text).map_err(|e| e.to_string())?.request(0, at, None, Instant::ZERO);
    let body = request.map_err(|missing| format!("{missing:?}"))?.body.unwrap();
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

#[test]
fn functions_have_the_values_of_other_tools() {
    // printf ... | base64, sha256sum, openssl dgst -hmac key
    for (expression, expected) in [
        ("base64(who)", "YW5uIHNtaXRo"),
        ("base64_url('>>?')", "Pj4_"),
        ("url('a/b c&')", "a%2Fb%20c%26"),
        ("upper(who)", "ANN SMITH"),
        ("lower('ANN')", "ann"),
        ("md5('hello')", "5d41402abc4b2a76b9719d911017c592"),
        ("sha1('hello')", "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"),
        ("sha256('hello')", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
        ("sha256('hello', 'base64')", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
        // RFC 4231, section 4.3, and RFC 2202, section 3.
        (
            "hmac_sha256('Jefe', 'what do ya want for nothing?')",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        ("hmac_sha1('Jefe', 'what do ya want for nothing?')", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        ("base64(upper(user.name))", "Qk9C"),
        ("n + 1", "8"),
        ("2 * (n - 1) / 4", "3"),
        ("n % 4", "3"),
        ("price * 2", "5"),
        ("price + 0.25", "2.75"),
        ("session * 10", "10"),
        ("choice('only')", "only"),
        ("random(5, 5)", "5"),
        ("random_text(0)", ""),
    ] {
        assert_eq!(value(expression, AT).as_deref(), Ok(expected), "{expression}");
    }
    for (expression, reason) in [
        ("who + 1", "`ann smith` is not a number"),
        ("n / 0", "division by zero"),
        ("sha256('a', 'octal')", "not an encoding"),
        ("random(2, 1)", "is an empty range"),
        ("random_text(-1)", "not a whole number"),
        ("date('%Y', '1 day')", "not an offset"),
    ] {
        assert!(value(expression, AT).unwrap_err().contains(reason), "{expression}: {:?}", value(expression, AT));
    }
}

#[test]
fn random_functions_follow_from_the_seed_session_and_step() {
    let at = |session, step| RequestContext { session, step, ..AT };
    for expression in ["random(1, 1000000)", "random_text(12)", "choice(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)"] {
        let of = |session, step| value(expression, at(session, step)).unwrap();
        assert_eq!(of(1, 2), of(1, 2));
        let all: HashSet<String> =
            (0..20).map(|session| of(session, 0)).chain((1..20).map(|step| of(0, step))).collect();
        assert!(all.len() > 10, "{all:?}");
    }
    let both = value("random(1, 1000000) + 0}} {{random(1, 1000000) + 0", AT).unwrap();
    let (first, second) = both.split_once(' ').unwrap();
    assert_ne!(first, second, "each call has its own numbers");
    let trace = value("traceparent()", AT).unwrap();
    let parts: Vec<usize> = trace.split('-').map(str::len).collect();
    assert_eq!(parts, [2, 32, 16, 2], "{trace}");
}

#[test]
fn dates_are_moved_by_an_offset() {
    let seconds = |expression: &str| value(expression, AT).unwrap().parse::<i64>().unwrap();
    let now = (unix_now().0 / 1_000_000_000) as i64;
    for (expression, moved) in [("date('unix')", 0), ("date('unix', '+1d')", 86_400), ("date('%s', '-2h')", -7200)] {
        assert!((0..60).contains(&(seconds(expression) - now - moved)), "{expression}");
    }
    assert_eq!(value("date('%Y')", AT).unwrap().len(), 4);
}

#[test]
fn results_are_escaped_for_their_place() {
    let text = "[variables]\nw = \"a\\\"b\"\n[[request]]\npost = \"/?q={{upper(w)}}\"\n\
                body = '{\"w\": \"{{upper(w)}}\", \"raw\": \"{{upper(w)|raw}}\", \"n\": {{1 + 1}}}'";
    let built = request(text);
    assert_eq!(built.path, "/?q=A%22B");
    assert_eq!(built.body.as_deref(), Some(br#"{"w": "A\"B", "raw": "A"B", "n": 2}"#.as_slice()));
}
