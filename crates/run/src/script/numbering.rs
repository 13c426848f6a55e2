//! The numbers of visitors and visits, which determine values.

use offered_schedule::Sessions;
use offered_workload::Workload;

/// Numbers every visitor of a run, in every thread and on every machine.
#[derive(Debug)]
pub(super) struct Numbering {
    /// One entry per scenario; a single entry without scenarios.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// The number of users of a closed system, who make one visit after another; else 0.
    users: u64,
    /// Whether each visit counts as a separate session.
    renews: bool,
}

impl Numbering {
    /// For the sessions of `workload`.
    pub(super) fn new(workload: &Workload) -> Self {
        let part = |sessions: &Sessions| match sessions {
            Sessions::Closed(closed) => Part { users: closed.all_users(), renews: closed.renews() },
            _ => Part { users: 0, renews: false },
        };
        let parts = match workload.scenarios() {
            Some(scenarios) => scenarios.all().iter().map(|scenario| part(&scenario.sessions)).collect(),
            None => vec![part(workload.sessions())],
        };
        Self { parts }
    }

    /// Whether some users make several visits.
    pub(super) fn has_users(&self) -> bool {
        self.parts.iter().any(|part| part.users > 0)
    }

    /// Whether `session` is a user of a closed system. All other sessions make one visit.
    pub(super) fn is_user(&self, session: u64) -> bool {
        self.parts[(session % self.parts.len() as u64) as usize].users > 0
    }

    /// Whether each visit of `session` counts as a separate session.
    pub(super) fn renews(&self, session: u64) -> bool {
        match &self.parts[..] {
            [part] => part.renews,
            parts => parts[(session % parts.len() as u64) as usize].renews,
        }
    }

    /// The number of a visit of `session`: unique in the run.
    pub(super) fn visit(&self, session: u64, visit: u32) -> u64 {
        let scenarios = self.parts.len() as u64;
        let part = &self.parts[(session % scenarios) as usize];
        session + u64::from(visit) * part.users * scenarios
    }

    /// The number of a session or visit among those of its scenario, for values that no other scenario takes.
    pub(super) fn in_scenario(&self, number: u64) -> u64 {
        number / self.parts.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn visits_of_all_scenarios_have_their_own_numbers() {
        let text = "duration = \"1s\"\ntarget.url = \"http://h/\"\n\
            scenario = [{ name = \"a\", arrivals.closed.users = 3 }, { name = \"b\", arrivals.open.rate = \"9/s\" }, \
            { name = \"c\", arrivals.closed.users = 2 }]";
        let workload = Workload::parse(text, "w", &|_| Err(String::new())).unwrap();
        let (numbering, scenarios) = (Numbering::new(&workload), workload.scenarios().unwrap());
        let of = |scenario, users, visits| {
            let numbers = (0..visits).flat_map(move |visit| (0..users).map(move |user| (user, visit)));
            numbers.map(|(user, visit)| numbering.visit(scenarios.number(scenario, user), visit)).collect::<Vec<_>>()
        };
        let all: Vec<u64> = [of(0, 3, 10), of(1, 1000, 1), of(2, 2, 10)].concat();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        let own: Vec<u64> = of(0, 3, 10).into_iter().map(|number| numbering.in_scenario(number)).collect();
        assert_eq!(own, (0..30).collect::<Vec<_>>(), "no row is left out");
        let is_user = |scenario| numbering.is_user(scenarios.number(scenario, 1));
        assert_eq!([0, 1, 2].map(is_user), [true, false, true]);
    }
}
