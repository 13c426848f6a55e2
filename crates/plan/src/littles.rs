//! Little's law, Q = lambda R, and what follows from it for a closed system, N = X (R + Z).
//!
//! Source: Little 1961; Brady and Gunther 2016, eqns 3 to 6. It holds for any laws and any discipline.

/// Mean number at the server, Q = lambda R.
pub fn in_system(rate: f64, response: f64) -> f64 {
    rate * response
}

/// Users in the whole closed system, N = X (R + Z).
pub fn users(throughput: f64, response: f64, think: f64) -> f64 {
    throughput * (response + think)
}

/// Mean time at the server, R = Q / X. Use this and never N/X - Z, which loses every digit when Z is large.
pub fn response(in_system: f64, throughput: f64) -> f64 {
    in_system / throughput
}

/// Share of the round trip spent waiting for the answer, `RoRT` = R / (R + Z) (Brady and Gunther, section 4.2).
pub fn rort(response: f64, think: f64) -> f64 {
    response / (response + think)
}
