//! A recording: the events of one run with what must be known to read them, whichever tool made it.

use crate::event::Event;
use crate::time::Nanos;

/// What one run left behind, ours or another tool's.
///
/// Events are in the order of the file, not of time. Instants are nanoseconds on the recording's own clock (since the run's
/// start for ours, since the Unix epoch for most files), so only differences mean anything.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// One per launch.
    pub events: Vec<Event>,
    /// What launches brought with them ([`Event::object`] above 0): answers of the server, but no launches.
    pub objects: Vec<Event>,
    /// The names that [`Event::label`] points into.
    pub labels: Vec<String>,
    /// What kind of file it was: `run`, `jtl-csv`, `k6-json`, ...
    pub format: String,
    /// The tick of the launch stamps: 1 ns for ours, 1 ms for JMeter's.
    pub resolution: Nanos,
    /// Whether `intended` was recorded; otherwise it repeats `sent`.
    pub intent_known: bool,
    /// Whether `session` tells the user, thread or connection that launched.
    pub sessions_known: bool,
    /// Of a recording merged from several: the name of each, and the number of its first [`Event::worker`]; ascending.
    pub nodes: Vec<(String, u16)>,
    /// For files whose stamps may mean the start or the end of a sample: which was taken, and on what evidence.
    pub stamps: Option<String>,
    /// How many rows could not be read.
    pub unreadable: u64,
    /// The first of them, as `file:line: why`.
    pub complaints: Vec<String>,
    /// What the reader must know besides: "cut off in the middle of a row", "the run was killed", ...
    pub notes: Vec<String>,
}

impl Recording {
    /// Of a run of ours, just made.
    pub fn of_run(events: Vec<Event>, labels: Vec<String>) -> Self {
        let (events, objects) = apart(events);
        Self {
            events,
            objects,
            labels,
            format: "run".to_owned(),
            resolution: Nanos(1),
            intent_known: true,
            sessions_known: true,
            ..Self::default()
        }
    }
}

/// Launches and their objects, each in the order they came.
pub fn apart(mut events: Vec<Event>) -> (Vec<Event>, Vec<Event>) {
    let objects = events.extract_if(.., |event| event.object > 0).collect();
    (events, objects)
}
