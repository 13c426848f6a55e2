//! The path of a session from place to place, and the expected paths.

use offered_base::random::{Purpose, Seed};

use super::blocks::Position;
use super::{Condition, Decide, Flows, Once, rules};

/// The probability of ways that are not followed further.
const NEGLIGIBLE: f64 = 1e-12;

impl Flows {
    /// The next place of `session`, which sent request `step` at `place`; `None`: its visit ends. `decide` decides
    /// conditions.
    pub fn next(&self, seed: Seed, session: u64, step: u32, place: u16, decide: Decide<'_>) -> Option<u16> {
        let visit = || (self.once(place) == Some(Once::Start)).then(|| self.enter_visit(seed, session, step + 1));
        self.next_in_flow(seed, session, step, place, decide).or_else(visit)
    }

    fn next_in_flow(&self, seed: Seed, session: u64, step: u32, place: u16, decide: Decide<'_>) -> Option<u16> {
        let at = self.layout.position(place);
        let here = &self.steps[usize::from(at.step)];
        let holds = |condition: Condition, decide: Decide<'_>| condition.holds(seed, session, step, decide);
        let ends = |condition: Option<Condition>, decide: Decide<'_>| condition.is_some_and(|end| holds(end, decide));
        if at.repetition + 1 < here.repeat && !ends(here.rules.until, decide) {
            return Some(place + 1);
        }
        // Where it goes after the last repetition of a step.
        let after = |at: &Position, choice: f64, decide: Decide<'_>| match self
            .repeats(at)
            .find(|(_, until)| !ends(*until, decide))
        {
            Some((again, _)) => Some(again),
            None => Some(self.layout.place(self.steps[usize::from(at.step)].next.choose_by(choice, decide)?, at)),
        };
        let mut to = match here.rules.switch.iter().find(|(condition, _)| holds(*condition, decide)) {
            Some((_, to)) => self.layout.place((*to)?, &at),
            None => after(&at, seed.at(Purpose::Length, session, step).uniform(), decide)?,
        };
        for skipped in 0..self.layout.steps.len() {
            let skips = self.skips(&at, to).into_iter().find(|(condition, _)| !holds(*condition, decide));
            let Some((_, over)) = skips else { return Some(to) };
            to = after(&over, rules::uniform(seed, session, step, u16::MAX - skipped as u16), decide)?;
        }
        None
    }

    /// The next repetitions of the blocks that end with this step, innermost first, each with its first place and the
    /// condition that ends the repetitions.
    fn repeats(&self, at: &Position) -> impl Iterator<Item = (u16, Option<Condition>)> {
        let inside = self.layout.inside[usize::from(at.step)].iter().zip(&at.blocks).enumerate().rev();
        let blocks =
            inside.map(|(depth, (number, repetition))| (depth, &self.blocks[usize::from(*number)], *repetition));
        let own = blocks.take_while(|(_, block, _)| block.last == at.step);
        own.filter(|(_, block, repetition)| repetition + 1 < block.repeat).map(|(depth, block, repetition)| {
            let mut blocks = at.blocks[..=depth].to_vec();
            blocks[depth] = repetition + 1;
            let begins = Position { step: block.first, blocks, repetition: 0 };
            (self.layout.place(block.first, &begins), block.until)
        })
    }

    /// The conditions of a session that comes from `from` to `place`: of the blocks that begin there, and of the step. If one does not hold,
    /// the session continues as after the position.
    fn skips(&self, from: &Position, place: u16) -> Vec<(Condition, Position)> {
        let to = self.layout.position(place);
        let inside = |position: &Position, depth: usize| {
            self.layout.inside[usize::from(position.step)]
                .get(depth)
                .map(|block| (*block, position.blocks[..depth].to_vec()))
        };
        let mut all = Vec::new();
        for (depth, (number, repetition)) in self.layout.inside[usize::from(to.step)].iter().zip(&to.blocks).enumerate()
        {
            let block = &self.blocks[usize::from(*number)];
            let enters = block.first == to.step && *repetition == 0 && inside(from, depth) != inside(&to, depth);
            if let (true, Some(condition)) = (enters, block.only_if) {
                let blocks = to.blocks[..depth].to_vec();
                all.push((condition, Position { step: block.last, blocks, repetition: 0 }));
            }
        }
        if let Some(condition) = self.steps[usize::from(to.step)].rules.only_if {
            all.push((condition, to));
        }
        all
    }

    /// The places that follow the last repetition of the step at `place` (`None`: the session leaves) with their expected probabilities.
    pub(super) fn ways(&self, place: u16) -> Vec<(Option<u16>, f64)> {
        let at = self.layout.position(place);
        let here = &self.steps[usize::from(at.step)];
        let (mut rest, mut open) = (1.0, Vec::new());
        for (condition, to) in &here.rules.switch {
            open.push((to.map(|to| self.layout.place(to, &at)), rest * condition.probability()));
            rest *= 1.0 - condition.probability();
        }
        self.ways_after(&at, rest, &mut open);
        let left = |open: &[(Option<u16>, f64)]| open.iter().map(|(_, probability)| probability).sum::<f64>();
        let mut all: Vec<(Option<u16>, f64)> = Vec::new();
        // A session that skips as many places as there are leaves, as in `next_in_flow`; what is left by then is negligible.
        for _ in 0..=self.layout.steps.len() {
            let mut skipped = Vec::new();
            for (to, mut probability) in open {
                for (condition, over) in to.map_or(Vec::new(), |to| self.skips(&at, to)) {
                    self.ways_after(&over, probability * (1.0 - condition.probability()), &mut skipped);
                    probability *= condition.probability();
                }
                add(&mut all, to, probability);
            }
            open = skipped;
            if left(&open) < NEGLIGIBLE {
                break;
            }
        }
        if left(&open) > 0.0 {
            add(&mut all, None, left(&open));
        }
        self.go_on(here.flow, all)
    }

    /// Adds the places after a position, reached with `probability`.
    fn ways_after(&self, at: &Position, mut probability: f64, ways: &mut Vec<(Option<u16>, f64)>) {
        for (again, until) in self.repeats(at) {
            let ends = until.map_or(0.0, Condition::probability);
            ways.push((Some(again), probability * (1.0 - ends)));
            probability *= ends;
            if until.is_none() {
                return;
            }
        }
        let next = self.steps[usize::from(at.step)].next.ways();
        ways.extend(next.map(|(to, share)| (to.map(|to| self.layout.place(to, at)), probability * share)));
    }

    /// The transitions of a session that leaves a flow: from its start to its visits, and from its visits to its end.
    fn go_on(&self, flow: u16, mut ways: Vec<(Option<u16>, f64)>) -> Vec<(Option<u16>, f64)> {
        let on = match (self.all[usize::from(flow)].once, self.used(Once::End)) {
            (Some(Once::Start), _) => self.entry.ways().collect(),
            (None, Some(end)) => vec![(Some(end.start), 1.0)],
            _ => return ways,
        };
        if let Some(leaves) = ways.iter().position(|(to, _)| to.is_none()) {
            let (_, probability) = ways.swap_remove(leaves);
            let first = |to: u16| self.layout.first[usize::from(to)];
            ways.extend(on.into_iter().map(|(to, share)| (to.map(first), probability * share)));
        }
        ways
    }
}

/// Adds a transition; transitions to the same place are combined.
fn add(ways: &mut Vec<(Option<u16>, f64)>, to: Option<u16>, probability: f64) {
    match ways.iter_mut().find(|(other, _)| *other == to) {
        Some((_, sum)) => *sum += probability,
        None => ways.push((to, probability)),
    }
}
