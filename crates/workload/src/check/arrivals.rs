//! Checks that the arrivals fit the other parts of a workload.

use super::{Misfit, Place};
use crate::Draft;
use offered_base::InvalidValue;
use offered_base::time::Nanos;
use offered_schedule::arrivals::Process;
use offered_schedule::replay::ReplayMode;
use offered_schedule::thinking::Thinking;
use offered_schedule::{Count, Opening, Sessions};

/// Checks that the count fits the sessions, and that the schedule ends.
pub(super) fn count(Draft { count, duration, skip_last, sessions, .. }: &Draft) -> Result<(), Misfit> {
    let Some(count) = *count else { return Ok(()) };
    let place = match count {
        Count::Requests(_) => Place::Key("requests"),
        Count::Sessions(_) => Place::Key("sessions"),
    };
    if count.number() == 0 {
        return place.wrong("must be at least 1");
    }
    if *skip_last > Nanos::ZERO {
        return Place::Key("skip_last")
            .wrong("needs a known end of the run, but `requests` or `sessions` can end it earlier; remove one");
    }
    if sessions.scenarios().is_some() {
        return place.wrong("several scenarios cannot share a number; set the `end` of each scenario");
    }
    if let (Count::Sessions(_), Sessions::Replay(replay)) = (count, sessions)
        && matches!(replay.mode(), ReplayMode::Closed(_))
    {
        return place.wrong("users of a replay send single requests, not sessions; write requests");
    }
    if *duration < Nanos::MAX {
        return Ok(());
    }
    let (schedule, length) = match sessions {
        Sessions::Open(schedule) => (schedule, 1.0),
        Sessions::PartlyOpen { schedule, length, .. } => (schedule, length.mean()),
        Sessions::Closed(_) | Sessions::Replay(_) | Sessions::Scenarios(_) => return Ok(()),
    };
    if *schedule.process() == Process::FixedCount {
        return place.wrong("a fixed count is spread over a duration; add `duration`");
    }
    if schedule.rate().instant(count.sessions(length)).is_none() {
        return place.wrong("the arrivals end before this number is reached; add `duration`");
    }
    Ok(())
}

/// Checks that `start = "stationary"` is possible with these sessions.
pub(super) fn opening(sessions: &Sessions) -> Result<(), InvalidValue> {
    if let Some(scenarios) = sessions.scenarios() {
        return scenarios.all().iter().try_for_each(|scenario| opening(&scenario.sessions));
    }
    let Sessions::PartlyOpen { schedule, length, think, opening: Opening::Stationary } = sessions else {
        return Ok(());
    };
    if length.flows().is_some() {
        return Err(InvalidValue::new(
            "start = \"stationary\" would begin with visitors in the middle of their flow, without the values of earlier responses; remove it and use skip_first",
        ));
    }
    if schedule.rate().as_constant().is_none() {
        return Err(InvalidValue::new("start = \"stationary\" needs a constant rate"));
    }
    if think.is_zero() || !Thinking::mean(schedule, length, think).is_finite() {
        return Err(InvalidValue::new(
            "start = \"stationary\" needs a think time with a finite mean above zero: without think times all sessions wait for responses, and their number is unknown before the run",
        ));
    }
    Ok(())
}
