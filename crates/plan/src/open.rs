//! Open systems: requests arrive as a Poisson process that knows nothing of the server.

pub mod finite;
pub mod mg1;
pub mod mmm;
pub mod priority;
pub mod size_based;
