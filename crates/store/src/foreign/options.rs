//! Settings that override what the readers detect.

use offered_base::Nanos;

use super::InputFormat;

/// Settings for [`read`](crate::read) that override the detected values.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The input format. `None`: detected by content.
    pub format: Option<InputFormat>,
    /// The meaning of the timestamps in a JMeter log. `None`: determined from overlaps of samples of one thread.
    pub stamps: Option<TimestampMeaning>,
    /// The column with send times, for a table that no known tool has written.
    pub start_column: Option<String>,
    /// The column that holds completion times.
    pub end_column: Option<String>,
    /// The column that holds request names.
    pub label_column: Option<String>,
    /// The length of one unit of the table's numbers. `None`: determined from their magnitude.
    pub unit: Option<Nanos>,
    /// The resolution of the clock of the timestamps. `None`: detected from the timestamps.
    pub tick: Option<Nanos>,
}

offered_base::named! {
    /// The meaning of the timestamp of a sample.
    pub enum TimestampMeaning {
        /// When the request was sent.
        Start = "start",
        /// When the request was done.
        End = "end",
    }
}
