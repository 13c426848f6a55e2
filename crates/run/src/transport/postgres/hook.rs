//! What is done with the process that serves a connection before requests go there: a command that is told its number.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use offered_clock::Waker;

use crate::command;

/// A connection whose process is to be told to the command.
pub(super) struct HookCall {
    /// Its key and number.
    pub(super) connection: (usize, u32),
    /// The process.
    pub(super) pid: i32,
    /// The name of its pool.
    pub(super) class: String,
}

/// Runs the command on a thread of its own, for one connection after another.
pub(super) struct Hook {
    calls: Sender<HookCall>,
    results: Receiver<((usize, u32), Result<(), String>)>,
}

impl Hook {
    /// Runs `command`, in whose words `{{pid}}` and `{{class}}` are places, and wakes whom it concerns each time.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(super) fn new(command: Arc<[String]>, waker: Waker) -> io::Result<Self> {
        let (calls, requests) = channel::<HookCall>();
        let (tell, results) = channel();
        thread::Builder::new().spawn(move || {
            for HookCall { connection, pid, class } in requests {
                let places = [("{{pid}}", pid.to_string()), ("{{class}}", class)];
                let places = places.each_ref().map(|(endpoint, value)| (*endpoint, value.as_str()));
                if tell.send((connection, command::run(&command, &places, &|_| false))).is_err() {
                    break;
                }
                waker.wake();
            }
        })?;
        Ok(Self { calls, results })
    }

    /// Tells the command of a connection.
    pub(super) fn call(&self, call: HookCall) {
        // The thread ends only after this end of it.
        let _ = self.calls.send(call);
    }

    /// The next connection that it was told of, and what came of it.
    pub(super) fn next_result(&self) -> Option<((usize, u32), Result<(), String>)> {
        self.results.try_recv().ok()
    }
}
