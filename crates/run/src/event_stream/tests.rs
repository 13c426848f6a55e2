use super::*;
use offered_events::Finish;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn openai() -> EventStream {
    EventStream::new(StreamFormat::OpenAi)
}

/// Reads these pieces, one every 10 ms from 50 ms on, and concludes.
fn read(stream: &EventStream, pieces: &[&[u8]]) -> Event {
    let mut reader = StreamReader::new(ExpectedStream::new(stream, false).unwrap(), Some(21));
    reader.begin_read(Instant(20 * MS), DataArrival::default(), None);
    reader.begin([("Content-Type", &b"text/event-stream; charset=utf-8"[..])].into_iter());
    for (nth, piece) in (0..).zip(pieces) {
        reader.begin_read(Instant((50 + 10 * nth) * MS), DataArrival::default(), None);
        reader.add(piece);
    }
    let mut event = Event { outcome: Outcome::Ok, ..Event::at(Instant::ZERO) };
    reader.conclude(&mut event);
    event
}

fn chunk(delta: &str, finish: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{{delta}}},\"finish_reason\":{finish}}}]}}\n\n")
}

const ROLE: &str = "\"role\":\"assistant\",\"content\":\"\"";
const TOKEN: &str = "\"content\":\" the\"";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":3,\"prompt_tokens_details\":{\"cached_tokens\":16}}}\n\n";
const LAST: &str = "data: [DONE]\n\n";

fn pieces(texts: &[String]) -> Vec<&[u8]> {
    texts.iter().map(String::as_bytes).collect()
}

#[test]
fn a_role_a_comment_and_a_header_are_no_tokens() {
    let reasoning = chunk("\"reasoning_content\":\"Hm\"", "null");
    let texts = [
        ": ping\n\n".to_owned(),
        chunk(ROLE, "null"),
        reasoning,
        chunk(TOKEN, "null"),
        chunk(TOKEN, "\"length\"") + USAGE + LAST,
    ];
    let event = read(&openai(), &pieces(&texts));
    let ms = |ms: u64| Some(Instant(ms * MS));
    let expected = TokenStream {
        head: Instant(20 * MS),
        first_token: ms(70),
        first_answer: ms(80),
        last_token: ms(90),
        tokens_intended: Some(21),
        tokens_in: Some(20),
        tokens_cached: Some(16),
        tokens_out: Some(3),
        tokens_first: None,
        chunks: 3,
        coalesced: 0,
        gap_max: Some(Nanos(10 * MS)),
        gaps_us: vec![10_000, 10_000],
        finish: Some(Finish::Length),
        read_late: None,
        last_read_late: None,
        first_earliest: None,
        last_earliest: None,
    };
    assert_eq!((event.outcome, event.error, event.stream.as_deref()), (Outcome::Ok, None, Some(&expected)));
}

#[test]
fn chunks_that_share_a_read_have_no_gap() {
    let three = chunk(TOKEN, "null").repeat(3);
    let texts = [three.clone(), three, chunk(TOKEN, "\"stop\"") + LAST];
    let stream = *read(&openai(), &pieces(&texts)).stream.unwrap();
    assert_eq!((stream.chunks, stream.coalesced, stream.gaps_us), (7, 4, vec![10_000, 10_000]));
    assert_eq!((stream.first_token, stream.last_token), (Some(Instant(50 * MS)), Some(Instant(70 * MS))));
}

