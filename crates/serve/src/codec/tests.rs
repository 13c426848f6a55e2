use proptest::prelude::*;

use super::*;

/// Decoded requests, with the body pieces joined.
#[derive(Debug, Default, PartialEq)]
struct Decoded {
    requests: Vec<(String, bool, bool, Vec<u8>)>,
    bad: Option<RequestError>,
}

/// Feeds `bytes` in pieces that end at `cuts`.
fn decoded(bytes: &[u8], cuts: &[usize]) -> Decoded {
    let mut decoder = RequestDecoder::new();
    let mut decoded = Decoded::default();
    let mut open: Option<(String, bool, bool, Vec<u8>)> = None;
    let ends = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([bytes.len()]);
    let mut ends: Vec<usize> = ends.collect();
    ends.sort_unstable();
    let mut from = 0;
    for end in ends {
        let mut input = &bytes[from..end];
        from = end;
        loop {
            match decoder.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Part::Head(head))) => {
                    open = Some((head.target.to_owned(), head.keep_alive, head.expects, Vec::new()));
                }
                Ok(Some(Part::Body(data))) => open.as_mut().unwrap().3.extend_from_slice(data),
                Ok(Some(Part::End)) => decoded.requests.push(open.take().unwrap()),
                Err(bad) => {
                    decoded.bad = Some(bad);
                    return decoded;
                }
            }
        }
        assert!(input.is_empty(), "incomplete although bytes remain");
    }
    decoded
}

fn one(bytes: &[u8]) -> (String, bool, bool, Vec<u8>) {
    let decoded = decoded(bytes, &[]);
    assert_eq!((decoded.bad, decoded.requests.len()), (None, 1), "{}", String::from_utf8_lossy(bytes));
    decoded.requests.into_iter().next().unwrap()
}

#[test]
fn requests_determine_whether_the_connection_stays_open() {
    for (text, keep) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nconnection: upgrade, CLOSE\r\n\r\n", false),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("\r\n\r\nGET / HTTP/1.1\n\n", true),
    ] {
        assert_eq!(one(text.as_bytes()).1, keep, "{text}");
    }
}

#[test]
fn bodies_are_decoded_with_every_framing() {
    let text = b"POST /a HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\nhelloGET /b HTTP/1.1\r\n\r\n";
    let decoded = decoded(text, &[]);
    assert_eq!(decoded.requests[0], ("/a".into(), true, true, b"hello".to_vec()));
    assert_eq!(decoded.requests[1], ("/b".into(), true, false, vec![]));
    let chunked = b"POST /c HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n\
        5;why=\"not\"\r\nhello\r\n001\r\n!\r\n0\r\nTrailer: x\r\n\r\n";
    assert_eq!(one(chunked), ("/c".into(), true, false, b"hello!".to_vec()));
}

#[test]
fn ambiguous_requests_are_refused() {
    for text in [
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "hello there\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
    ] {
        assert_eq!(decoded(text.as_bytes(), &[]).bad, Some(RequestError::Malformed), "{text}");
    }
}

#[test]
fn endless_heads_are_refused() {
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(MAX_HEAD));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(MAX_FIELDS + 1));
    let tail = format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}", "X: y\r\n".repeat(MAX_HEAD));
    for text in [long, many, tail] {
        assert_eq!(decoded(text.as_bytes(), &[]).bad, Some(RequestError::TooLarge));
    }
    let fits = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(MAX_HEAD - 23));
    assert_eq!(fits.len(), MAX_HEAD);
    one(fits.as_bytes());
}

/// Streams of requests that are mostly well-formed, and sometimes not at all.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let body = prop::collection::vec(any::<u8>(), 0..200);
    let request = (body, 0..7).prop_map(|(body, kind)| match kind {
        0 => b"GET /x?work_ms=1 HTTP/1.1\r\nHost: here\r\n\r\n".to_vec(),
        1 => b"HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_vec(),
        2 => b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n".to_vec(),
        3 => [format!("PUT /y HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat(),
        4 => {
            let mut text = b"POST /z HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in body.chunks(37) {
                text.extend([format!("{:X}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
            }
            [text, b"0\r\n\r\n".to_vec()].concat()
        }
        5 => format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "long ".repeat(body.len() * 20)).into_bytes(),
        _ => body,
    });
    prop::collection::vec(request, 0..6).prop_map(|requests| requests.concat())
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_yields_the_same_requests(bytes in stream(), cuts in prop::collection::vec(any::<usize>(), 0..30)) {
        prop_assert_eq!(decoded(&bytes, &cuts), decoded(&bytes, &[]));
    }

    #[test]
    fn one_byte_at_a_time_yields_the_same_requests(bytes in stream()) {
        let all: Vec<usize> = (0..=bytes.len()).collect();
        prop_assert_eq!(decoded(&bytes, &all), decoded(&bytes, &[]));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..3000), cut: usize) {
        decoded(&bytes, &[cut]);
    }

    #[test]
    fn any_bytes_are_decoded_as_a_chunked_body_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), cut: usize) {
        let head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let text = [head, bytes].concat();
        prop_assert_eq!(decoded(&text, &[cut]), decoded(&text, &[]));
    }
}
