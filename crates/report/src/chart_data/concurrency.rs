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
    /// Smallest and largest number in flight of each range; neighbouring ranges are merged until each has enough responses.
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
        let (edges, response) = filling.merged();
        let range = |edge: &[usize]| [edge[0] as u64 * width, (edge[1] as u64 * width - 1).min(most)];
        Ok(Some(Self { ranges: edges.windows(2).map(range).collect(), response }))
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
        // Bursts of five, one a millisecond, each staying as many milliseconds as its turn says.
        let stay = [5u64, 1, 1, 10, 1];
        let events = (0..50).flat_map(|burst| {
            stay.iter().enumerate().map(move |(i, stay)| {
                let sent = Instant::from_millis(100 * burst + i as u64);
                let done = Some(sent + Nanos::from_millis(*stay));
                Event { sent: Some(sent), done, outcome: Outcome::Ok, ..Event::at(sent) }
            })
        });
        let recording = Recording::of_run(events.collect(), vec!["a".into()]);
        let of = ConcurrencyAtArrival::of(Scope::of(&recording, &Criteria::default()).unwrap()).unwrap().unwrap();
        // The first finds nobody; the next three find the first alone, for each has left when the next comes; the last finds two.
        assert_eq!(of.ranges, [[0, 0], [1, 1], [2, 2]]);
        assert_eq!(of.response.n, [50, 150, 50]);
    }
}
