//! The scheduling priority of the generator: what it leaves to do about lateness.

use offered_events::recording::{Evidence, Scheduling};

use crate::verdict::WarningKind;

/// A thread that is busy for a smaller share of the time is late because it does not run.
const MOSTLY_IDLE: f64 = 0.5;

/// The fix of a warning. For lateness it begins with the priority of the sending threads, unless they had the highest or
/// were busy.
pub(crate) fn fix(kind: &WarningKind, generator: Option<&Evidence>) -> String {
    let is_lateness = match kind {
        WarningKind::GeneratorStalled(_) | WarningKind::LateRequests { .. } | WarningKind::LateReading { .. } => {
            // Threads that worked when they were late need no priority.
            generator.and_then(Evidence::busiest).is_none_or(|(_, busy)| busy <= MOSTLY_IDLE)
        }
        _ => false,
    };
    let scheduling = generator.map_or(&[][..], |generator| generator.scheduling.as_slice());
    match higher_priority(scheduling).filter(|_| is_lateness) {
        Some(priority) => format!("{priority}, or {}", kind.fix()),
        None => kind.fix(),
    }
}

/// How the sending threads get a higher priority; `None` if they had the highest, or if it is unknown. In a run of
/// several workers, for the first one that had less.
fn higher_priority(scheduling: &[Scheduling]) -> Option<&'static str> {
    if scheduling.iter().any(|of| of.lowered_s > 0.0) {
        return Some("use more threads: those that use too much of a processor lose their priority");
    }
    let below = scheduling.iter().find(|of| !of.is_realtime())?;
    Some(match below {
        _ if below.requested == "normal" => "set generator.priority to \"auto\" or \"realtime\"",
        Scheduling { refused: Some(_), .. } => {
            "permit the generator a higher priority (CAP_SYS_NICE, or the limits `nice` and `rtprio` of its user)"
        }
        _ => "set generator.priority to \"realtime\"",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Stalls;

    fn with(scheduling: &[Scheduling]) -> String {
        let stalled = WarningKind::GeneratorStalled(Stalls { threads_idle: true, ..Stalls::default() });
        fix(&stalled, Some(&Evidence { scheduling: scheduling.to_vec(), ..Evidence::default() }))
    }

    #[test]
    fn lateness_is_fixed_by_the_next_higher_priority() {
        let auto = Scheduling {
            requested: "auto".to_owned(),
            policy: "SCHED_OTHER".to_owned(),
            nice: -20,
            slice_us: Some(100.0),
            refused: None,
            lowered_s: 0.0,
        };
        let realtime = Scheduling { policy: "SCHED_RR".to_owned(), ..auto.clone() };
        let refused = Scheduling { nice: 0, refused: Some("nice -20: not permitted".to_owned()), ..auto.clone() };
        let normal = Scheduling { requested: "normal".to_owned(), nice: 0, ..auto.clone() };
        let lowered = Scheduling { lowered_s: 1.5, ..realtime.clone() };
        for (scheduling, start) in [
            (&[][..], "reserve cores"),
            (&[realtime.clone()][..], "reserve cores"),
            (&[realtime.clone(), auto][..], "set generator.priority to \"realtime\", or reserve cores"),
            (&[refused][..], "permit the generator"),
            (&[normal.clone()][..], "set generator.priority to \"auto\""),
            (&[lowered][..], "use more threads"),
        ] {
            let fix = with(scheduling);
            assert!(fix.starts_with(start) && fix.contains("(generator.tolerance)"), "{fix}");
        }
        let busy = Evidence { busy: vec![0.1, 0.7], scheduling: vec![normal], ..Evidence::default() };
        assert!(fix(&WarningKind::LateReading { p99_us: 20_000.0 }, Some(&busy)).starts_with("add threads"));
        let unsent = WarningKind::UnsentRequests { unsent: 1, requests: 2, causes: Vec::new() };
        assert_eq!(fix(&unsent, Some(&Evidence { scheduling: vec![realtime], ..Evidence::default() })), unsent.fix());
    }
}
