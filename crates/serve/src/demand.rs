//! What a request asks of the server, read off its target.

use offered_model::Nanos;

use crate::codec::Head;
use crate::reply::Reply;
use crate::routes::{Route, Routes};

/// The work, the pause and the answer that a target names; in this order they are served.
#[derive(Debug, PartialEq)]
pub(crate) struct Demand {
    /// The class of the job.
    pub(crate) class: u16,
    pub(crate) work: Option<Work>,
    pub(crate) pause: Option<Nanos>,
    pub(crate) reply: Reply,
}

/// How much work a job brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Work {
    /// A number drawn from the service law of its class.
    Drawn,
    /// This much, whatever the law.
    Given(Nanos),
}

impl Demand {
    /// What `target` asks: what the `routes` know, the endpoints of [the crate](crate); any other path is a job.
    pub(crate) fn of(head: &Head<'_>, routes: &Routes) -> Self {
        let (class, target) = (routes.others(), head.target);
        if target == "/" && class == 0 && head.work.is_none() {
            return Self { class, work: Some(Work::Drawn), pause: None, reply: Reply::Done };
        }
        // A proxy's client sends `http://host/path`; the path is what counts.
        let target = match target.split_once("://") {
            Some((_, rest)) if !target.starts_with('/') => rest.find(['/', '?']).map_or("/", |path| &rest[path..]),
            _ => target,
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let wrong = |line: String| Self { class, work: None, pause: None, reply: Reply::Wrong(line) };
        let said = head.work.map(|said| millis(&String::from_utf8_lossy(said)).map(Some));
        let given = match said.unwrap_or_else(|| given(path, query)) {
            Ok(given) => given.map(Work::Given),
            Err(line) => return wrong(line),
        };
        if let Some(Route { class, work }) = routes.find(head.method, target) {
            let work = given.unwrap_or(work.map_or(Work::Drawn, Work::Given));
            return Self { class, work: Some(work), pause: None, reply: Reply::Done };
        }
        let mut segments = path.split('/').skip(1);
        let (name, value) = (segments.next().unwrap_or(""), segments.next());
        let count = |example: &str| match value.unwrap_or("").parse::<u64>() {
            Ok(count) => Ok(count),
            Err(_) => Err(format!("`{path}` lacks a number of bytes; ask for example for {example}")),
        };
        let mut pause = None;
        let reply = match name {
            "status" => match value.and_then(|value| value.parse().ok()) {
                Some(code @ 200..=599) => Ok(Reply::Status(code)),
                _ => Err(format!("`{path}` is no status from 200 to 599; ask for example for /status/503")),
            },
            "bytes" => count("/bytes/10000").map(Reply::Bytes),
            "chunked" => count("/chunked/10000").map(Reply::Chunked),
            "nolength" => count("/nolength/10000").map(Reply::NoLength),
            "delay" => match value.unwrap_or("").parse() {
                Ok(length) => {
                    pause = Some(length);
                    Ok(Reply::Done)
                }
                Err(_) => Err(format!("`{path}` is no delay; ask for example for /delay/50ms")),
            },
            "echo" => Ok(Reply::Echo(Vec::new())),
            "continue" => Ok(Reply::Continue),
            "early" => Ok(Reply::Early),
            "garbage" => Ok(Reply::Garbage),
            "close" => Ok(Reply::Close),
            "reset" => Ok(Reply::Reset),
            "stall" => Ok(Reply::Stall),
            _ => {
                return Self { class, work: given.or(Some(Work::Drawn)), pause: None, reply: Reply::Done };
            }
        };
        match reply {
            Ok(reply) => Self { class, work: given, pause, reply },
            Err(line) => wrong(line),
        }
    }
}

/// The work named by `work_ms=` in any query, or by `ms=` in that of `/work`.
fn given(path: &str, query: &str) -> Result<Option<Nanos>, String> {
    let named =
        |pair: &&str| pair.split_once('=').is_some_and(|(key, _)| key == "work_ms" || (key == "ms" && path == "/work"));
    let Some((_, value)) = query.split('&').find(named).and_then(|pair| pair.split_once('=')) else {
        return Ok(None);
    };
    millis(value).map(Some)
}

fn millis(value: &str) -> Result<Nanos, String> {
    match value.trim().parse::<f64>() {
        Ok(millis) if (0.0..1e12).contains(&millis) => Ok(Nanos::from_secs_f64(millis / 1e3)),
        _ => Err(format!("`{value}` is no number of milliseconds; ask for example for /?work_ms=12.5")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(target: &str, work: Option<&str>) -> Demand {
        Demand::of(&Head::get(target, work), &Routes::default())
    }

    #[test]
    fn a_header_names_the_work_of_what_has_no_query_of_its_own() {
        let given = |target, said| demand(target, Some(said)).work;
        let micros = |micros| Some(Work::Given(Nanos::from_micros(micros)));
        assert_eq!(
            (given("/", " 12.5 "), given("/a?work_ms=3", "1"), given("/bytes/7", "0")),
            (micros(12_500), micros(1000), micros(0))
        );
        let Reply::Wrong(line) = demand("/", Some("1s")).reply else { panic!("no number of milliseconds") };
        assert!(line.contains("`1s` is no number of milliseconds"), "{line}");
    }

    #[test]
    fn a_target_names_its_work_and_its_answer() {
        let drawn = Some(Work::Drawn);
        let given = |micros| Some(Work::Given(Nanos::from_micros(micros)));
        for (target, work, pause, reply) in [
            ("/", drawn, None, Reply::Done),
            ("/Home.aspx?x=1", drawn, None, Reply::Done),
            ("/?work_ms=12.5", given(12_500), None, Reply::Done),
            ("/any/path?a=b&work_ms=0&c", given(0), None, Reply::Done),
            ("/work?ms=3", given(3000), None, Reply::Done),
            ("/other?ms=3", drawn, None, Reply::Done),
            ("http://host:80/work?ms=3", given(3000), None, Reply::Done),
            ("http://host", drawn, None, Reply::Done),
            ("/back?to=http://host/status/404", drawn, None, Reply::Done),
            ("/status/404", None, None, Reply::Status(404)),
            ("/bytes/7?work_ms=1", given(1000), None, Reply::Bytes(7)),
            ("/chunked/0", None, None, Reply::Chunked(0)),
            ("/delay/50ms", None, Some(Nanos::from_millis(50)), Reply::Done),
            ("/stall", None, None, Reply::Stall),
        ] {
            let demand = demand(target, None);
            assert_eq!(demand, Demand { class: 0, work, pause, reply }, "{target}");
        }
    }

    #[test]
    fn what_cannot_be_answered_says_what_can() {
        for (target, hint) in [
            ("/status/99", "/status/503"),
            ("/status", "/status/503"),
            ("/bytes/many", "/bytes/10000"),
            ("/nolength/-1", "/nolength/10000"),
            ("/delay/50", "/delay/50ms"),
            ("/?work_ms=NaN", "work_ms=12.5"),
            ("/work?ms=-1", "work_ms=12.5"),
        ] {
            let demand = demand(target, None);
            let Demand { work: None, reply: Reply::Wrong(line), .. } = demand else { panic!("{target}") };
            assert!(line.contains(hint), "{target}: {line}");
        }
    }
}