#[test]
fn kernel_stamps_replace_the_instants_of_reading() {
    let (token, ms) = (chunk(TOKEN, "null"), Nanos::from_millis);
    let mut reader = StreamReader::new(ExpectedStream::new(&openai(), false).unwrap(), None);
    reader.begin([("content-type", &b"text/event-stream"[..])].into_iter());
    let stamp = |before: u64| Some(unix_now().saturating_sub(ms(before)));
    let now = |at: u64| Instant((1_000_000 + at) * MS);
    let data =
        |stamp, waited| DataArrival { stamp, waited, empty_until: now(0).earlier(ms(450)), ..DataArrival::default() };
    // The first chunk had waited 400 ms, and another one came 100 ms before the read.
    reader.begin_read(now(0), data(stamp(100), Some(ms(400))), None);
    reader.add(token.repeat(2).as_bytes());
    let second = stamp(200);
    reader.begin_read(now(5000), data(second, None), None);
    reader.add(token.as_bytes());
    // More of the same data: a TLS record that was received with the one before.
    reader.begin_read(now(5000), data(second, None), None);
    reader.add(token.as_bytes());
    let TokenStream { first_token, last_token, coalesced, read_late, last_read_late, gaps_us, .. } =
        reader.times.record;
    assert_eq!((first_token, coalesced), (Some(now(0).earlier(ms(400))), 2));
    let near = |late: Option<Nanos>, expected: u64| {
        late.is_some_and(|late| (expected..expected + 100).contains(&(late.0 / MS)))
    };
    assert!(near(read_late, 400) && near(last_read_late, 200), "{read_late:?} {last_read_late:?}");
    assert!(
        last_token.is_some_and(|at| at <= now(4800)) && gaps_us.len() == 1 && gaps_us[0] / 1000 < 5000,
        "{gaps_us:?}"
    );
    // A clock that was set gives no stamp.
    reader = StreamReader::new(ExpectedStream::new(&openai(), false).unwrap(), None);
    reader.begin_read(now(0), data(stamp(600), None), Some(now(0).earlier(ms(500))));
    assert_eq!((reader.times.read.arrival, reader.times.read.held), (now(0), None));
}

#[test]
fn chunks_that_share_a_late_read_are_known_to_an_interval() {
    let (role, token, s) = (chunk(ROLE, "null"), chunk(TOKEN, "null"), Nanos::from_secs);
    let now = Instant::from_secs(1000);
    // What a read of these texts tells, `held` seconds after their last data, in tens of seconds before it: the poller reported the socket 20 s
    // before, and it was empty until 30 s before.
    let read = |texts: &[&str], held: u64, is_shared| {
        let mut reader = StreamReader::new(ExpectedStream::new(&openai(), false).unwrap(), None);
        reader.begin([("content-type", &b"text/event-stream"[..])].into_iter());
        let stamp = Some(unix_now().saturating_sub(s(held)));
        let data =
            DataArrival { stamp, waited: Some(s(20)), empty_until: now.earlier(s(30)), has_slept: true, is_shared };
        reader.begin_read(now, data, Some(now.earlier(s(900))));
        for text in texts {
            reader.add(text.as_bytes());
        }
        let record = reader.times.record;
        let before = |at: Option<Instant>| at.map(|at| at.until(now).0 / s(10).0);
        [record.first_token, record.first_earliest, record.last_token, record.last_earliest].map(before)
    };
    // The stamp of a read belongs to its last data.
    assert_eq!(read(&[&token], 10, false), [Some(1), None, Some(1), None]);
    assert_eq!(read(&[&role, &token], 10, false), [Some(1), None, Some(1), None]);
    // The thread knew for 20 s that there were data: the first chunk, if nothing precedes it.
    let shared = [Some(2), Some(3), Some(1), None];
    assert_eq!(read(&[&token, &token], 10, false), shared);
    assert_eq!(read(&[&(token.clone() + &token)], 10, false), shared);
    assert_eq!(read(&[&role, &token, &token], 10, false), [Some(1), Some(3), Some(1), None]);
    let (whole, part, field) = (token.clone() + LAST, token.clone() + "data: {", token.clone() + "id: 7\n");
    let comment = token.clone() + ": ping\n\n";
    for text in [&whole, &part, &field, &comment] {
        assert_eq!(read(&[text], 10, false), [Some(2), Some(3), Some(1), Some(3)], "{text}");
    }
    // Over HTTP/2 it may belong to another stream.
    assert_eq!(read(&[&token], 10, true), [Some(1), Some(3), Some(1), Some(3)]);
}

#[test]
fn data_that_wake_a_thread_arrived_at_once() {
    let data = |has_slept| DataArrival { empty_until: Instant(7), has_slept, ..DataArrival::default() };
    assert_eq!((data(true).earliest(Some(PROMPT)), data(true).earliest(None)), (None, None));
    // A thread that was stopped, or busy, can have missed the first.
    assert_eq!(data(true).earliest(Some(PROMPT + Nanos(1))), Some(Instant(7)));
    assert_eq!(data(false).earliest(Some(Nanos::ZERO)), Some(Instant(7)));
}

