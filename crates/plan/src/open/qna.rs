//! Open networks without product form, approximately: the Queueing Network Analyzer.
//!
//! Each station is solved as GI/G/m. Linear equations relate the variability of the arrivals at each station to that of
//! the departures of all stations. Source: Whitt 1983, The Queueing Network Analyzer, equations 24 to 26, 29, 44 and
//! 45; the correction for arrivals that are more regular than a Poisson process is that of Kraemer and Langenbach-Belz
//! 1976.

use crate::Error;
use crate::open::mmm::Mmm;
use crate::{Solution, Station, StationKind};

/// Maximum number of visits of a request.
const MAX_STEPS: f64 = 100_000.0;

/// Approximate solution at `rate` requests per second. `gaps_scv` is the squared coefficient of variation of the gaps, `scv` are
/// those of the service times of the `stations`.
///
/// # Errors
/// A station has a load of 1 or more, or a request makes more than 100,000 visits.
pub(crate) fn solve(stations: &[Station], scv: &[f64], gaps_scv: f64, rate: f64) -> Result<Solution, Error> {
    let flows = Flows::of(stations)?;
    let arrivals = arrivals_scv(stations, scv, gaps_scv, rate, &flows)?;
    let residence = |(k, station): (usize, &Station)| {
        let StationKind::Queue { servers } = station.kind else { return Ok(station.demand()) };
        let queue = Mmm::new(servers, station.service, rate * station.visits)?;
        let (arrivals, service, load) = (arrivals[k], scv[k], queue.load());
        let mut wait = (queue.response() - station.service) * f64::midpoint(arrivals, service);
        if servers == 1 && arrivals < 1.0 {
            let regular = (1.0 - arrivals) * (1.0 - arrivals) / (arrivals + service).max(1e-9);
            wait *= libm::exp(-2.0 * (1.0 - load) / (3.0 * load) * regular);
        }
        Ok(station.visits * (station.service + wait))
    };
    let residence = stations.iter().enumerate().map(residence).collect::<Result<Vec<f64>, Error>>()?;
    Ok(Solution::of(stations, rate, &residence, None))
}

/// Moves of a request between stations, in its mean number of them.
pub(crate) struct Flows {
    /// From outside to each station.
    pub(crate) entries: Vec<f64>,
    /// From each station (outer) to each station (inner).
    pub(crate) moves: Vec<Vec<f64>>,
}

impl Flows {
    /// The moves of a request that visits the stations in rounds: all once, then those with more visits again. A visit
    /// beyond the whole number below `visits` has the probability that yields the mean.
    pub(crate) fn of(stations: &[Station]) -> Result<Self, Error> {
        let steps: f64 = stations.iter().map(|station| station.visits.ceil()).sum();
        if steps > MAX_STEPS {
            return Err(Error::Unsupported(format!("a request makes up to {steps} visits, more than 100,000")));
        }
        let k = stations.len();
        let mut flows = Self { entries: vec![0.0; k], moves: vec![vec![0.0; k]; k] };
        // Probability that the last visit was at each station, or that there was none.
        let (mut last, mut outside) = (vec![0.0; k], 1.0);
        let rounds = stations.iter().map(|station| station.visits.ceil() as u32).max().unwrap_or(0);
        for round in 0..rounds {
            for (to, station) in stations.iter().enumerate() {
                let visited = (station.visits - f64::from(round)).clamp(0.0, 1.0);
                for (from, last) in last.iter_mut().enumerate() {
                    flows.moves[from][to] += *last * visited;
                    *last *= 1.0 - visited;
                }
                flows.entries[to] += outside * visited;
                outside *= 1.0 - visited;
                last[to] += visited;
            }
        }
        Ok(flows)
    }
}

