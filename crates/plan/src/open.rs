//! Open systems: Poisson arrivals that do not depend on the server.

pub mod finite;
pub mod mg1;
pub mod mmm;
pub mod priority;
pub mod size_based;
