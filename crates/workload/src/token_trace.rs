//! Traces of language model services: the times of requests and their numbers of tokens.
//!
//! The first line identifies the format: Mooncake's JSON lines (Qin et al., FAST 2025), `BurstGPT` (Wang et al., KDD
//! 2025) and the Azure LLM inference traces of 2023 to 2025 (Patel et al., ISCA 2024), both CSV with a header, and the
//! conversations of `ShareGPT`, one JSON list or a line each.

use std::collections::HashMap;

use offered_base::{Instant, InvalidValue, Nanos};
use offered_schedule::Trace;
use offered_schedule::trace::{BLOCK_TOKENS, TokenEntry, TokenTrace};
use serde::Deserialize;

/// What a line of a file says that is wrong, with its number from 1.
type Wrong = (usize, String);

/// The trace in `text`, the content of `file`; `None` if it is in none of these formats.
///
/// # Errors
/// The first line that is wrong, as `file:line: what`; a trace without entries.
pub fn parse(text: &str, file: &str) -> Option<Result<Trace, InvalidValue>> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next()?.trim();
    let has_columns =
        |columns: [&str; 3]| columns.iter().all(|column| first.split(',').any(|name| name.trim() == *column));
    let read: fn(&str) -> Result<TokenTrace, Wrong> = match first {
        _ if first.starts_with('[') => conversation_list,
        _ if first.starts_with('{') && first.contains("\"conversations\"") => conversation_lines,
        _ if first.starts_with('{') => mooncake,
        _ if has_columns(AZURE) => azure,
        _ if has_columns(BURST) => burst,
        _ => return None,
    };
    let has_times = !(first.starts_with('[') || first.contains("\"conversations\""));
    let wrong = |(line, why): Wrong| InvalidValue::new(format!("{file}:{line}: {why}"));
    Some(read(text).map_err(wrong).and_then(|trace| trace.finish(file, has_times)))
}

/// The known formats, for error messages.
pub const FORMATS: &str = "Mooncake's JSON lines (timestamp, input_length, output_length), \
    CSV of BurstGPT (Timestamp, Request tokens, Response tokens) or Azure (TIMESTAMP, ContextTokens, GeneratedTokens), or ShareGPT's JSON (conversations)";

const AZURE: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];
const BURST: [&str; 3] = ["Timestamp", "Request tokens", "Response tokens"];
const BURST_SESSION: &str = "Session ID";

/// `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`, with milliseconds.
#[derive(Deserialize)]
struct MooncakeRequest {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

fn mooncake(text: &str) -> Result<TokenTrace, Wrong> {
    let mut trace = TokenTrace::default();
    let (mut numbers, mut blocks) = (HashMap::new(), Vec::new());
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (session, (number, line)) in (0u32..).zip(lines) {
        let wrong = |why: String| (number + 1, why);
        let row: MooncakeRequest = serde_json::from_str(line).map_err(|error| wrong(without_position(&error)))?;
        let MooncakeRequest { timestamp, input_length, output_length, hash_ids } = row;
        if !(0.0..MAX_SECONDS * 1e3).contains(&timestamp) {
            return Err(wrong(format!("the timestamp {timestamp} is not a number of milliseconds")));
        }
        let expected = input_length.div_ceil(BLOCK_TOKENS) as usize;
        if !hash_ids.is_empty() && hash_ids.len() != expected {
            return Err(wrong(format!(
                "hash_ids has {} blocks, but a prompt of {input_length} tokens has {expected} of {BLOCK_TOKENS} tokens",
                hash_ids.len()
            )));
        }
        blocks.clear();
        for id in hash_ids {
            let next = numbers.len() as u32;
            blocks.push(*numbers.entry(id).or_insert(next));
        }
        let entry = TokenEntry { input: input_length, output: output_length, blocks: &blocks, ..TokenEntry::default() };
        trace.push(Instant::from_secs_f64(timestamp / 1e3), session, entry);
    }
    Ok(trace)
}

/// The message of an error in a line, with the number of the line.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(before, _)| before.to_owned())
}

/// Later times are not those of a trace.
const MAX_SECONDS: f64 = 1e10;

