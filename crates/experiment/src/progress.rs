//! Who is told how far an experiment is.

use offered_model::Nanos;

use crate::document::capacity::Said;
use crate::{Beyond, Copied, Field, View};

/// Told how far an experiment is. `()` does not listen.
pub trait Observer {
    /// Where the pulses of the next run are shown.
    fn views(&mut self) -> Vec<Box<dyn View>> {
        Vec::new()
    }

    /// Takes a piece of news.
    fn told(&mut self, news: News) {
        let _ = news;
    }
}

impl Observer for () {}

/// A piece of news.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// A sweep begins.
    Sweep {
        /// All its cells.
        cells: usize,
        /// Those still to do.
        todo: usize,
        /// How long they last; `None` where they are simulated, or where a count alone ends them.
        time: Option<Nanos>,
    },
    /// The beginning of each of its cells counts: the workload leaves nothing out.
    NoWarmUp,
    /// A run to come asks of this machine what it will hardly have.
    Beyond {
        /// The run.
        name: &'a str,
        /// What it asks.
        beyond: &'a Beyond,
        /// So many others ask for too much of the same.
        others: usize,
    },
    /// A cell begins.
    Cell {
        /// Which of those to do, from 1.
        number: usize,
        /// How many those are.
        of: usize,
        /// Its name.
        name: &'a str,
        /// How long this one and the rest last; `None` where they are simulated, or where a count alone ends them.
        time: Option<Nanos>,
    },
    /// What others have made is copied from an object store.
    Copied(Copied<'a>),
    /// What was made here does not come into an object store.
    Unsent {
        /// Why.
        why: &'a str,
    },
    /// A search begins.
    Search {
        /// So many trials at most.
        trials: usize,
        /// How long one lasts at most, on the clock of the workload; `None` where a count alone ends it.
        each: Option<Nanos>,
        /// Whether they are simulated.
        simulated: bool,
    },
    /// A search has made its trials at one value.
    Tried {
        /// The field.
        field: &'a Field,
        /// Its value.
        value: f64,
        /// How many trials.
        trials: usize,
        /// What they say.
        said: Said,
    },
}
