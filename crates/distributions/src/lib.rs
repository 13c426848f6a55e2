//! Probability distributions of times and sizes, and the superposition of renewal processes.

mod distribution;
pub mod integral;
pub mod superposition;

pub use distribution::{Distribution, Empirical, NAMES, Shape, Truncated, poisson};