/// `TIMESTAMP,ContextTokens,GeneratedTokens`, such as `2023-11-16 18:17:03.9799600,4808,10`.
fn azure(text: &str) -> Result<TokenTrace, Wrong> {
    let mut trace = TokenTrace::default();
    let mut session = 0;
    rows(text, AZURE, |(time, input, output), _| {
        let at =
            timestamp(time).ok_or_else(|| format!("`{time}` is not a time such as 2023-11-16 18:17:03.9799600"))?;
        trace.push(at, session, TokenEntry { input, output, ..TokenEntry::default() });
        session += 1;
        Ok(())
    })?;
    Ok(trace)
}

/// `Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type`, in the first releases without session and
/// elapsed time. Seconds; a failed request has no response tokens and is omitted.
fn burst(text: &str) -> Result<TokenTrace, Wrong> {
    let mut trace = TokenTrace::default();
    let (mut known, mut next) = (HashMap::new(), 0);
    rows(text, BURST, |(time, input, output), session| {
        let seconds = time.parse().ok().filter(|seconds| (0.0..MAX_SECONDS).contains(seconds));
        let seconds = seconds.ok_or_else(|| format!("`{time}` is not a number of seconds"))?;
        if output == 0 {
            return Ok(());
        }
        // Requests by the API have no session.
        let named = session.filter(|name| !name.is_empty());
        let number = named.map_or(next, |name| *known.entry(name.to_owned()).or_insert(next));
        next += u32::from(number == next);
        trace.push(Instant::from_secs_f64(seconds), number, TokenEntry { input, output, ..TokenEntry::default() });
        Ok(())
    })?;
    Ok(trace)
}

/// Calls `each` for the rows of a CSV file with these columns: time, prompt tokens, output tokens; and the session, if there is such a column.
fn rows<F>(text: &str, columns: [&str; 3], mut each: F) -> Result<(), Wrong>
where
    F: FnMut((&str, u32, u32), Option<&str>) -> Result<(), String>,
{
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|why| (1, why.to_string()))?.clone();
    let place = |column: &str| header.iter().position(|name| name.trim() == column);
    let session = place(BURST_SESSION);
    let places = columns.map(|column| place(column).unwrap_or(usize::MAX));
    let mut record = csv::StringRecord::new();
    loop {
        let more = reader.read_record(&mut record);
        let line = record.position().map_or(1, csv::Position::line) as usize;
        if !more.map_err(|why| (line, why.to_string()))? {
            return Ok(());
        }
        let [time, input, output] = places.map(|place| record.get(place).unwrap_or_default().trim());
        let count = |text: &str| text.parse::<u32>().map_err(|_| (line, format!("`{text}` is not a number of tokens")));
        let row = (time, count(input)?, count(output)?);
        each(row, session.and_then(|place| record.get(place))).map_err(|why| (line, why))?;
    }
}

/// The instant of `2023-11-16 18:17:03.9799600` or `2024-05-10 00:00:00.009930+00:00`, since the year 1970. All times
/// of a trace have the same offset, which is ignored.
fn timestamp(text: &str) -> Option<Instant> {
    let (date, time) = text.split_once([' ', 'T'])?;
    let time = time.split(['+', 'Z']).next()?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.split(':');
    let mut whole = || time.next()?.parse::<u64>().ok();
    let (hours, minutes) = (whole()?, whole()?);
    let seconds: f64 = time.next()?.parse().ok().filter(|seconds| (0.0..61.0).contains(seconds))?;
    if !(1970..3000).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hours > 23
        || minutes > 59
    {
        return None;
    }
    // Days since 1970 of the proleptic Gregorian calendar, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(Instant::from_secs(days * 86_400 + hours * 3600 + minutes * 60) + Nanos::from_secs_f64(seconds))
}

/// `{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}`.
#[derive(Deserialize)]
struct Conversation {
    conversations: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    from: String,
    value: String,
}

fn conversation_list(text: &str) -> Result<TokenTrace, Wrong> {
    let all: Vec<Conversation> =
        serde_json::from_str(text).map_err(|error| (error.line(), without_position(&error)))?;
    let mut trace = TokenTrace::default();
    let mut sessions = 0;
    for conversation in &all {
        sessions += u32::from(turns(conversation, sessions, &mut trace));
    }
    Ok(trace)
}

