//! Several observers of a simulation, combined.

use std::ops::ControlFlow;

use offered_base::{Instant, Nanos};
use offered_events::Event;
use offered_schedule::{After, Launch};

use crate::discipline::Job;
use crate::drive::SimulationObserver;
use crate::statistics::Statistics;

/// Forwards events to the statistics, if any, and to another observer; either can stop the simulation. Of one type for every
/// simulation, so that each discipline is compiled once.
#[derive(Default)]
pub(crate) struct Observers<'a> {
    pub(crate) statistics: Option<&'a mut Statistics>,
    pub(crate) other: Option<&'a mut dyn SimulationObserver>,
}

impl SimulationObserver for Observers<'_> {
    #[inline]
    fn arrived(&mut self, now: Instant) {
        if let Some(statistics) = &mut self.statistics {
            statistics.arrived(now);
        }
        if let Some(other) = &mut self.other {
            other.arrived(now);
        }
    }

    #[inline]
    fn rejected(&mut self, launch: Launch, class: u16, after: After) {
        if let Some(statistics) = &mut self.statistics {
            statistics.rejected(launch, class, after);
        }
        if let Some(other) = &mut self.other {
            other.rejected(launch, class, after);
        }
    }

    #[inline]
    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, after: After) -> ControlFlow<()> {
        let one = self.statistics.as_mut().map(|statistics| statistics.completed(now, launch, job, after));
        let other = self.other.as_mut().map(|other| other.completed(now, launch, job, after));
        either(one, other)
    }

    fn attempt(&mut self, event: &Event) {
        if let Some(statistics) = &mut self.statistics {
            statistics.attempt(event);
        }
        if let Some(other) = &mut self.other {
            other.attempt(event);
        }
    }

    fn ended(&mut self, launch: Launch, event: &Event, size: Nanos, after: After) -> ControlFlow<()> {
        let one = self.statistics.as_mut().map(|statistics| statistics.ended(launch, event, size, after));
        let other = self.other.as_mut().map(|other| other.ended(launch, event, size, after));
        either(one, other)
    }

    fn unfinished(&mut self, now: Instant, launch: Launch, class: u16) {
        if let Some(statistics) = &mut self.statistics {
            statistics.unfinished(now, launch, class);
        }
        if let Some(other) = &mut self.other {
            other.unfinished(now, launch, class);
        }
    }
}

/// Whether one of two observers stops the simulation.
#[inline]
fn either(one: Option<ControlFlow<()>>, other: Option<ControlFlow<()>>) -> ControlFlow<()> {
    if [one, other].contains(&Some(ControlFlow::Break(()))) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}
