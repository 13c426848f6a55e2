//! Method, URL and protocol of the requests of a recording, from the workload; events do not contain them.

use std::borrow::Cow;

use offered_base::Seed;
use offered_events::{Event, Recording};
use offered_workload::template::Piece;
use offered_workload::{Address, Call, Protocol, Request, Target, Workload};

/// A request of the workload.
#[derive(Clone, Copy)]
pub(super) struct RequestInfo<'a> {
    /// The index of the request in the workload.
    pub(super) index: usize,
    pub(super) request: &'a Request,
    pub(super) target: Option<&'a Target>,
    seed: Seed,
}

/// The path of a request, or its whole URL.
pub(super) enum Path<'a> {
    /// As it was sent.
    Sent(Cow<'a, str>),
    /// The path has values that are not recorded; they are written as names in braces: `/user/{id}`.
    Template(String),
    /// The path depended on a response: objects of pages and submitted forms.
    Unknown,
}

/// The requests of a workload by the labels of a recording.
pub(super) struct RequestsByLabel<'a>(Vec<Option<RequestInfo<'a>>>);

impl<'a> RequestsByLabel<'a> {
    pub(super) fn new(recording: &Recording, workload: Option<&'a Workload>) -> Self {
        let of = |label: &String| {
            let workload = workload?;
            let index = workload.requests().iter().position(|request| request.name() == label)?;
            let request = &workload.requests()[index];
            Some(RequestInfo { index, request, target: workload.target_of(request), seed: workload.seed() })
        };
        Self(recording.labels.iter().map(of).collect())
    }

    /// The request of `event`; `None`: no request of the workload has its name.
    pub(super) fn of(&self, event: &Event) -> Option<&RequestInfo<'a>> {
        self.0.get(usize::from(event.label))?.as_ref()
    }
}

impl<'a> RequestInfo<'a> {
    /// The method; `None`: no request of HTTP, or one that a form of a response decided.
    pub(super) fn method(&self, event: &Event) -> Option<&'a str> {
        match self.request.call() {
            Call::Http if event.object > 0 => Some("GET"),
            Call::Http => Some(self.request.method()).filter(|_| self.request.submit().is_none()),
            Call::Grpc => Some("POST"),
            Call::WebSocket(_) | Call::Sql(_) => None,
        }
    }

    /// The version of HTTP; `None`: it was negotiated, or another protocol.
    pub(super) fn http_version(&self) -> Option<&'static str> {
        match (self.request.call(), self.target?.protocol()) {
            (Call::Sql(_), _) | (_, Protocol::Auto) => None,
            (_, Protocol::Http1) => Some("1.1"),
            (_, Protocol::Http2) => Some("2"),
        }
    }

    /// The path of the request of `event`.
    pub(super) fn path(&self, event: &Event) -> Path<'a> {
        let template = self.request.path();
        if event.object > 0 || self.request.submit().is_some() {
            Path::Unknown
        } else if let Some(one_of) = self.request.one_of() {
            Path::Sent(one_of.drawn(self.seed, event.session, event.step).path.into())
        } else if let Some(text) = template.text() {
            Path::Sent(text.into())
        } else {
            let piece = |piece: &Piece| match piece {
                Piece::Text(text) => text.to_string(),
                value => format!("{{{}}}", value.written().trim_matches(['{', '}'])),
            };
            Path::Template(template.pieces().iter().map(piece).collect())
        }
    }

    /// The whole URL of a path.
    pub(super) fn url(&self, path: &str) -> Option<String> {
        if !path.starts_with('/') {
            return Some(path.to_owned());
        }
        let origin = self.target?.url().origin();
        Some(
            match self.request.call() {
                Call::WebSocket(_) => origin.replacen("http", "ws", 1),
                _ => origin,
            } + path,
        )
    }

    /// Host or socket, and port.
    pub(super) fn server(&self) -> Option<(&'a str, Option<u16>)> {
        Some(match &self.target?.url().address {
            Address::Tcp { host, port } => (host, Some(*port)),
            Address::Unix(socket) => (socket, None),
        })
    }
}
