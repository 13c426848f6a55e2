//! Settings that override what the readers detect.

use offered_base::Nanos;

use super::InputFormat;

/// Settings for [`read`](crate::read) that override what it detects.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The input format. `None`: detected by content.
    pub format: Option<InputFormat>,
    /// What the timestamps in a JMeter log mark. `None`: decided by how samples of one thread overlap.
    pub stamps: Option<TimestampMeaning>,
    /// The column that holds send times, in a table of no known tool.
    pub start_column: Option<String>,
    /// The column that holds completion times.
    pub end_column: Option<String>,
    /// The column that holds request names.
    pub label_column: Option<String>,
    /// The length of one unit of the table's numbers. `None`: guessed from their magnitude.
    pub unit: Option<Nanos>,
    /// The resolution of the clock that made the timestamps. `None`: detected from the grid on which they lie.
    pub tick: Option<Nanos>,
}

offered_base::named! {
    /// What the timestamp of a sample marks.
    pub enum TimestampMeaning {
        /// When the request was sent.
        Start = "start",
        /// When the request was done.
        End = "end",
    }
}
