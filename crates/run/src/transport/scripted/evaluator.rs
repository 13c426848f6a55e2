//! Evaluates responses that take long, on a thread separate from the sending thread.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use offered_base::{Instant, Nanos};
use offered_events::Event;
use offered_io::Clock;

use crate::message::Response;
use crate::script::{Received, Rejection, RequestContext, Script, SessionState};

/// Maximum time for evaluating one response. The remainder to the promised 250 ms is for the last step, which may not be
/// interruptible.
const EVALUATION_TIMEOUT: Nanos = Nanos::from_millis(220);

/// Held during an evaluation: what is parsed of one response may need 64 MB, so this process parses one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A response to evaluate, with what that needs; comes back with its result.
pub(super) struct Evaluation {
    pub(super) context: RequestContext,
    pub(super) status: u16,
    /// See [`Received`].
    pub(super) service: Nanos,
    pub(super) target: u16,
    pub(super) path: String,
    pub(super) response: Box<Response>,
    pub(super) found: Vec<u16>,
    pub(super) state: SessionState,
    /// The event of the exchange alone, for the observer.
    pub(super) exchange_event: Option<Event>,
}

/// Evaluates one response after another.
pub(super) struct Evaluator {
    jobs: Sender<Evaluation>,
    results: Receiver<(Evaluation, Result<(), Rejection>)>,
    pending: usize,
}

impl Evaluator {
    /// Starts the evaluator on first use. Returns whether it runs: the system may refuse another thread.
    pub(super) fn start(evaluator: &mut Option<Self>, script: &Arc<Script>) -> bool {
        if evaluator.is_none() {
            *evaluator = Self::new(script.clone()).ok();
        }
        evaluator.is_some()
    }

    fn new(script: Arc<Script>) -> io::Result<Self> {
        let (jobs, received) = channel::<Evaluation>();
        let (sender, results) = channel();
        thread::Builder::new().name("evaluator".to_owned()).spawn(move || {
            for mut job in received {
                let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
                let clock = Clock::start();
                let time_left = || clock.now().until(Instant::ZERO + EVALUATION_TIMEOUT);
                let Evaluation {
                    context,
                    status,
                    service,
                    target,
                    ref path,
                    ref response,
                    ref found,
                    ref mut state,
                    ..
                } = job;
                let received = Received { status, reply: response, service, path, target, found };
                let result = script.evaluate(context.label, context, received, state, &time_left);
                if sender.send((job, result)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { jobs, results, pending: 0 })
    }

    /// Queues a response.
    pub(super) fn submit(&mut self, job: Evaluation) {
        // The thread outlives this end of the channel.
        self.pending += usize::from(self.jobs.send(job).is_ok());
    }

    /// Whether results are outstanding.
    pub(super) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// The next result, if it comes within `timeout`.
    pub(super) fn next_result(&mut self, timeout: Nanos) -> Option<(Evaluation, Result<(), Rejection>)> {
        match self.results.recv_timeout(Duration::from_nanos(timeout.0)) {
            Ok(result) => {
                self.pending -= 1;
                Some(result)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.pending = 0;
                None
            }
        }
    }
}
