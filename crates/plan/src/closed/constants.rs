//! Normalisation constants of closed networks with several classes, for stations with several servers.
//!
//! G(n) is the sum of the weights of all states with population vector n. A station with m servers and `v_c` requests of class
//! c has the weight `F(v) = (1 / min(|v|, m)) sum over c of D_c F(v - e_c)`, F(0) = 1. So a station is added to a network by
//! sums of positive terms alone (Buzen 1973; Reiser and Kobayashi 1975). Logarithms are stored, which do not overflow.

use super::classes::{Class, Populations};

/// ln G(n) by population vector.
pub(super) type Logarithms = Vec<f64>;

/// A network of the think times alone: G(n) is the product over classes of `Z_c^n_c / n_c!`.
pub(super) fn thinking(classes: &[Class], populations: &Populations) -> Logarithms {
    let weight = |think: f64, users: usize| match users {
        0 => 0.0,
        _ => users as f64 * libm::log(think) - libm::lgamma(users as f64 + 1.0),
    };
    let sum =
        |state| classes.iter().enumerate().map(|(c, class)| weight(class.think, populations.users(state, c))).sum();
    (0..populations.count()).map(sum).collect()
}

/// The network with one more station with `servers` servers, at which class c has the demand `demands[c]`.
pub(super) fn with_station(network: &[f64], demands: &[f64], servers: u32, populations: &Populations) -> Logarithms {
    let demands: Vec<f64> = demands.iter().map(|demand| libm::log(*demand)).collect();
    let arrivals = |of: &[f64], state: usize, busy: f64| {
        let terms = demands.iter().enumerate().filter_map(|(c, demand)| {
            populations.without(state, c).map(|before| of[before] + demand - libm::log(busy))
        });
        sum(terms)
    };
    // Networks with exactly j requests at the station, for j below the number of servers.
    let mut exactly = network.to_vec();
    let mut total = network.to_vec();
    for j in 1..servers {
        exactly = (0..populations.count()).map(|state| arrivals(&exactly, state, f64::from(j))).collect();
        total.iter_mut().zip(&exactly).for_each(|(total, more)| *total = sum([*total, *more]));
    }
    // With that number or more.
    let mut busy: Logarithms = Vec::with_capacity(populations.count());
    for state in 0..populations.count() {
        let first = arrivals(&exactly, state, f64::from(servers));
        let others = arrivals(&busy, state, f64::from(servers));
        busy.push(sum([first, others]));
    }
    total.iter_mut().zip(&busy).for_each(|(total, more)| *total = sum([*total, *more]));
    total
}

/// The logarithm of a sum, from the logarithms of its terms; minus infinity without terms.
fn sum(terms: impl IntoIterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().into_iter().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + libm::log(terms.into_iter().map(|term| libm::exp(term - largest)).sum())
}
