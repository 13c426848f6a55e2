//! M/D/1 under FCFS: Poisson arrivals, constant service, one server.
//!
//! Source: Franx 2001, A simple solution for the M/D/c waiting time distribution. All terms are positive.

/// The queue in steady state.
pub(crate) struct Md1 {
    service: f64,
    rate: f64,
    /// P(at most i requests wait), up to the first i for which it rounds to 1.
    waiting: Vec<f64>,
}

impl Md1 {
    /// The queue with constant service time `service` in seconds and `rate` requests per second, at a load below 1.
    pub(crate) fn new(service: f64, rate: f64) -> Self {
        let load = service * rate;
        // P(k arrivals during a service), then P(more than k).
        let none = libm::exp(-load);
        let mut more = vec![none];
        while more[more.len() - 1] > 1e-20 {
            more.push(more[more.len() - 1] * load / more.len() as f64);
        }
        let mut above = 0.0;
        for exactly in more.iter_mut().rev() {
            above += std::mem::replace(exactly, above);
        }
        // P(n in the system), by balance between n and n + 1 at departures.
        let mut found = vec![1.0 - load];
        let (mut total, mut waiting) = (1.0 - load, Vec::new());
        while 1.0 - total > 1e-14 && found.len() < 100_000 {
            let n = found.len() - 1;
            let arrives = |k: usize| more.get(k).copied().unwrap_or(0.0);
            let first = n.saturating_sub(more.len()).max(1);
            let up = (first..=n).map(|j| found[j] * arrives(n + 1 - j)).sum::<f64>() + found[0] * arrives(n);
            found.push(up / none);
            total += up / none;
            waiting.push(total);
        }
        Self { service, rate, waiting }
    }

    /// P(R > t).
    pub(crate) fn tail(&self, t: f64) -> f64 {
        let wait = t - self.service;
        if wait < 0.0 {
            return 1.0;
        }
        let whole = libm::floor(wait / self.service) as usize + 1;
        let mean = self.rate * (whole as f64 * self.service - wait);
        let (mut sum, mut weight) = (0.0, libm::exp(-mean));
        for j in 0..whole {
            sum += weight * self.waiting.get(whole - 1 - j).copied().unwrap_or(1.0);
            weight *= mean / (j + 1) as f64;
            if weight < 1e-18 {
                break;
            }
        }
        1.0 - sum
    }
}
