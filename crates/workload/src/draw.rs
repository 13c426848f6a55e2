//! Random numbers in data: texts drawn from a distribution.

use offered_base::random::{Purpose, Seed};
use offered_distributions::{Distribution, Shape};

/// Numbers drawn from a distribution, as texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// The distribution, of plain numbers.
    pub distribution: Distribution,
    /// A number added to each sample, for ranges below zero; samples of a distribution are never negative.
    pub shift: f64,
    /// Number of decimals, at most 9.
    pub decimals: u8,
    /// The smallest number; smaller samples become this number.
    pub min: Option<f64>,
}

impl Draw {
    /// The text drawn for variable number `variable`. With a uniform distribution, all numbers with these decimals
    /// between the ends, inclusive, are equally likely.
    pub fn text(&self, seed: Seed, variable: u16, session: u64, step: u32) -> String {
        let mut stream = data(seed, variable, session, step);
        let decimals = usize::from(self.decimals);
        let number = match *self.distribution.shape() {
            Shape::Uniform(low, high) => {
                let unit = 1.0 / 10u64.pow(u32::from(self.decimals)) as f64;
                let numbers = ((high - low) / unit).round() as u64 + 1;
                low + unit * stream.below(numbers) as f64
            }
            _ => self.distribution.sample(&mut stream),
        };
        let number = number + self.shift;
        format!("{:.decimals$}", self.min.map_or(number, |min| number.max(min)))
    }
}

/// The stream of random numbers that data variable number `variable` has for a request.
pub fn data(seed: Seed, variable: u16, session: u64, step: u32) -> offered_base::random::Stream {
    // Each variable has its own seed; otherwise two UUIDs of one request would be equal.
    let own = Seed(seed.0.wrapping_add((u64::from(variable) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    own.at(Purpose::Data, session, step)
}
