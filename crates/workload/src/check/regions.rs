//! Checks of regions.

use std::collections::HashSet;

use crate::misfit::{Misfit, Place};
use crate::{Region, Station};
use offered_base::nearest;

/// Checks that regions are of known stations, and that two of them have no station in common or one contains the other. `names` are those of
/// the stations.
pub(super) fn check_regions<'a>(
    regions: &'a [Region],
    stations: &'a [Station],
    mut names: HashSet<&'a String>,
) -> Result<(), Misfit> {
    let known: Vec<&str> = stations.iter().map(|station| station.name.as_str()).collect();
    // A station with a capacity is a region too.
    let limited = stations.iter().filter(|station| station.server.capacity.is_some());
    let mut sets: Vec<(&str, HashSet<&str>)> =
        limited.map(|station| (station.name.as_str(), HashSet::from([station.name.as_str()]))).collect();
    for (number, Region { name, stations, capacity, .. }) in regions.iter().enumerate() {
        let wrong = |why: String| Place::Region(number).wrong(why);
        if !names.insert(name) {
            return wrong(format!("two regions or stations are named `{name}`; give each its own name"));
        }
        if let Some(station) = stations.iter().find(|station| !known.contains(&station.as_str())) {
            return wrong(format!("unknown station `{station}`{}", nearest(station, &known)));
        }
        let set: HashSet<&str> = stations.iter().map(String::as_str).collect();
        if set.is_empty() || set.len() < stations.len() || *capacity == 0 {
            return wrong(
                "a region needs a capacity of at least 1, and at least one station, each of them once".to_owned(),
            );
        }
        for (other, with) in &sets {
            if set == *with {
                return wrong(format!("`{name}` and `{other}` have the same stations; remove one"));
            }
            if !(set.is_disjoint(with) || set.is_subset(with) || set.is_superset(with)) {
                return wrong(format!(
                    "`{name}` and `{other}` have stations in common; one region must contain the other, or they must be disjoint"
                ));
            }
        }
        sets.push((name.as_str(), set));
    }
    Ok(())
}
