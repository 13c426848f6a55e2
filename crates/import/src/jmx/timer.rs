//! Timers: `JMeter` waits before a sampler for the sum of all timers in its scope.

use offered_distributions::Distribution;

use super::Reader;
use super::node::Node;
use crate::delay::Delay;

/// Script that `offered plan emulate --for jmeter` writes for exponential think times, before and after the mean.
const EXPONENTIAL: (&str, &str) =
    ("return Math.round(-", " * Math.log(1 - java.util.concurrent.ThreadLocalRandom.current().nextDouble()))");

impl Reader<'_, '_> {
    /// The delay of the timer `node`; `None` if it is not a timer with a known distribution.
    pub(super) fn timer(&mut self, node: &Node) -> Option<Delay> {
        let delay = match node.class() {
            "ConstantTimer" => Delay::constant(self.millis(node, "ConstantTimer.delay")),
            "UniformRandomTimer" => {
                let (offset, range) =
                    (self.millis(node, "ConstantTimer.delay"), self.millis(node, "RandomTimer.range"));
                let uniform =
                    Distribution::uniform(0.0, range).map_or_else(|_| Delay::default(), Delay::from_distribution);
                uniform.plus(&Delay::constant(offset))
            }
            "GaussianRandomTimer" => {
                let (offset, sdev) = (self.millis(node, "ConstantTimer.delay"), self.millis(node, "RandomTimer.range"));
                self.note(
                    node,
                    "a workload has no normal distribution; replaced by a gamma distribution with the same mean and variance",
                );
                Delay::folded_normal(offset, sdev)
            }
            "PoissonRandomTimer" => {
                let (offset, mean) = (self.millis(node, "ConstantTimer.delay"), self.millis(node, "RandomTimer.range"));
                // JMeter rounds the mean to whole milliseconds.
                let mean = (mean * 1e3).round() / 1e3;
                let poisson =
                    Distribution::poisson_millis(mean).map_or_else(|_| Delay::default(), Delay::from_distribution);
                self.note(
                    node,
                    "translated as JMeter implements it: the delay is a Poisson *count* of milliseconds, which is nearly constant and does not make arrivals Poisson; for Poisson arrivals use an exponential think time",
                );
                poisson.plus(&Delay::constant(offset))
            }
            "JSR223Timer" => {
                let script = node.element.text_of("script");
                let mean = script.strip_prefix(EXPONENTIAL.0)?.strip_suffix(EXPONENTIAL.1)?;
                Delay::from_distribution(Distribution::exponential(mean.parse::<f64>().ok()? / 1e3).ok()?)
            }
            _ => return None,
        };
        Some(delay)
    }

    /// Reads a property in milliseconds; returns seconds.
    fn millis(&mut self, node: &Node, property: &str) -> f64 {
        self.number(node, property, 0.0) / 1e3
    }
}
