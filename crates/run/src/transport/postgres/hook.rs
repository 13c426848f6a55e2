//! The hook command that runs for the server process of each new connection.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use offered_io::Waker;

use crate::command;

/// A call of the command for a connection.
pub(super) struct HookCall {
    /// The key and number of the connection.
    pub(super) connection: (usize, u32),
    /// The process ID of the server process.
    pub(super) pid: i32,
    /// The name of the pool.
    pub(super) class: String,
}

/// Runs the command on a thread of its own, for one connection after another.
pub(super) struct Hook {
    calls: Sender<HookCall>,
    results: Receiver<((usize, u32), Result<(), String>)>,
}

impl Hook {
    /// Replaces `{{pid}}` and `{{class}}` in the arguments of `command` in each call, and wakes the poller after it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn new(command: Arc<[String]>, waker: Waker) -> io::Result<Self> {
        let (calls, requests) = channel::<HookCall>();
        let (sender, results) = channel();
        thread::Builder::new().spawn(move || {
            for HookCall { connection, pid, class } in requests {
                let placeholders = [("{{pid}}", pid.to_string()), ("{{class}}", class)];
                let placeholders = placeholders.each_ref().map(|(endpoint, value)| (*endpoint, value.as_str()));
                if sender.send((connection, command::run(&command, &placeholders, &|_| false))).is_err() {
                    break;
                }
                waker.wake();
            }
        })?;
        Ok(Self { calls, results })
    }

    /// Queues a call.
    pub(super) fn call(&self, call: HookCall) {
        // The thread outlives this end of the channel.
        let _ = self.calls.send(call);
    }

    /// The next connection for which the command has finished, with its result.
    pub(super) fn next_result(&self) -> Option<((usize, u32), Result<(), String>)> {
        self.results.try_recv().ok()
    }
}
