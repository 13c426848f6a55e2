//! Little's law, Q = lambda R, and the share of a round trip that is spent waiting.
//!
//! Source: Little 1961; Brady and Gunther 2016, eqns 3 to 6. It holds for any laws and any discipline.

/// Mean number at the server, Q = lambda R.
pub fn in_system(rate: f64, response: f64) -> f64 {
    rate * response
}

/// Share of the round trip spent waiting for the answer, `RoRT` = R / (R + Z) (Brady, in his paper on launches in bunches).
pub fn rort(response: f64, think: f64) -> f64 {
    response / (response + think)
}
