//! Networks with several classes of users, each with its own think time and its own demands.
//!
//! At an FCFS station, product form needs the same service distribution for every class; under processor sharing there
//! is no such condition (BCMP 1975). Stations are single servers; a delay is part of the think time.

use crate::Error;
use crate::error::{not_negative, positive, some};

/// One class of users.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Name of the class in tables.
    pub name: String,
    /// N, number of users.
    pub users: u64,
    /// Z, mean think time, seconds.
    pub think: f64,
    /// D at each station in turn, seconds; zero at a station that the class does not visit.
    pub demands: Vec<f64>,
}

/// Throughput of each class, and its residence time at each station.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// X of each class, per second.
    pub throughput: Vec<f64>,
    /// Residence time of each class (outer) at each station (inner), seconds.
    pub residence: Vec<Vec<f64>>,
}

impl Solution {
    /// R, response time of class `c`, seconds.
    pub fn response(&self, c: usize) -> f64 {
        self.residence[c].iter().sum()
    }
}

/// Exact solution by the vector recursion of Reiser and Lavenberg (1980), with at most `budget` population vectors.
///
/// # Errors
/// There are no classes, a class has no users, the numbers of demands differ, a time is negative, or there are more
/// than `budget` vectors.
pub fn exact(classes: &[Class], budget: usize) -> Result<Solution, Error> {
    let stations = check(classes)?;
    let states: f64 = classes.iter().map(|c| c.users as f64 + 1.0).product();
    if states > budget as f64 {
        return Err(Error::TooManyStates { states, budget });
    }
    // The population vector as a mixed-radix number: class c counts in steps of stride[c].
    let stride: Vec<usize> = classes
        .iter()
        .scan(1, |product, class| {
            let stride = *product;
            *product *= class.users as usize + 1;
            Some(stride)
        })
        .collect();
    let mut queue = vec![0.0; states as usize * stations];
    let mut solution = Solution { throughput: vec![0.0; classes.len()], residence: vec![vec![]; classes.len()] };
    for state in 1..states as usize {
        for (c, class) in classes.iter().enumerate() {
            let n = state / stride[c] % (class.users as usize + 1);
            if n == 0 {
                continue;
            }
            let seen = &queue[(state - stride[c]) * stations..][..stations];
            let residence = residence(class, seen);
            let throughput = n as f64 / (class.think + residence.iter().sum::<f64>());
            for (k, r) in residence.iter().enumerate() {
                queue[state * stations + k] += throughput * r;
            }
            (solution.throughput[c], solution.residence[c]) = (throughput, residence);
        }
    }
    Ok(solution)
}

/// Bard-Schweitzer approximation, iterated until the relative change is below `tolerance`.
///
/// # Errors
/// As [`exact`], without the budget; also an iteration that does not converge.
pub fn schweitzer(classes: &[Class], tolerance: f64) -> Result<Solution, Error> {
    const MAX_STEPS: usize = 100_000;
    let stations = check(classes)?;
    positive("the tolerance", tolerance)?;
    let mut queue: Vec<Vec<f64>> = classes.iter().map(|c| vec![c.users as f64 / stations as f64; stations]).collect();
    for _ in 0..MAX_STEPS {
        let mut solution = Solution { throughput: vec![], residence: vec![] };
        for (c, class) in classes.iter().enumerate() {
            let n = class.users as f64;
            let seen: Vec<f64> = (0..stations)
                .map(|k| queue.iter().enumerate().map(|(o, q)| if o == c { q[k] * (n - 1.0) / n } else { q[k] }).sum())
                .collect();
            let residence = residence(class, &seen);
            solution.throughput.push(n / (class.think + residence.iter().sum::<f64>()));
            solution.residence.push(residence);
        }
        let mut moved: f64 = 0.0;
        for (c, class) in classes.iter().enumerate() {
            for (queue, residence) in queue[c].iter_mut().zip(&solution.residence[c]) {
                let q = solution.throughput[c] * residence;
                moved = moved.max((q - *queue).abs() / class.users as f64);
                *queue = q;
            }
        }
        if moved < tolerance {
            return Ok(solution);
        }
    }
    Err(Error::NotConverged { steps: MAX_STEPS, tolerance })
}

/// R = D (1 + Q), with Q the queue that an arrival finds.
fn residence(class: &Class, seen: &[f64]) -> Vec<f64> {
    class.demands.iter().zip(seen).map(|(demand, queue)| demand * (1.0 + queue)).collect()
}

/// Checks the classes and returns the number of stations.
fn check(classes: &[Class]) -> Result<usize, Error> {
    let stations = classes.first().ok_or(Error::Empty { what: "classes" })?.demands.len();
    for class in classes {
        some("the number of users of a class", class.users)?;
        not_negative("the think time of a class", class.think)?;
        if class.demands.len() != stations {
            return Err(Error::Unsupported(format!(
                "class `{}` has {} demands for {} stations; give one per station, 0 for a station that it does not visit",
                class.name,
                class.demands.len(),
                stations
            )));
        }
        for demand in &class.demands {
            not_negative("a demand", *demand)?;
        }
        positive("the total demand of a class", class.demands.iter().sum())?;
    }
    Ok(stations)
}
