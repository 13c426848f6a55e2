//! Values that are new in each text: the time, and unique texts.

use std::cell::Cell;

use offered_base::Nanos;
use offered_io::unix_now;

/// The values that are new in each text: the time, which all its placeholders share, and unique texts.
#[derive(Debug, Default)]
pub(in crate::script) struct Fresh {
    now: Cell<Option<Nanos>>,
    is_fixed: bool,
}

impl Fresh {
    /// One time (2000-01-01) and empty unique texts, so that texts are equal if their other values are.
    pub(in crate::script) fn fixed() -> Self {
        Self { now: Cell::new(Some(Nanos::from_secs(946_684_800))), is_fixed: true }
    }

    /// The time since the Unix epoch when a placeholder first needs it.
    pub(super) fn now(&self) -> Nanos {
        let now = self.now.get().unwrap_or_else(unix_now);
        self.now.set(Some(now));
        now
    }

    /// A text that no other request has.
    pub(super) fn unique(&self, text: impl FnOnce() -> String) -> String {
        if self.is_fixed { String::new() } else { text() }
    }
}
