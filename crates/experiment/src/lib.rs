//! Experiments: what the verbs *do*, beneath any command line. Typed in, typed out; nothing is printed, and how far it is goes
//! to an [`Observer`].

pub mod calibrate;
pub mod capacity;
mod collect;
pub mod cores;
pub mod document;
mod error;
mod input;
mod observe;
mod record;
mod run;
pub mod simulated;
mod summary;
pub mod sweep;
pub mod theory;
mod vary;

pub use collect::View;
pub use error::Error;
pub use input::{Files, Input};
pub use observe::{News, Observer};
pub use record::record;
pub use run::{Made, Plan, Ready};
pub use summary::{Arrivals, Failure, Micros, Millis, Summary};
pub use vary::{Point, Vary, point, points};
