//! Markov chains whose states form levels, with transitions only within a level and to the levels directly above and
//! below.
//!
//! Here a level is the number of requests at the server, a step up is an arriving request, and the states of a level
//! are the phases of the service. Such a chain is a finite, level-dependent quasi-birth-death process. It is solved
//! from its most likely level outward: subtraction-free elimination ([`crate::matrix`]) censors all levels below and
//! above, one by one. The probabilities then decrease on both sides, so they neither overflow nor lose digits. Sparse
//! LU factorisation and iterated R matrices do not have this property at high load.
//!
//! Source of the censoring: Latouche and Ramaswami 1999, chapter 10; of the elimination: Grassmann, Taksar and Heyman
//! 1985.

use crate::matrix::{Eliminated, Matrix};

/// Rates out of one level with d states: `down` is d x (states below), `local` is d x d, `up` is d x (states above).
pub(crate) struct Level {
    pub(crate) down: Matrix,
    pub(crate) local: Matrix,
    pub(crate) up: Matrix,
}

/// A solved chain.
pub(crate) struct Levels {
    rates: Vec<Level>,
    /// The level where the sweep from below and the sweep from above meet.
    centre: usize,
    /// Below the centre: the elimination of the level and all levels below it. Above the centre: the elimination of the
    /// level and all levels above it.
    towards_centre: Vec<Eliminated>,
    /// Stationary probabilities by level and state. They sum to 1.
    pub(crate) p: Vec<Vec<f64>>,
}

impl Levels {
    /// Solves a chain; `centre` is a level with a high probability. The first level's `down` and the last level's `up`
    /// have no columns.
    pub(crate) fn solve(levels: Vec<Level>, centre: usize) -> Self {
        let last = levels.len() - 1;
        let mut censored: Vec<Option<Eliminated>> = levels.iter().map(|_| None).collect();
        let mut sojourns: Vec<Option<Matrix>> = levels.iter().map(|_| None).collect();
        // A visit to a neighbouring level and back: rates there x times there x rates back.
        let detour = |n: usize, via: usize, sojourns: &[Option<Matrix>]| {
            let (there, back) =
                if via < n { (&levels[n].down, &levels[via].up) } else { (&levels[n].up, &levels[via].down) };
            there.times(sojourns[via].as_ref().expect("swept towards the centre")).times(back)
        };
        for n in (0..centre).chain((centre + 1..=last).rev()) {
            let (outer, out) = if n < centre {
                (n.checked_sub(1), levels[n].up.row_sums())
            } else {
                (Some(n + 1).filter(|o| *o <= last), levels[n].down.row_sums())
            };
            let mut between = levels[n].local.clone();
            if let Some(outer) = outer {
                between = between.plus(&detour(n, outer, &sojourns));
            }
            let eliminated = Eliminated::new(between, out);
            sojourns[n] = Some(eliminated.sojourns());
            censored[n] = Some(eliminated);
        }
        let mut between = levels[centre].local.clone();
        for via in [centre.checked_sub(1), Some(centre + 1).filter(|n| *n <= last)].into_iter().flatten() {
            between = between.plus(&detour(centre, via, &sojourns));
        }
        let none_out = vec![0.0; between.rows];
        let middle = Eliminated::new(between, none_out);

        let mut p: Vec<Vec<f64>> = levels.iter().map(|_| vec![]).collect();
        p[centre] = middle.stationary();
        censored[centre] = Some(middle);
        for n in (0..centre).rev() {
            p[n] = sojourns[n].as_ref().expect("swept").under(&levels[n + 1].down.under(&p[n + 1]));
        }
        for n in centre + 1..=last {
            p[n] = sojourns[n].as_ref().expect("swept").under(&levels[n - 1].up.under(&p[n - 1]));
        }
        let total: f64 = p.iter().flatten().sum();
        p.iter_mut().flatten().for_each(|p| *p /= total);
        let towards_centre = censored.into_iter().map(|c| c.expect("every level was censored")).collect();
        Self { rates: levels, centre, towards_centre, p }
    }

