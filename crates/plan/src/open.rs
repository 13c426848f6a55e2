//! Open systems: arrivals that do not depend on the server.

pub(crate) mod batches;
pub mod finite;
pub mod gim1;
pub mod load_dependent;
pub(crate) mod md1;
pub mod mg1;
pub mod mmm;
pub mod priority;
pub(crate) mod qna;
pub(crate) mod response_tail;
pub mod size_based;
