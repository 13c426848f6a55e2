//! Response times by the number of requests in flight at arrival.

use std::io;

use offered_verify::Scope;
use serde::{Deserialize, Serialize};

use super::grid::{GridBuilder, Percentiles};

/// Maximum number of ranges of the number in flight.
const MAX_RANGES: usize = 40;

/// Response times by the number of requests in flight at arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConcurrencyAtArrival {
    /// Smallest and largest number in flight of each range; empty ranges are omitted.
    pub ranges: Vec<[u64; 2]>,
    /// Response times per range.
    pub response: Percentiles,
}

impl ConcurrencyAtArrival {
    /// Of the successful requests in `scope`; `None` without any.
    pub(super) fn of(scope: Scope) -> io::Result<Option<Self>> {
        let most = scope.concurrency_at_arrival(|| None, |most, found, _| *most = (*most).max(Some(found)))?;
        let Some(most) = most else { return Ok(None) };
        let width = (most / MAX_RANGES as u64) + 1;
        let fresh = || GridBuilder::new((most / width + 1) as usize);
        let filling = scope.concurrency_at_arrival(fresh, |filling, found, response| {
            filling.add((found / width) as usize, response);
        })?;
        let all = filling.percentiles();
        let met: Vec<usize> = (0..all.n.len()).filter(|cell| all.n[*cell] > 0).collect();
        let of = |list: &[Option<f64>]| met.iter().map(|cell| list[*cell]).collect();
        Ok(Some(Self {
            ranges: met.iter().map(|cell| [*cell as u64 * width, (*cell as u64 + 1) * width - 1]).collect(),
            response: Percentiles {
                n: met.iter().map(|cell| all.n[*cell]).collect(),
                p50_ms: of(&all.p50_ms),
                p95_ms: of(&all.p95_ms),
                p99_ms: of(&all.p99_ms),
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Instant, Nanos};
    use offered_events::{Event, Outcome, Recording};
    use offered_verify::Criteria;

    #[test]
    fn a_request_finds_those_still_in_flight() {
        // One a millisecond, each staying as many milliseconds as its turn says.
        let stay = [5u64, 1, 1, 10, 1];
        let events = stay.iter().enumerate().map(|(i, stay)| {
            let sent = Instant::from_millis(i as u64);
            let done = Some(sent + Nanos::from_millis(*stay));
            Event { sent: Some(sent), done, outcome: Outcome::Ok, ..Event::at(sent) }
        });
        let recording = Recording::of_run(events.collect(), vec!["a".into()]);
        let of = ConcurrencyAtArrival::of(Scope::of(&recording, &Criteria::default()).unwrap()).unwrap().unwrap();
        // The first finds nobody; the next three find the first alone, for each has left when the next comes; the last finds two.
        assert_eq!(of.ranges, [[0, 0], [1, 1], [2, 2]]);
        assert_eq!(of.response.n, [1, 3, 1]);
    }
}
