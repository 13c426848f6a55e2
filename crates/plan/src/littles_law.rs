//! Little's law, Q = lambda R, and the share of a round trip that users spend waiting.
//!
//! Source: Little 1961; Brady and Gunther 2016, eqns 3 to 6. It holds for any distributions and any scheduling
//! discipline.

/// Mean number of requests in the system, Q = lambda R.
pub fn in_system(rate: f64, response: f64) -> f64 {
    rate * response
}

/// Share of the round trip that a user spends waiting for the response: `RoRT` = R / (R + Z) (Brady's paper on bunched
/// requests).
pub fn rort(response: f64, think: f64) -> f64 {
    response / (response + think)
}