#[test]
fn counts_in_every_chunk_tell_the_tokens_of_the_first() {
    let counted = |tokens: u32| {
        let delta = format!("\"delta\":{{{TOKEN}}}");
        format!(
            "data: {{\"choices\":[{{{delta}}}],\"usage\":{{\"prompt_tokens\":5,\"completion_tokens\":{tokens}}}}}\n\n"
        )
    };
    let stream = *read(&openai(), &pieces(&[counted(4), counted(8), counted(9), LAST.to_owned()])).stream.unwrap();
    assert_eq!((stream.tokens_first, stream.tokens_out, stream.time_per_token_ns()), (Some(4), Some(9), Some(4e6)));
}

#[test]
fn failed_streams_have_outcomes_of_their_own() {
    let (role, token, stop) = (chunk(ROLE, "null"), chunk(TOKEN, "null"), chunk("", "\"stop\""));
    let error = "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n";
    let at_least = |tokens| EventStream { min_tokens: Some(tokens), ..openai() };
    for (stream, text, outcome, reason) in [
        (openai(), token.clone() + LAST, Outcome::Ok, ""),
        (openai(), token.clone() + &stop, Outcome::Ok, ""),
        (openai(), token.clone() + error + LAST, Outcome::StreamError, "out of memory"),
        (openai(), token.clone() + "event: error\ndata: busy\n\n", Outcome::StreamError, "busy"),
        (openai(), token.clone() + "data: no JSON\n\n" + LAST, Outcome::StreamError, "an event is not JSON"),
        (openai(), token.clone(), Outcome::Truncated, "the stream ended without a finish reason and without [DONE]"),
        (
            openai(),
            role.clone() + "data: [DONE]\n",
            Outcome::Truncated,
            "the stream ended without a finish reason and without [DONE]",
        ),
        (openai(), role + &stop + LAST, Outcome::NoToken, "the stream ended without a token"),
        (at_least(3), token.clone() + USAGE + LAST, Outcome::Ok, ""),
        (at_least(4), token.clone() + USAGE + LAST, Outcome::Short, "3 tokens, but at least 4 were expected"),
        (at_least(2), token + LAST, Outcome::Short, "1 tokens, but at least 2 were expected"),
    ] {
        let event = read(&stream, &[text.as_bytes()]);
        assert_eq!((event.outcome, &*event.why()), (outcome, reason), "{text}");
        assert!(event.stream.is_some());
    }
}

#[test]
fn plain_streams_end_by_mark_pattern_count_or_time() {
    let sse = EventStream::new(StreamFormat::Sse);
    let mark = EventStream { end: Some("bye".to_owned()), ..sse.clone() };
    let pattern = EventStream { awaited: Some("^b.e$".to_owned()), ..sse.clone() };
    let count = EventStream { count: Some(2), ..sse.clone() };
    for (stream, text, outcome, chunks) in [
        (&sse, "data: 1\n\n", Outcome::Ok, 1),
        (&sse, ": ping\n\n", Outcome::NoToken, 0),
        (&mark, "data: 1\n\ndata: bye\n\n", Outcome::Ok, 1),
        (&mark, "data: 1\n\n", Outcome::Truncated, 1),
        (&mark, "data: bye\n\n", Outcome::NoToken, 0),
        (&pattern, "data: 1\n\ndata: bye\n\n", Outcome::Ok, 2),
        (&pattern, "data: 1\n\n", Outcome::Truncated, 1),
        (&count, "data: 1\n\ndata: 2\n\n", Outcome::Ok, 2),
        (&count, "data: 1\n\n", Outcome::Short, 1),
        // What follows in the same read does not count.
        (&mark, "data: 1\n\ndata: bye\n\ndata: 2\n\n", Outcome::Ok, 1),
        (&pattern, "data: bye\n\ndata: 2\n\n", Outcome::Ok, 1),
        (&count, "data: 1\n\ndata: 2\n\ndata: 3\n\n", Outcome::Ok, 2),
    ] {
        let event = read(stream, &[text.as_bytes()]);
        assert_eq!((event.outcome, event.stream.unwrap().chunks), (outcome, chunks), "{stream:?} {text}");
    }
    let mut reader = StreamReader::new(ExpectedStream::new(&count, false).unwrap(), None);
    reader.begin([("content-type", &b"text/event-stream"[..])].into_iter());
    reader.add(b"data: 1\n\n");
    assert!(!reader.is_over());
    reader.stop_listening();
    assert!(reader.is_over() && reader.failure().is_none());
    assert!(ExpectedStream::new(&EventStream { awaited: Some("(".to_owned()), ..sse }, false).is_err());
}