fn conversation_lines(text: &str) -> Result<TokenTrace, Wrong> {
    let mut trace = TokenTrace::default();
    let mut sessions = 0;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let conversation = serde_json::from_str(line).map_err(|error| (number + 1, without_position(&error)))?;
        sessions += u32::from(turns(&conversation, sessions, &mut trace));
    }
    Ok(trace)
}

/// Adds the turns of a conversation as session `session`: each message of a user that has a response. Returns whether
/// there are any.
fn turns(conversation: &Conversation, session: u32, trace: &mut TokenTrace) -> bool {
    let words = |text: &str| text.split_whitespace().count() as u32;
    let (mut prompt, mut has_turns) = (None, false);
    for Message { from, value } in &conversation.conversations {
        match (&**from, prompt) {
            ("human" | "user", _) => prompt = Some(value).filter(|text| words(text) > 0),
            ("system" | "tool", _) | (_, None) => {}
            (_, Some(text)) => {
                let (input, output) = (words(text), words(value));
                trace.push(
                    Instant::ZERO,
                    session,
                    TokenEntry { input, output, text: Some(text), ..TokenEntry::default() },
                );
                (prompt, has_turns) = (None, true);
            }
        }
    }
    has_turns
}

#[cfg(test)]
mod tests {
    use offered_schedule::Replay;
    use offered_schedule::replay::ReplayMode;

    use super::*;

    fn replay(text: &str) -> Result<Replay, String> {
        let trace = parse(text, "t").expect("a known format").map_err(|mistake| mistake.to_string())?;
        Ok(Replay::new(trace.into(), 1.0, ReplayMode::Sessions { think: None }).unwrap())
    }

    /// Of the first step of each session: seconds, prompt and output tokens.
    fn firsts(text: &str) -> Vec<(f64, u32, u32)> {
        let replay = replay(text).unwrap();
        let row = |session| {
            let entry = replay.tokens(session, 0).unwrap();
            let at = Instant::ZERO.until(replay.arrival(session).unwrap());
            (at.as_secs_f64(), entry.input, entry.output)
        };
        (0..replay.trace().sessions() as u64).map(row).collect()
    }

    #[test]
    fn formats_are_known_by_their_first_line() {
        let mooncake = "{\"timestamp\": 1000, \"input_length\": 600, \"output_length\": 52, \"hash_ids\": [46, 47]}\n\n\
                        {\"timestamp\": 3500.5, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [46, 9]}\n";
        assert_eq!(firsts(mooncake), [(0.0, 600, 52), (2.5005, 600, 5)]);
        let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319569,3180,8\n";
        assert_eq!(firsts(azure), [(0.0, 4808, 10), (0.051_996_9, 3180, 8)]);
        let images = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-02-28 23:59:59.000000+00:00,0,1,2\n2024-03-01 00:00:00.000000+00:00,7,3,4\n";
        assert_eq!(firsts(images), [(0.0, 1, 2), (86_401.0, 3, 4)], "2024 is a leap year");
        let unordered = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:05,2,2\n2023-11-16 18:17:04,1,1\n";
        assert_eq!(firsts(unordered), [(0.0, 1, 1), (1.0, 2, 2)]);
        let first = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n";
        assert_eq!(firsts(first), [(0.0, 472, 18)]);
        assert!(
            parse("offered.trace/1\n", "t").is_none() && parse("", "t").is_none() && parse("a,b\n1,2\n", "t").is_none()
        );
    }

    #[test]
    fn burst_gpt_has_sessions_and_failures() {
        let burst = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                     5.0,a,2,GPT-4,10,3,13,Conversation log\n6.0,b,2,ChatGPT,7,0,7,API log\n\
                     8.0,,2,GPT-4,11,3,13,API log\n9.0,a,2,GPT-4,20,4,24,Conversation log\n10.0,,2,GPT-4,12,3,13,API log\n";
        assert_eq!(firsts(burst), [(0.0, 10, 3), (3.0, 11, 3), (5.0, 12, 3)]);
        let replay = replay(burst).unwrap();
        assert_eq!(replay.tokens(0, 1).unwrap().input, 20);
        assert_eq!(replay.think(offered_base::Seed(1), 0, 0), Some(Nanos::from_secs(4)));
        assert!(replay.has(0, 1) && !replay.has(0, 2) && !replay.has(1, 1));
    }

