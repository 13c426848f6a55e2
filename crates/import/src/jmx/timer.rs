//! Timers: what `JMeter` waits before a sampler, the sum of all timers in its scope.

use offered_model::Law;

use super::Reader;
use super::node::Node;
use crate::delay::Delay;

/// What `offered plan emulate --for jmeter` writes for exponential think times, before and after their mean.
const EXPONENTIAL: (&str, &str) =
    ("return Math.round(-", " * Math.log(1 - java.util.concurrent.ThreadLocalRandom.current().nextDouble()))");

impl Reader<'_, '_> {
    /// What the timer `node` adds; `None`: it is no timer that can be said as a law.
    pub(super) fn timer(&mut self, node: &Node) -> Option<Delay> {
        let delay = match node.class() {
            "ConstantTimer" => Delay::constant(self.millis(node, "ConstantTimer.delay")),
            "UniformRandomTimer" => {
                let (offset, range) =
                    (self.millis(node, "ConstantTimer.delay"), self.millis(node, "RandomTimer.range"));
                let uniform = Law::uniform(0.0, range).map_or_else(|_| Delay::default(), Delay::from_distribution);
                uniform.plus(&Delay::constant(offset))
            }
            "GaussianRandomTimer" => {
                let (offset, sdev) = (self.millis(node, "ConstantTimer.delay"), self.millis(node, "RandomTimer.range"));
                self.note(
                    node,
                    "a normal law is none of a workload's: a gamma law of the same mean and variance instead",
                );
                Delay::folded_normal(offset, sdev)
            }
            "PoissonRandomTimer" => {
                let (offset, mean) = (self.millis(node, "ConstantTimer.delay"), self.millis(node, "RandomTimer.range"));
                // JMeter rounds the mean to whole milliseconds.
                let mean = (mean * 1e3).round() / 1e3;
                let poisson = Law::poisson_millis(mean).map_or_else(|_| Delay::default(), Delay::from_distribution);
                self.note(
                    node,
                    "translated as JMeter draws it: a Poisson *count* of milliseconds, nearly constant, which does not make arrivals Poisson; for that write exponential",
                );
                poisson.plus(&Delay::constant(offset))
            }
            "JSR223Timer" => {
                let script = node.element.text_of("script");
                let mean = script.strip_prefix(EXPONENTIAL.0)?.strip_suffix(EXPONENTIAL.1)?;
                Delay::from_distribution(Law::exponential(mean.parse::<f64>().ok()? / 1e3).ok()?)
            }
            _ => return None,
        };
        Some(delay)
    }

    /// A property in milliseconds, as seconds.
    fn millis(&mut self, node: &Node, property: &str) -> f64 {
        self.number(node, property, 0.0) / 1e3
    }
}
