//! Load-dependent service rates.

use std::fmt;

use offered_base::InvalidValue;
use offered_base::time::written_number;

/// Total service rate of a server by the number of requests present, in units of a server of speed 1: mu(n).
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    law: Law,
    /// The largest number of requests that changes the rate; with more requests the rate stays the same.
    most: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Law {
    /// mu(1), mu(2), ...; the last entry holds for all larger numbers.
    Table(Vec<f64>),
    /// n / (1 + contention (n - 1) + coherency n (n - 1)).
    Scalability { contention: f64, coherency: f64 },
    /// min(n, servers).
    Servers(u32),
}

impl Rates {
    /// The message that an open system has no steady state with rates that fall towards zero.
    pub const NO_STEADY_STATE: &str = "the service rate falls towards zero as requests queue (`coherency` above 0), so an open system has no steady \
                                       state at any rate; limit the number of requests with `capacity`, or the discipline to ps:N";

    /// mu(1), mu(2), ...; the last entry holds for all larger numbers.
    ///
    /// # Errors
    /// There is no entry, or one is not above zero.
    pub fn table(rates: Vec<f64>) -> Result<Self, InvalidValue> {
        let most = rates.len() as u64;
        match rates.iter().find(|rate| !(rate.is_finite() && **rate > 0.0)) {
            Some(rate) => Err(InvalidValue::new(format!("a service rate must be a number above zero, not {rate}"))),
            None if rates.is_empty() => Err(InvalidValue::new("has no rates; write for example rates = [1, 1.8, 2.4]")),
            None => Ok(Self { law: Law::Table(rates), most }),
        }
    }

    /// The Universal Scalability Law, mu(n) = n / (1 + contention (n - 1) + coherency n (n - 1)).
    ///
    /// Source: Gunther 2007, Guerrilla Capacity Planning, chapter 4.
    ///
    /// # Errors
    /// A coefficient is negative or not a number.
    pub fn scalability(contention: f64, coherency: f64) -> Result<Self, InvalidValue> {
        for (name, value) in [("contention", contention), ("coherency", coherency)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(InvalidValue::new(format!("{name} must be zero or more, not {value}")));
            }
        }
        Ok(Self { law: Law::Scalability { contention, coherency }, most: u64::MAX })
    }

    /// Equal servers: mu(n) = min(n, servers).
    pub fn servers(servers: u32) -> Self {
        Self { law: Law::Servers(servers), most: u64::from(servers) }
    }

    /// These rates if at most `most` requests are served at once: mu(min(n, most)).
    #[must_use]
    pub fn up_to(self, most: u64) -> Self {
        Self { most: self.most.min(most), ..self }
    }

    /// The total service rate mu(n) with `n` requests present; 0 without requests.
    pub fn at(&self, n: u64) -> f64 {
        let n = n.min(self.most);
        match &self.law {
            _ if n == 0 => 0.0,
            Law::Table(rates) => rates[n as usize - 1],
            Law::Scalability { contention, coherency } => {
                let (n, more) = (n as f64, (n - 1) as f64);
                n / (1.0 + contention * more + coherency * n * more)
            }
            Law::Servers(servers) => n.min(u64::from(*servers)) as f64,
        }
    }

    /// The number of requests from which the rate is constant; `None`: it always changes.
    pub fn constant_from(&self) -> Option<u64> {
        (self.most < u64::MAX).then_some(self.most)
    }

    /// The rate that the server sustains: with at most `most` requests present the largest rate, otherwise the limit of
    /// mu(n) as n grows. It may be 0 or infinite. For equal servers it is their number.
    pub fn lasting(&self, most: Option<u64>) -> f64 {
        match (&self.law, most) {
            (Law::Scalability { contention, coherency }, None) if self.most == u64::MAX => {
                if *coherency > 0.0 {
                    0.0
                } else {
                    1.0 / contention
                }
            }
            (_, None) | (Law::Servers(_), _) => self.at(self.most),
            (Law::Table(rates), Some(most)) => {
                let most = most.min(self.most).max(1) as usize;
                rates[..most].iter().copied().fold(0.0, f64::max)
            }
            (Law::Scalability { contention, coherency }, Some(most)) => {
                // The law has its maximum at the root of (1 - contention) / coherency.
                let peak = ((1.0 - contention).max(0.0) / coherency).sqrt() as u64;
                let most = most.max(1);
                [peak, peak.saturating_add(1)].map(|n| self.at(n.clamp(1, most))).into_iter().fold(0.0, f64::max)
            }
        }
    }
}

/// As a workload file writes it.
impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.law {
            Law::Table(rates) => {
                let rates: Vec<String> = rates.iter().map(|rate| written_number(*rate)).collect();
                write!(f, "[{}]", rates.join(", "))
            }
            Law::Scalability { contention, coherency } => {
                let [contention, coherency] = [contention, coherency].map(|value| written_number(*value));
                write!(f, "{{ contention = {contention}, coherency = {coherency} }}")
            }
            Law::Servers(servers) => write!(f, "{servers}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entry_goes_on() {
        let rates = Rates::table(vec![1.0, 3.0, 2.0]).unwrap();
        assert_eq!([0, 1, 2, 3, 4, 1000].map(|n| rates.at(n)), [0.0, 1.0, 3.0, 2.0, 2.0, 2.0]);
        assert_eq!([None, Some(1), Some(2), Some(9)].map(|most| rates.lasting(most)), [2.0, 1.0, 3.0, 3.0]);
        let two = rates.up_to(2);
        assert_eq!((two.at(7), two.lasting(None), two.constant_from()), (3.0, 3.0, Some(2)));
    }

    #[test]
    fn the_law_without_coefficients_is_a_server_for_each_request() {
        let linear = Rates::scalability(0.0, 0.0).unwrap();
        assert_eq!((linear.at(17), linear.lasting(None), linear.lasting(Some(5))), (17.0, f64::INFINITY, 5.0));
        let amdahl = Rates::scalability(0.25, 0.0).unwrap();
        assert_eq!((amdahl.lasting(None), amdahl.constant_from()), (4.0, None));
        assert_eq!(Rates::servers(4).at(9), 4.0);
    }

    #[test]
    fn the_law_has_a_peak_and_falls() {
        let law = Rates::scalability(0.05, 0.002).unwrap();
        let best = (1..=100).map(|n| law.at(n)).fold(0.0, f64::max);
        assert_eq!((law.lasting(Some(100)), law.lasting(None)), (best, 0.0));
        assert_eq!(law.lasting(Some(7)), law.at(7));
        assert_eq!(law.up_to(16).lasting(None), Rates::scalability(0.05, 0.002).unwrap().at(16));
    }

    #[test]
    fn senseless_rates_are_refused() {
        let errors = [Rates::table(vec![]), Rates::table(vec![1.0, 0.0]), Rates::scalability(-0.1, 0.0)];
        for (error, why) in errors.into_iter().zip(["[1, 1.8, 2.4]", "above zero, not 0", "zero or more, not -0.1"]) {
            assert!(error.unwrap_err().to_string().contains(why));
        }
    }
}
