//! The demand of a request, parsed from its target.

use offered_base::Nanos;

use crate::codec::Head;
use crate::completion::{Completion, MODELS};
use crate::response::Response;
use crate::routes::{Route, Routes};

/// The work, the pause and the response of a request; they are served in this order.
#[derive(Debug, PartialEq)]
pub(crate) struct Demand {
    /// The class of the job.
    pub(crate) class: u16,
    pub(crate) work: Option<Work>,
    pub(crate) pause: Option<Nanos>,
    pub(crate) response: Response,
}

/// The work of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Work {
    /// Sampled from the service distribution of its class.
    Sampled,
    /// Given by the request or the file.
    Fixed(Nanos),
    /// Given by the tokens of the request, in its body.
    Tokens,
}

impl Demand {
    /// The demand of a request to the API of an engine; `None` for other paths.
    fn of_completion(head: &Head<'_>, class: u16) -> Option<Self> {
        let path = head.target.split('?').next().unwrap_or_default();
        let (work, response) = match head.method {
            "GET" | "HEAD" if path.ends_with("/models") => (None, Response::Json(MODELS.to_owned())),
            "POST" if path.ends_with("/completions") => {
                let completion = Completion::new(path.ends_with("/chat/completions"));
                (Some(Work::Tokens), Response::Completion(Box::new(completion)))
            }
            _ => return None,
        };
        Some(Self { class, work, pause: None, response })
    }

    /// The demand of a request: by the `routes`, or by the endpoints of [the crate](crate); any other path is a job.
    pub(crate) fn of(head: &Head<'_>, routes: &Routes) -> Self {
        let (class, target) = (routes.default_class(), head.target);
        if let Some(demand) = routes.engine.and_then(|_| Self::of_completion(head, class)) {
            return demand;
        }
        if target == "/" && class == 0 && head.work.is_none() {
            return Self { class, work: Some(Work::Sampled), pause: None, response: Response::Ok };
        }
        // A client of a proxy sends `http://host/path`; only the path counts.
        let target = match target.split_once("://") {
            Some((_, rest)) if !target.starts_with('/') => rest.find(['/', '?']).map_or("/", |path| &rest[path..]),
            _ => target,
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let wrong = |line: String| Self { class, work: None, pause: None, response: Response::BadRequest(line) };
        let said = head.work.map(|said| millis(&String::from_utf8_lossy(said)).map(Some));
        let given = match said.unwrap_or_else(|| given(path, query)) {
            Ok(given) => given.map(Work::Fixed),
            Err(line) => return wrong(line),
        };
        if let Some(Route { class, work }) = routes.find(head.method, target) {
            let work = given.unwrap_or(work.map_or(Work::Sampled, Work::Fixed));
            return Self { class, work: Some(work), pause: None, response: Response::Ok };
        }
        let mut segments = path.split('/').skip(1);
        let (name, value) = (segments.next().unwrap_or(""), segments.next());
        let count = |example: &str| match value.unwrap_or("").parse::<u64>() {
            Ok(count) => Ok(count),
            Err(_) => Err(format!("`{path}` needs a number of bytes; write for example {example}")),
        };
        let mut pause = None;
        let response = match name {
            "status" => match value.and_then(|value| value.parse().ok()) {
                Some(code @ 200..=599) => Ok(Response::Status(code)),
                _ => Err(format!("`{path}` is not a status from 200 to 599; write for example /status/503")),
            },
            "bytes" => count("/bytes/10000").map(Response::Bytes),
            "chunked" => count("/chunked/10000").map(Response::Chunked),
            "nolength" => count("/nolength/10000").map(Response::NoLength),
            "delay" => match value.unwrap_or("").parse() {
                Ok(length) => {
                    pause = Some(length);
                    Ok(Response::Ok)
                }
                Err(_) => Err(format!("`{path}` is not a delay; write for example /delay/50ms")),
            },
            "echo" => Ok(Response::Echo(Vec::new())),
            "continue" => Ok(Response::Continue),
            "early" => Ok(Response::Early),
            "garbage" => Ok(Response::Garbage),
            "close" => Ok(Response::Close),
            "reset" => Ok(Response::Reset),
            "stall" => Ok(Response::Stall),
            _ => {
                return Self { class, work: given.or(Some(Work::Sampled)), pause: None, response: Response::Ok };
            }
        };
        match response {
            Ok(response) => Self { class, work: given, pause, response },
            Err(line) => wrong(line),
        }
    }
}

/// The work given by `work_ms=` in any query, or by `ms=` in the query of `/work`.
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
        _ => Err(format!("`{value}` is not a number of milliseconds; write for example /?work_ms=12.5")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(target: &str, work: Option<&str>) -> Demand {
        Demand::of(&Head::get(target, work), &Routes::default())
    }

    #[test]
    fn the_work_ms_header_takes_precedence_over_the_query() {
        let given = |target, said| demand(target, Some(said)).work;
        let micros = |micros| Some(Work::Fixed(Nanos::from_micros(micros)));
        assert_eq!(
            (given("/", " 12.5 "), given("/a?work_ms=3", "1"), given("/bytes/7", "0")),
            (micros(12_500), micros(1000), micros(0))
        );
        let Response::BadRequest(line) = demand("/", Some("1s")).response else { panic!("`1s` was accepted") };
        assert!(line.contains("`1s` is not a number of milliseconds"), "{line}");
    }

    #[test]
    fn targets_give_work_and_response() {
        let drawn = Some(Work::Sampled);
        let given = |micros| Some(Work::Fixed(Nanos::from_micros(micros)));
        for (target, work, pause, response) in [
            ("/", drawn, None, Response::Ok),
            ("/Home.aspx?x=1", drawn, None, Response::Ok),
            ("/?work_ms=12.5", given(12_500), None, Response::Ok),
            ("/any/path?a=b&work_ms=0&c", given(0), None, Response::Ok),
            ("/work?ms=3", given(3000), None, Response::Ok),
            ("/other?ms=3", drawn, None, Response::Ok),
            ("http://host:80/work?ms=3", given(3000), None, Response::Ok),
            ("http://host", drawn, None, Response::Ok),
            ("/back?to=http://host/status/404", drawn, None, Response::Ok),
            ("/status/404", None, None, Response::Status(404)),
            ("/bytes/7?work_ms=1", given(1000), None, Response::Bytes(7)),
            ("/chunked/0", None, None, Response::Chunked(0)),
            ("/delay/50ms", None, Some(Nanos::from_millis(50)), Response::Ok),
            ("/stall", None, None, Response::Stall),
        ] {
            let demand = demand(target, None);
            assert_eq!(demand, Demand { class: 0, work, pause, response }, "{target}");
        }
    }

    #[test]
    fn invalid_targets_get_an_example() {
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
            let Demand { work: None, response: Response::BadRequest(line), .. } = demand else { panic!("{target}") };
            assert!(line.contains(hint), "{target}: {line}");
        }
    }
}