    /// Mean level.
    pub(crate) fn mean(&self) -> f64 {
        self.p.iter().enumerate().map(|(n, p)| n as f64 * p.iter().sum::<f64>()).sum()
    }

    /// P(level 0).
    pub(crate) fn empty(&self) -> f64 {
        self.p[0].iter().sum()
    }

    /// Rate of steps up from each state of level `n`.
    fn rates_up(&self, n: usize) -> Vec<f64> {
        self.rates[n].up.row_sums()
    }

    /// Steps up per second.
    pub(crate) fn rate(&self) -> f64 {
        (0..self.rates.len()).map(|n| dot(&self.p[n], &self.rates_up(n))).sum()
    }

    /// Expected total of `reward(level)`, a rate of gain in each state, until the next step up, by starting state.
    pub(crate) fn until_up(&self, reward: impl Fn(usize) -> Vec<f64>) -> Vec<Vec<f64>> {
        let mut found: Vec<Vec<f64>> = Vec::with_capacity(self.rates.len());
        for (n, level) in self.rates.iter().enumerate() {
            let mut gain = reward(n);
            let mut out = level.up.row_sums();
            if let Some(below) = found.last() {
                gain.iter_mut().zip(level.down.on(below)).for_each(|(gain, later)| *gain += later);
                out.iter_mut().zip(level.down.row_sums()).for_each(|(out, down)| *out += down);
            }
            found.push(Eliminated::new(level.local.clone(), out).until_out(&gain));
        }
        found
    }

    /// For each state of level `n`: its rates of stepping up times `value` in the level above.
    pub(crate) fn after_up(&self, n: usize, value: &[Vec<f64>]) -> Vec<f64> {
        match value.get(n + 1) {
            Some(above) => self.rates[n].up.on(above),
            None => vec![0.0; self.p[n].len()],
        }
    }

    /// The solution y of -Q y = (rate up) - (its mean), with mean 0: the expected surplus of steps up over the average,
    /// from each state.
    pub(crate) fn surplus(&self) -> Vec<Vec<f64>> {
        let mean = self.rate();
        let last = self.rates.len() - 1;
        let mut gain: Vec<Vec<f64>> =
            (0..=last).map(|n| self.rates_up(n).iter().map(|rate| rate - mean).collect()).collect();
        // Inward: the gain on the way to the centre.
        let mut y: Vec<Vec<f64>> = vec![vec![]; last + 1];
        let sum = |gain: &mut Vec<f64>, more: Vec<f64>| gain.iter_mut().zip(more).for_each(|(g, m)| *g += m);
        for n in (0..self.centre).chain((self.centre + 1..=last).rev()) {
            y[n] = self.towards_centre[n].until_out(&gain[n]);
            if n < self.centre {
                let more = self.rates[n + 1].down.on(&y[n]);
                sum(&mut gain[n + 1], more);
            } else {
                let more = self.rates[n - 1].up.on(&y[n]);
                sum(&mut gain[n - 1], more);
            }
        }
        // Outward: the gain after arriving there.
        y[self.centre] = self.towards_centre[self.centre].until_out(&gain[self.centre]);
        for n in (0..self.centre).rev() {
            let then = self.towards_centre[n].until_out(&self.rates[n].up.on(&y[n + 1]));
            sum(&mut y[n], then);
        }
        for n in self.centre + 1..=last {
            let then = self.towards_centre[n].until_out(&self.rates[n].down.on(&y[n - 1]));
            sum(&mut y[n], then);
        }
        let mean: f64 = y.iter().zip(&self.p).map(|(y, p)| dot(y, p)).sum();
        y.iter_mut().flatten().for_each(|y| *y -= mean);
        y
    }
}

/// Dot product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