/// Squared coefficients of variation of the gaps between arrivals at each station.
fn arrivals_scv(stations: &[Station], scv: &[f64], gaps_scv: f64, rate: f64, flows: &Flows) -> Result<Vec<f64>, Error> {
    let load = |station: &Station| rate / station.capacity(None);
    let servers = |station: &Station| match station.kind {
        StationKind::Queue { servers } => f64::from(servers),
        _ => 1.0,
    };
    // With c2 = constant + sum over i of factor[i] c2[i] at each station.
    let equation = |j: usize| {
        let to = &stations[j];
        let share = |moves: f64| moves / to.visits;
        let squares: f64 =
            share(flows.entries[j]).powi(2) + flows.moves.iter().map(|from| share(from[j]).powi(2)).sum::<f64>();
        let weight = 1.0 / (1.0 + 4.0 * (1.0 - load(to)).powi(2) * (1.0 / squares - 1.0));
        // Requests from outside that come here first are a random part of all.
        let entering = flows.entries[j] * gaps_scv + 1.0 - flows.entries[j];
        let mut constant = 1.0 + weight * (share(flows.entries[j]) * entering - 1.0);
        let mut factors = vec![0.0; stations.len()];
        for (i, from) in stations.iter().enumerate() {
            let (share, goes, load) = (share(flows.moves[i][j]), flows.moves[i][j] / from.visits, load(from));
            let service = 1.0 + (scv[i].max(0.2) - 1.0) / servers(from).sqrt();
            constant += weight * share * (1.0 - goes + goes * load * load * service);
            factors[i] = weight * share * goes * (1.0 - load * load);
        }
        (constant, factors)
    };
    let equations: Vec<(f64, Vec<f64>)> = (0..stations.len()).map(equation).collect();
    let mut found = vec![1.0; stations.len()];
    // The factors of an equation add up to less than 1, so the iteration converges.
    for _ in 0..10_000 {
        let next: Vec<f64> = equations
            .iter()
            .map(|(constant, factors)| {
                constant + factors.iter().zip(&found).map(|(factor, c2)| factor * c2).sum::<f64>()
            })
            .collect();
        let moved = next.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        found = next;
        if moved < 1e-12 {
            return Ok(found);
        }
    }
    Err(Error::NotConverged { steps: 10_000, tolerance: 1e-12 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jackson;

    fn station(visits: f64, service: f64, servers: u32) -> Station {
        Station::new("", visits, service, StationKind::Queue { servers }).unwrap()
    }

    /// With exponential service and Poisson arrivals the approximation is exact.
    #[test]
    fn product_form_is_met() {
        let stations = [station(1.0, 0.01, 1), station(2.5, 0.02, 4), station(0.3, 0.1, 4)];
        let (found, truth) =
            (solve(&stations, &[1.0; 3], 1.0, 50.0).unwrap(), jackson::solve(&stations, 50.0).unwrap());
        assert!((found.response / truth.response - 1.0).abs() < 1e-9, "{found:?}");
        let flows = Flows::of(&stations).unwrap();
        let into = |j: usize| flows.entries[j] + flows.moves.iter().map(|from| from[j]).sum::<f64>();
        for (j, station) in stations.iter().enumerate() {
            assert!((into(j) - station.visits).abs() < 1e-12, "{:?} {:?}", flows.entries, flows.moves);
        }
    }

    /// A constant service makes the next station's arrivals regular; the larger the load, the more so.
    #[test]
    fn a_series_smooths_its_arrivals() {
        let stations = [station(1.0, 0.01, 1), station(1.0, 0.008, 1)];
        let scv =
            |rate: f64| arrivals_scv(&stations, &[0.0, 1.0], 1.0, rate, &Flows::of(&stations).unwrap()).unwrap()[1];
        // Marshall: c2 = 1 - load^2 for M/D/1; the largest smoothing that Whitt allows is that of scv 0.2.
        assert!((scv(50.0) - (1.0 - 0.25 * 0.8)).abs() < 1e-12 && scv(95.0) < scv(50.0), "{}", scv(50.0));
    }
}
