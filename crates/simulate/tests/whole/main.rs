//! Complete simulations against closed forms, solved Markov chains, and the principles of a paper.

mod coverage;
mod engines;
mod heavy_tails;
mod principles;
mod systems;
