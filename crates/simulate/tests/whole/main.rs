//! Complete simulations against closed forms, solved Markov chains, and the principles of a paper.

mod coverage;
mod principles;
mod systems;
