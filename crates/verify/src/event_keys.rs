//! Event keys of a scope, buffered for sorting. Few keys are held in memory; if there are more, the recording is
//! scanned again.

use std::io;

use offered_events::EventKey;

use crate::scope::{ScheduledRequest, Scope, SentRequest, in_order};

/// Event keys that were sent in the window or scheduled for it, in the order of the recording.
pub(crate) struct KeyBuffer<'a> {
    scope: Scope<'a>,
    /// All keys, as long as there are at most [`MAX_KEYS`]; `None` beyond.
    keys: Option<Vec<EventKey>>,
}

/// Maximum number of keys held in memory: 40 MB.
const MAX_KEYS: usize = 1_000_000;

impl<'a> KeyBuffer<'a> {
    /// Creates an empty buffer for `scope`.
    pub(crate) fn new(scope: Scope<'a>) -> Self {
        Self { scope, keys: Some(Vec::new()) }
    }

    /// Adds the next key.
    #[inline]
    pub(crate) fn add(&mut self, key: EventKey) {
        if let Some(held) = &mut self.keys {
            held.push(key);
            if held.len() > MAX_KEYS {
                self.keys = None;
            }
        }
    }

    fn each(&self, mut see: impl FnMut(EventKey)) -> io::Result<()> {
        match &self.keys {
            Some(held) => {
                held.iter().copied().for_each(see);
                Ok(())
            }
            None => self.scope.each_key(&mut see),
        }
    }

    /// Creates a collector with `fresh` and passes it the sent requests, in the order of their sent times.
    pub(crate) fn in_sent_order<C>(&self, fresh: impl Fn() -> C, add: impl Fn(&mut C, SentRequest)) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(SentRequest)| {
            self.each(|key| self.scope.sent_request(key).into_iter().for_each(&mut *give))
        };
        in_order(&source, fresh, add)
    }

    /// Creates a collector with `fresh` and passes it the sent and the scheduled requests, in the order of their
    /// scheduled times.
    pub(crate) fn in_scheduled_order<C>(
        &self,
        fresh: impl Fn() -> C,
        add: impl Fn(&mut C, ScheduledRequest),
    ) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(ScheduledRequest)| {
            self.each(|key| {
                let (sent, inside) = (self.scope.sent_time(key), self.scope.is_scheduled_in_window(key));
                if sent.is_some() || inside {
                    let (intended, worker, first) = (key.intended.0, key.worker, key.step == 0);
                    give(ScheduledRequest { intended, sent, worker, in_window: inside, first });
                }
            })
        };
        in_order(&source, fresh, add)
    }
}
