//! Responses against the number in the system: what a queue costs those who join it.

use std::io;

use offered_verify::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::{Filling, Percentiles};

/// Cells of the number in the system; few numbers have a cell each.
const CELLS: usize = 40;

/// Responses by how many were in the system when the launch joined it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InSystem {
    /// The smallest and the largest number of each cell; cells that no launch met are left out.
    pub found: Vec<[u64; 2]>,
    /// The responses of those who found so many before them.
    pub response: Percentiles,
}

impl InSystem {
    /// Of the launches of `scope` that were answered well; `None` where there are none.
    pub(super) fn of(scope: Scope) -> io::Result<Option<Self>> {
        let most = scope.present(|| None, |most, found, _| *most = (*most).max(Some(found)))?;
        let Some(most) = most else { return Ok(None) };
        let width = (most / CELLS as u64) + 1;
        let fresh = || Filling::new((most / width + 1) as usize);
        let filling =
            scope.present(fresh, |filling, found, response| filling.add((found / width) as usize, response))?;
        let all = filling.percentiles();
        let met: Vec<usize> = (0..all.n.len()).filter(|cell| all.n[*cell] > 0).collect();
        let of = |list: &[Option<f64>]| met.iter().map(|cell| list[*cell]).collect();
        Ok(Some(Self {
            found: met.iter().map(|cell| [*cell as u64 * width, (*cell as u64 + 1) * width - 1]).collect(),
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
    use offered_model::{Event, Instant, Nanos, Outcome, Recording};
    use offered_verify::Ask;

    #[test]
    fn each_finds_those_who_have_not_left() {
        // One a millisecond, each staying as many milliseconds as its turn says.
        let stay = [5u64, 1, 1, 10, 1];
        let events = stay.iter().enumerate().map(|(i, stay)| {
            let sent = Instant::from_millis(i as u64);
            let done = Some(sent + Nanos::from_millis(*stay));
            Event { sent: Some(sent), done, outcome: Outcome::Ok, ..Event::at(sent) }
        });
        let recording = Recording::of_run(events.collect(), vec!["a".into()]);
        let of = InSystem::of(Scope::of(&recording, &Ask::default()).unwrap()).unwrap().unwrap();
        // The first finds nobody; the next three find the first alone, for each has left when the next comes; the last finds two.
        assert_eq!(of.found, [[0, 0], [1, 1], [2, 2]]);
        assert_eq!(of.response.n, [1, 3, 1]);
    }
}
