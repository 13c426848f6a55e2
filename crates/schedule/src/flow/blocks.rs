//! Blocks: steps that are repeated together, and the positions of their repetitions.
//!
//! Each repetition of a block has places of its own, so the place of a session identifies its repetition of each block.
//! The places of a repetition are in the same order, so a place is a number with mixed radix: its distance from the
//! first place of its step is the sum of (repetition x places of one repetition) over the blocks around the step, plus
//! the repetition of the step itself.

use offered_base::InvalidValue;

use super::{Condition, Flow, Step};

/// Steps that are repeated together.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The first step, an index in the steps of all flows.
    pub first: u16,
    /// The last step. It is followed by the first step again, or by the `next` of the last step.
    pub last: u16,
    /// Number of repetitions, at least 1.
    pub repeat: u16,
    /// A session makes the block only if this condition holds when it reaches the first step; otherwise it continues
    /// after the block.
    pub only_if: Option<Condition>,
    /// The repetitions end as soon as this condition holds.
    pub until: Option<Condition>,
}

impl Block {
    fn has(&self, step: u16) -> bool {
        (self.first..=self.last).contains(&step)
    }
}

/// The places of steps and blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// The step of each place.
    pub(super) steps: Vec<u16>,
    /// The first place of each step.
    pub(super) first: Vec<u16>,
    /// Number of places in one repetition of each block.
    sizes: Vec<u16>,
    /// The blocks around each step, outermost first.
    pub(super) inside: Vec<Vec<u16>>,
}

/// A place: its step, the repetition of each block around it (outermost first), and that of the step itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Position {
    pub(super) step: u16,
    pub(super) blocks: Vec<u16>,
    pub(super) repetition: u16,
}

impl Layout {
    /// The places of these steps; blocks are ordered by their first step, and outer ones are before inner ones.
    ///
    /// # Errors
    /// More than 65,535 places.
    pub(super) fn new(steps: &[Step], blocks: &[Block]) -> Result<Self, InvalidValue> {
        let around = |step: u16| (0u16..).zip(blocks).filter(|(_, block)| block.has(step)).map(|(n, _)| n).collect();
        let mut layout = Self {
            steps: Vec::new(),
            first: Vec::with_capacity(steps.len()),
            sizes: vec![0; blocks.len()],
            inside: (0..steps.len()).map(|step| around(step as u16)).collect(),
        };
        layout.lay(steps, blocks, 0..steps.len() as u16, 0..blocks.len())?;
        Ok(layout)
    }

    /// Appends the places of these steps, which contain these blocks.
    fn lay(
        &mut self,
        steps: &[Step],
        blocks: &[Block],
        range: std::ops::Range<u16>,
        own: std::ops::Range<usize>,
    ) -> Result<(), InvalidValue> {
        let (mut step, mut next) = (range.start, own.start);
        while step < range.end {
            let Some(block) = blocks[next..own.end].first().filter(|block| block.first == step) else {
                if self.first.len() == usize::from(step) {
                    self.first.push(self.steps.len() as u16);
                }
                self.steps.extend(std::iter::repeat_n(step, usize::from(steps[usize::from(step)].repeat)));
                if self.steps.len() > usize::from(u16::MAX) {
                    return Err(InvalidValue::new(
                        "the flows have more than 65535 requests, repeats included; use fewer repeats",
                    ));
                }
                step += 1;
                continue;
            };
            let inner =
                next + 1 + blocks[next + 1..own.end].iter().take_while(|inner| inner.first <= block.last).count();
            for _ in 0..block.repeat {
                let before = self.steps.len();
                self.lay(steps, blocks, block.first..block.last + 1, next + 1..inner)?;
                self.sizes[next] = (self.steps.len() - before) as u16;
            }
            (step, next) = (block.last + 1, inner);
        }
        Ok(())
    }

    /// The step of a place, and the repetitions in which it is.
    pub(super) fn position(&self, place: u16) -> Position {
        let step = self.steps[usize::from(place)];
        let mut rest = place - self.first[usize::from(step)];
        let inside = self.inside[usize::from(step)].iter();
        let blocks = inside.map(|block| {
            let size = self.sizes[usize::from(*block)];
            let repetition = rest / size;
            rest %= size;
            repetition
        });
        Position { step, blocks: blocks.collect(), repetition: rest }
    }

    /// The first place of step `to` for a session at `from`: in the same repetition of the blocks around both.
    pub(super) fn place(&self, to: u16, from: &Position) -> u16 {
        let (inside, others) = (&self.inside[usize::from(to)], &self.inside[usize::from(from.step)]);
        let common = inside.iter().zip(others).zip(&from.blocks).take_while(|((block, other), _)| block == other);
        let offset: u16 = common.map(|((block, _), repetition)| repetition * self.sizes[usize::from(*block)]).sum();
        self.first[usize::from(to)] + offset
    }
}

/// Checks that the blocks are ordered, nested or apart, and within a flow.
///
/// # Errors
/// They are not, or a block without repetitions.
pub(super) fn check(flows: &[Flow], steps: &[Step], blocks: &[Block]) -> Result<(), InvalidValue> {
    let wrong = |what: &str| Err(InvalidValue::new(what));
    for (number, block) in blocks.iter().enumerate() {
        let Block { first, last, repeat, .. } = *block;
        if first > last || usize::from(last) >= steps.len() {
            return wrong("a block has at least one step");
        }
        if repeat == 0 {
            return wrong("a block is repeated at least once");
        }
        if steps[usize::from(first)].flow != steps[usize::from(last)].flow {
            return wrong("a block is within one flow");
        }
        if block.only_if.is_some() && flows.iter().any(|flow| flow.start == first) {
            return wrong(
                "a flow begins with a block that has a condition, before any response; put `if` on a later one",
            );
        }
        let fits = |outer: &Block| first > outer.last || (first >= outer.first && last <= outer.last);
        if !blocks[..number].iter().all(fits) {
            return wrong("blocks must be ordered; two blocks must be nested or disjoint");
        }
    }
    Ok(())
}
