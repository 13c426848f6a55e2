//! Expected number of visits of a session to each place.

use std::collections::{BTreeMap, BTreeSet};

type Ways = Vec<(Option<u16>, f64)>;

/// The expected number of visits of a session to each place, where `next` has the ways from each place with their probabilities, and `entry`
/// those into the flows (`None`: out): v = e + v P.
///
/// Computed by the elimination of Grassmann, Taksar and Heyman (Operations Research 33, 1985): steps are removed one after another,
/// and branches to a removed step are replaced by branches to its successors. The method has no subtraction, so it has no cancellation
/// even where sessions hardly ever leave, and a chain of places takes time proportional to its length.
///
/// # Errors
/// A place that sessions reach and never leave.
pub(super) fn of(entry: Ways, next: &[Ways]) -> Result<Vec<f64>, usize> {
    // Node 0 is where sessions come from and go to, node k + 1 is place k.
    let node = |branches: &Ways| -> BTreeMap<usize, f64> {
        let mut ways = BTreeMap::new();
        for (to, probability) in branches.iter().filter(|(_, probability)| *probability > 0.0) {
            *ways.entry(to.map_or(0, |place| usize::from(place) + 1)).or_default() += probability;
        }
        ways
    };
    let mut ways: Vec<_> = std::iter::once(node(&entry)).chain(next.iter().map(node)).collect();
    let mut from: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); ways.len()];
    for (here, ways) in ways.iter().enumerate() {
        for to in ways.keys() {
            from[*to].insert(here);
        }
    }
    // For each removed node: the branches to it from earlier nodes, and the probability that a visit leaves it.
    let mut taken: Vec<(Vec<(usize, f64)>, f64)> = vec![(Vec::new(), 1.0); ways.len()];
    for here in (1..ways.len()).rev() {
        let mut out = std::mem::take(&mut ways[here]);
        out.remove(&here);
        let away: f64 = out.values().sum();
        for before in std::mem::take(&mut from[here]).into_iter().filter(|before| *before < here) {
            let leads = ways[before].remove(&here).unwrap_or(0.0);
            for (to, probability) in &out {
                *ways[before].entry(*to).or_default() += leads * probability / away;
                from[*to].insert(before);
            }
            taken[here].0.push((before, leads));
        }
        taken[here].1 = away;
    }
    let mut visits = vec![1.0];
    for (here, (leads, away)) in taken.iter().enumerate().skip(1) {
        let come: f64 = leads.iter().map(|(before, probability)| visits[*before] * probability).sum();
        if come > 0.0 && *away <= 0.0 {
            return Err(here - 1);
        }
        visits.push(if come > 0.0 { come / away } else { 0.0 });
    }
    Ok(visits.split_off(1))
}
