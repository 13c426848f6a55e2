//! Requests on connections that the server has closed.
//!
//! A server may close a connection that carries no request at any time, without notice (RFC 9112, section 9.5), and some close it after every
//! response. If the request was under way already, it was lost: it is sent again on a new connection, if that is safe (RFC 9112, section 9.3.1).

use std::collections::VecDeque;

use offered_events::{Event, Outcome, Reason};

use super::Http1;
use super::connection::{Exchange, Source};
use super::receiving::CompletionSink;
use super::sending::Precompiled;
use crate::transport::Failure;
use crate::transport::stream::Stream;

/// The reason of a failed request that cannot be sent again.
const CLOSED: &str = "reused connection closed before a response";

impl Http1 {
    /// Whether a request may be sent again after the server may have processed it.
    #[inline]
    fn is_repeatable(&self, source: &Source, event: &Event) -> bool {
        self.setup.resend
            && match source {
                Source::Compiled(_) => self.setup.requests[usize::from(event.label)].is_repeatable,
                Source::Built(outgoing) => outgoing.is_repeatable(),
            }
    }

    /// The connection that the request of `event` can use now; `None` if a new one must be opened. For a request that cannot be sent again, the
    /// server has not closed the connection, as far as that has arrived.
    #[inline]
    pub(super) fn reusable_for(
        &mut self,
        source: &Source,
        event: &Event,
        lane: u8,
        sink: &mut impl CompletionSink,
    ) -> Option<usize> {
        let mut reusable = self.reusable(event.session, lane);
        if reusable.is_some() && !self.is_repeatable(source, event) {
            while let Some(key) = reusable
                && self.connections[key].stream.is_readable()
            {
                let number = self.connections[key].number;
                self.receive(key, true, sink);
                if self.connections.get(key).is_some_and(|connection| connection.number == number) {
                    break;
                }
                reusable = self.reusable(event.session, lane);
            }
        }
        reusable
    }

    /// Sends a request again on a new connection, if its reused connection has failed before any byte of the response.
    ///
    /// # Errors
    /// It must not be sent again, or no connection could be opened: the failure of the request.
    pub(super) fn resend(&mut self, key: usize, failure: Failure) -> Result<(), Failure> {
        let connection = &mut self.connections[key];
        let unwritten = connection.unwritten_bytes();
        let is_open = connection.stream.is_open();
        let Some(exchange) = &mut connection.exchange else { return Err(failure) };
        if let Some(closed) = exchange.closed.take_if(|_| !is_open) {
            // It was not sent again.
            let (before, closed) = *closed;
            exchange.event = Event { bytes_out: before.bytes_out + unwritten, ..before };
            // The end of its own time is no failure of the new connection.
            return Err(if matches!(failure.1, Reason::ResponseTimeout(_)) { failure } else { closed });
        }
        let Exchange { event, source, .. } = exchange;
        if failure.0 != Outcome::Reset || !event.reused || event.bytes_in > 0 {
            return Err(failure);
        }
        let (source, before) = (source.clone(), Event { bytes_out: event.bytes_out - unwritten, ..event.clone() });
        let failure = (Outcome::Reset, Reason::words(CLOSED));
        // Of a request that was not written the server knows nothing.
        let is_unknown = self.setup.resend && before.bytes_out == 0;
        if !is_unknown && !self.is_repeatable(&source, &before) {
            return Err(failure);
        }
        let Ok(stream) = Stream::dial(&self.setup.route, &self.event_loop.clock) else { return Err(failure) };
        let begun = self.event_loop.clock.now();
        let number = self.opened;
        self.opened += 1;
        let connection = &mut self.connections[key];
        self.event_loop.poller.remove_closing(&connection.stream);
        (connection.stream, connection.number, connection.carried) = (stream, number, 1);
        (connection.unwritten, connection.held) = (VecDeque::new(), None);
        if let Some(exchange) = &mut connection.exchange {
            (exchange.begun, exchange.closed) = (begun, Some(Box::new((before, failure))));
            let event = &mut exchange.event;
            (event.reused, event.handshake, event.writing_lateness) = (false, None, None);
            event.resends += 1;
        }
        let sent_again = match &source {
            Source::Compiled(sequence) => self.begin_on_new(key, 0, &Precompiled(*sequence)),
            Source::Built(outgoing) => match self.assembled(outgoing) {
                Ok(request) => self.begin_on_new(key, outgoing.lane, &request),
                Err(reason) => Err((Outcome::Reset, reason.into())),
            },
        };
        sent_again.or_else(|failure| self.resend(key, failure))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{Shutdown, TcpListener};
    use std::sync::mpsc;
    use std::thread;

    use offered_base::Instant;
    use offered_schedule::{Launch, Visit};

    use super::super::tests::client;
    use super::*;
    use crate::transport::{Client as _, Transport as _};

    /// Sends the request with this number and waits for its event.
    fn exchange(client: &mut Http1, step: u32, events: &mut Vec<Event>) {
        let launch = Launch { intended: Instant::ZERO, session: 1, step, place: 0, visit: Visit::default() };
        client.send(launch, 0, step.into(), events);
        while events.len() <= step as usize {
            client.wait(Instant::MAX, events);
        }
    }

    /// The backlog of the listener is full when the request is sent again, so its new connection does not open.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_request_times_out_while_its_new_connection_opens() {
        use crate::transport::socket::{Endpoint, dial};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://{address}\"\nresponse_timeout = \"300ms\"\n\
             [[request]]\nget = \"/\"\n"
        );
        let (_ended, end) = mpsc::channel::<()>();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            let _ = stream.read(&mut [0; 4096]);
            let filling: Vec<_> = (0..4).map(|_| dial(&Endpoint::Tcp(address), None)).collect();
            drop(stream);
            let _ = end.recv();
            drop((listener, filling));
        });
        let (mut client, mut events) = (client(&text), Vec::new());
        for step in 0..2 {
            exchange(&mut client, step, &mut events);
        }
        let timeout = Reason::ResponseTimeout(offered_base::Nanos::from_millis(300));
        assert_eq!((events[0].outcome, events[1].outcome), (Outcome::Ok, Outcome::Timeout), "{events:?}");
        assert_eq!((events[1].error.as_ref(), events[1].resends, events[1].reused), (Some(&timeout), 0, true));
    }

    /// The end of a connection has arrived, and the poller was not asked since.
    #[test]
    fn no_request_that_cannot_be_repeated_is_written_to_a_closed_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://{}\"\n[[request]]\npost = \"/\"\nbody = \"x\"\n",
            listener.local_addr().unwrap()
        );
        let (closed, is_closed) = mpsc::channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                // The client has read the response once it is told to go on.
                closed.send(stream).unwrap();
            }
        });
        let (mut client, mut events) = (client(&text), Vec::new());
        for step in 0..3 {
            exchange(&mut client, step, &mut events);
            let stream = is_closed.recv().unwrap();
            stream.shutdown(Shutdown::Both).unwrap();
            let connection = client.connections.iter().next().unwrap().1;
            while !connection.stream.is_readable() {
                thread::yield_now();
            }
        }
        for (nth, event) in (0..).zip(&events) {
            assert_eq!((event.outcome, event.connection, event.reused), (Outcome::Ok, nth, false), "{event:?}");
            assert_eq!(event.resends, 0, "{event:?}");
        }
    }
}
