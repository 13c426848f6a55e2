//! What is done with the process that serves a connection before requests go there: a command that is told its number.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use offered_clock::Waker;

use crate::command;

/// A connection whose process is to be told to the command.
pub(super) struct Asked {
    /// Its key and number.
    pub(super) connection: (usize, u32),
    /// The process.
    pub(super) pid: i32,
    /// The name of its pool.
    pub(super) class: String,
}

/// Runs the command on a thread of its own, for one connection after another.
pub(super) struct Hook {
    ask: Sender<Asked>,
    told: Receiver<((usize, u32), Result<(), String>)>,
}

impl Hook {
    /// Runs `command`, in whose words `{{pid}}` and `{{class}}` are places, and wakes whom it concerns each time.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(super) fn new(command: Arc<[String]>, waker: Waker) -> io::Result<Self> {
        let (ask, asked) = channel::<Asked>();
        let (tell, told) = channel();
        thread::Builder::new().spawn(move || {
            for Asked { connection, pid, class } in asked {
                let places = [("{{pid}}", pid.to_string()), ("{{class}}", class)];
                let places = places.each_ref().map(|(place, value)| (*place, value.as_str()));
                if tell.send((connection, command::run(&command, &places, &|_| false))).is_err() {
                    break;
                }
                waker.wake();
            }
        })?;
        Ok(Self { ask, told })
    }

    /// Tells the command of a connection.
    pub(super) fn ask(&self, asked: Asked) {
        // The thread ends only after this end of it.
        let _ = self.ask.send(asked);
    }

    /// The next connection that it was told of, and what came of it.
    pub(super) fn told(&self) -> Option<((usize, u32), Result<(), String>)> {
        self.told.try_recv().ok()
    }
}
