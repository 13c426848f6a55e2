//! Preview of the requests of a workload, without sending them.

use offered_events::{Exchange, RunId};
use offered_workload::{Request, Template, Workload};

use crate::Error;
use crate::halt::Halt;
use crate::message::OutgoingRequest;
use crate::script::{RequestContext, Script, check_single_braces};
use crate::transport::{learn_secrets, request_text, sent_text};

/// Maximum number of bytes of a body to show.
const MAX_BODY_BYTES_SHOWN: usize = 1 << 20;

/// The first `most` requests of the first session (of each scenario) of [`Workload::walk`], as they would be sent in this run, without
/// secrets, and the token requests before them, each once. A value that a response would provide is shown as its name in braces. Needs no
/// network.
///
/// # Errors
/// No target, or a request that cannot be built.
pub fn preview(workload: &Workload, run: &RunId, most: usize) -> Result<Vec<Exchange>, Error> {
    let target = workload.target().ok_or(Error::NoTarget)?;
    check_single_braces(workload)?;
    let mut script = Script::new(workload, target)?;
    script.in_run(run.clone());
    let sessions = 0..workload.scenario_names().len().max(1) as u64;
    let steps = sessions.flat_map(|session| workload.walk(session));
    let token = Request::new("POST", Template::literal("/")).expect("a request");
    let (mut exchanges, mut tokens) = (Vec::new(), Vec::new());
    for ((launch, label), sequence) in steps.take(most).zip(0..) {
        let context = RequestContext { session: launch.session, step: launch.step, visit: 0, sequence, label };
        let request = &workload.requests()[usize::from(label)];
        let name = request.name();
        let error = |missing| Error::Request { name: name.to_owned(), reason: Halt::default().message(missing) };
        let mut add = |outgoing: &OutgoingRequest, request: &Request, token_request: bool| {
            let target = workload.targets().nth(outgoing.target.into()).unwrap_or(target);
            let request_text = request_text(target, request, outgoing);
            let mut redactor = script.redactor(context, None);
            learn_secrets(&mut redactor, &request_text);
            exchanges.push(Exchange {
                request: name.to_owned(),
                session: launch.session,
                step: launch.step,
                token_request,
                sent: Some(sent_text(&request_text, &redactor, MAX_BODY_BYTES_SHOWN)),
                ..Exchange::default()
            });
        };
        if let Some((key, outgoing)) = script.token_for_preview(label, context).map_err(error)?
            && !tokens.contains(&key)
        {
            add(&outgoing, &token, true);
            tokens.push(key);
        }
        add(&script.for_preview(label, context).map_err(error)?, request, false);
    }
    Ok(exchanges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn previewed(text: &str) -> Vec<(String, Option<String>)> {
        let text = format!("duration = \"1s\"\nseed = 1\n{text}");
        let users = b"name,pin\nann smith,12345\n";
        let workload = Workload::parse(&text, "w", &|_| Ok(users.to_vec())).unwrap_or_else(|reason| panic!("{reason}"));
        let requests =
            preview(&workload, &"r7".parse().unwrap(), 2).unwrap().into_iter().map(|exchange| exchange.sent.unwrap());
        requests.map(|request| (request.head.join("|"), request.body)).collect()
    }

    const AGENT: &str = concat!("User-Agent: offered/", env!("CARGO_PKG_VERSION"), "|Accept: */*");

    #[test]
    fn known_values_are_filled_in_and_secrets_hidden() {
        let text = "arrivals.partly_open.rate = \"1/s\"\ntarget = { url = \"http://h/\", auth = { bearer = \"{{token}}\" } }\n\
            variables = { user = { file = \"u.csv\" }, n = { sequence = 70 } }\n\
            request = [{ name = \"in\", post = \"/in?n={{n}}\", body = \"{{user.name}} {{user.pin}}\", auth = false, \
                        extract = [{ name = \"token\", regex = \"t\" }] }, { name = \"get\", get = \"/a/{{token}}?t={{token}}\" }]\n\
            flow = [{ name = \"f\", step = [{ request = \"in\" }, { request = \"get\" }] }]";
        let [(login, body), (get, _)] = previewed(text).try_into().unwrap();
        assert_eq!(login, format!("POST /in?n=70 HTTP/1.1|Host: h|{AGENT}|Content-Length: 15"));
        assert_eq!(body.as_deref(), Some("*** ***"));
        assert_eq!(
            get,
            format!("GET /a/{{{{token}}}}?t={{{{token}}}} HTTP/1.1|Host: h|Authorization: Bearer ***|{AGENT}")
        );
    }

    #[test]
    fn token_requests_are_shown_once() {
        let text = "arrivals.open.rate = \"1/s\"\nvariables = { secret = \"hunter22\" }\n\
            target = { url = \"http://h/\", auth.oauth2 = { token_url = \"/token\", client_id = \"me\", client_secret = \"{{secret}}\" } }\n\
            request = [{ get = \"/a\" }, { get = \"/b\", auth.oauth2 = { token_url = \"/t2\", client_id = \"me\", \
            client_auth = \"body\", client_secret = \"{{secret}}\" } }, { get = \"/c\" }]";
        let all: Vec<(String, Option<String>)> = previewed(text);
        let [(token, body), (get, _), (other, other_body), ..] = &all[..] else { panic!("{all:?}") };
        assert!(
            token.starts_with("POST /token HTTP/1.1|Host: h|Content-Type: application/x-www-form-urlencoded|"),
            "{token}"
        );
        assert!(token.contains("|Authorization: Basic ***"), "{token}");
        assert_eq!(body.as_deref(), Some("grant_type=client_credentials"));
        assert!(get.contains("|Authorization: Bearer ***"), "{get}");
        assert!(other.starts_with("POST /t2 "), "{other}");
        assert_eq!(other_body.as_deref(), Some("grant_type=client_credentials&client_id=me&client_secret=***"));
        assert_eq!(all.len(), 4, "two requests, each with a token of its own");
    }

    #[test]
    fn values_with_secret_names_are_hidden() {
        let text = "arrivals.open.rate = \"1/s\"\ntarget = { url = \"http://h/\" }\nvariables = { api_token = \"tok4\" }\n\
            request = [{ post = \"/in?password=abc&n=1\", body = '{\"secret\": \"s\", \"a\": \"tok4\"}' }]";
        let [(head, body)] = previewed(text).try_into().unwrap();
        assert!(head.starts_with("POST /in?password=***&n=1 HTTP/1.1|"), "{head}");
        assert_eq!(body.as_deref(), Some("{\"secret\": \"***\", \"a\": \"***\"}"));
    }

    #[test]
    fn each_protocol_shows_its_own_text_without_descriptors() {
        let load = "arrivals.open.rate = \"1/s\"\n";
        let call = previewed(&format!(
            "{load}target = {{ url = \"http://h:1\", protocol = \"h2\", descriptors = \"none.binpb\" }}\n\
             request = [{{ grpc = \"shop.Desk/Order\", body = '{{\"name\": \"tea\"}}' }}]"
        ));
        assert!(
            call[0].0.starts_with(":method: POST|:scheme: http|:authority: h:1|:path: /shop.Desk/Order|"),
            "{call:?}"
        );
        assert!(call[0].0.contains("content-type: application/grpc|te: trailers"), "{call:?}");
        assert_eq!(call[0].1.as_deref(), Some("{\"name\": \"tea\"}"));
        let websocket = previewed(&format!(
            "{load}target.url = \"http://h:1\"\nrequest = [{{ name = \"c\", websocket = {{ send = \"hi {{{{session}}}}\" }} }}]"
        ));
        assert!(
            websocket[0].0.starts_with("GET / HTTP/1.1|host: h:1|connection: Upgrade|upgrade: websocket|"),
            "{websocket:?}"
        );
        assert_eq!(websocket[0].1.as_deref(), Some("hi 0"));
    }
}
