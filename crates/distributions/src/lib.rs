//! Probability distributions of times and sizes, and the superposition of renewal processes.

mod distribution;
pub mod integral;
pub mod superposition;

pub use distribution::{Empirical, Distribution, NAMES, Shape, Within, poisson};