#[test]
fn other_responses_are_no_streams() {
    for (name, value, reason) in [
        ("Content-Type", "application/json", "not an event stream: Content-Type `application/json`"),
        ("Content-Type", "", "not an event stream: Content-Type ``"),
        ("Content-Encoding", "gzip", "the stream is compressed; remove the header Accept-Encoding"),
    ] {
        let mut reader = StreamReader::new(ExpectedStream::new(&openai(), false).unwrap(), None);
        let stream = [("Content-Type", &b"Text/Event-Stream"[..])].into_iter().filter(|(other, _)| *other != name);
        reader.begin(stream.chain([(name, value.as_bytes())]));
        reader.add(chunk(TOKEN, "\"stop\"").as_bytes());
        let mut event = Event { outcome: Outcome::Ok, ..Event::at(Instant::ZERO) };
        reader.conclude(&mut event);
        assert_eq!((event.outcome, &*event.why()), (Outcome::StreamError, reason));
    }
    // A connection that failed before a head has no stream, and a failed one keeps its outcome.
    let mut event = Event { outcome: Outcome::Reset, ..Event::at(Instant::ZERO) };
    StreamReader::new(ExpectedStream::new(&openai(), false).unwrap(), None).conclude(&mut event);
    assert_eq!((event.outcome, event.stream), (Outcome::Reset, None));
}

proptest! {
    #[test]
    fn the_cut_of_a_stream_changes_no_counts(cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let whole = chunk(ROLE, "null") + &chunk(TOKEN, "null").repeat(5) + ": x\r\n\r\n" + &chunk(TOKEN, "\"stop\"") + USAGE + LAST;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len())).chain([0, whole.len()]).collect();
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &whole.as_bytes()[cut[0]..cut[1]]).collect();
        let event = read(&openai(), &pieces);
        let stream = event.stream.unwrap();
        prop_assert_eq!((event.outcome, stream.chunks, stream.tokens_out, stream.finish), (Outcome::Ok, 6, Some(3), Some(Finish::Stop)));
        prop_assert_eq!(stream.gaps_us.len() as u64 + stream.coalesced, 5);
    }
}

#[test]
fn the_text_is_kept_for_conversations_only() {
    let text_of = |keeps_text| {
        let mut reader = StreamReader::new(ExpectedStream::new(&openai(), keeps_text).unwrap(), None);
        reader.begin([("Content-Type", b"text/event-stream".as_slice())].into_iter());
        for delta in [r#"{"role":"assistant","content":"Say "}"#, r#"{"reasoning":"hm"}"#, r#"{"content":"\"yes\""}"#] {
            reader.add(format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n").as_bytes());
        }
        reader.add(b"data: [DONE]\n\n");
        reader.conclude(&mut Event { outcome: Outcome::Ok, ..Event::at(Instant::ZERO) })
    };
    // After a chunk that finds no room nothing is added, because the rest would have a hole.
    let mut reader = StreamReader::new(ExpectedStream::new(&openai(), true).unwrap(), None);
    reader.begin([("Content-Type", b"text/event-stream".as_slice())].into_iter());
    for length in [MAX_TEXT - 1000, 2000, 10] {
        reader.add(chunk(&format!("\"content\":\"{}\"", "a".repeat(length)), "null").as_bytes());
    }
    assert_eq!(reader.times.text.unwrap().len(), MAX_TEXT - 1000);
    assert_eq!((text_of(true), text_of(false)), (Some(r#"Say \"yes\""#.to_owned()), None));
}