    #[test]
    fn equal_blocks_are_repeated_prefixes() {
        let row = |ids: &str, length| {
            format!("{{\"timestamp\": 0, \"input_length\": {length}, \"output_length\": 1, \"hash_ids\": {ids}}}\n")
        };
        let text = row("[700, 8, 9]", 1100) + &row("[700, 8]", 1024) + &row("[700, 10]", 513) + &row("[11, 8]", 600);
        let replay = replay(&text).unwrap();
        let repeated: Vec<u32> = (0..4).map(|session| replay.tokens(session, 0).unwrap().repeated).collect();
        assert_eq!(repeated, [0, 1024, 512, 0]);
        assert_eq!(replay.tokens(1, 0).unwrap().blocks, [0, 1]);
        // Only what is in the window can be repeated.
        let late = text.replacen("\"timestamp\": 0", "\"timestamp\": 1000", 4).replacen(
            "\"timestamp\": 1000",
            "\"timestamp\": 0",
            1,
        );
        let trace = parse(&late, "t").unwrap().unwrap().cut(Instant::from_secs(1), Instant::MAX).unwrap();
        let replay = Replay::new(trace.into(), 1.0, ReplayMode::Open).unwrap();
        assert_eq!((replay.tokens(0, 0).unwrap().repeated, replay.arrival(0)), (0, Some(Instant::ZERO)));
    }

    #[test]
    fn conversations_have_texts_and_turns() {
        let first =
            r#"{"id": "x", "conversations": [{"from": "system", "value": "s"}, {"from": "human", "value": "one two"},
            {"from": "gpt", "value": "a b c"}, {"from": "human", "value": "three"}, {"from": "gpt", "value": "d"}]}"#
                .replace('\n', " ");
        let none = r#"{"conversations": [{"from": "gpt", "value": "a"}]}"#;
        let second = r#"{"conversations": [{"from": "human", "value": "four"}, {"from": "gpt", "value": ""}]}"#;
        for text in [format!("[{first},\n{none},\n{second}]"), format!("{first}\n{none}\n{second}\n")] {
            let replay = replay(&text).unwrap();
            let trace = replay.trace();
            assert!(trace.has_texts() && !trace.has_times() && !trace.has_requests());
            assert_eq!((trace.len(), trace.sessions()), (3, 2));
            let entry = replay.tokens(0, 1).unwrap();
            assert_eq!((entry.text, entry.input_tokens(0.5), entry.output_tokens(0.5)), (Some("three"), 2, 2));
            assert_eq!(replay.tokens(1, 0).unwrap().output_tokens(1.0), 1, "a response has at least one token");
        }
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, message) in [
            (
                "{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 2}\n{\"timestamp\": 1}",
                "t:2: missing field `input_length`",
            ),
            ("{\"timestamp\": -1, \"input_length\": 5, \"output_length\": 2}", "t:1: the timestamp -1 is not"),
            (
                "{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 2, \"hash_ids\": [1, 2]}",
                "t:1: hash_ids has 2 blocks, but a prompt of 5 tokens has 1 of 512 tokens",
            ),
            ("{]", "t:1: key must be a string"),
            ("TIMESTAMP,ContextTokens,GeneratedTokens\n", "t: the trace has no entries"),
            ("TIMESTAMP,ContextTokens,GeneratedTokens\nsoon,1,2\n", "t:2: `soon` is not a time"),
            (
                "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,x,2\n",
                "t:2: `x` is not a number of tokens",
            ),
            ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,5\n", "t:2: `` is not a number of tokens"),
            ("Timestamp,Request tokens,Response tokens\n1,1,2\n-1,1,2\n", "t:3: `-1` is not a number of seconds"),
            ("[{\"conversations\": [{\"from\": \"human\"}]}]", "t:1: missing field `value`"),
            ("[{\"conversations\": [{\"from\": \"human\", \"value\": \"a\"}]}]", "t: the trace has no entries"),
            ("[{\"messages\": []}]", "t:1: missing field `conversations`"),
        ] {
            let mistake = replay(text).unwrap_err();
            assert!(mistake.starts_with(message), "{text}: {mistake}");
        }
    }
}
