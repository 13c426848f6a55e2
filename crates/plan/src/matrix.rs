//! Small dense matrices of rates, and elimination without subtraction.
//!
//! The generator of a Markov chain is stored as its off-diagonal rates and the rate out of the set of states, both
//! non-negative. The diagonal is never stored. Grassmann, Taksar and Heyman (1985) eliminate states by adding and
//! multiplying only, so every result has nearly full relative precision, however small a probability is.

/// A dense matrix in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    at: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zero(rows: usize, cols: usize) -> Self {
        Self { rows, cols, at: vec![0.0; rows * cols] }
    }

    pub(crate) fn diagonal(values: &[f64]) -> Self {
        let mut matrix = Self::zero(values.len(), values.len());
        for (i, value) in values.iter().enumerate() {
            *matrix.of(i, i) = *value;
        }
        matrix
    }

    pub(crate) fn get(&self, i: usize, j: usize) -> f64 {
        self.at[i * self.cols + j]
    }

    pub(crate) fn of(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.at[i * self.cols + j]
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.at[i * self.cols..][..self.cols]
    }

    fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.at[i * self.cols..][..self.cols]
    }

    /// Row `i`, and row `j` mutably. `i` and `j` must differ.
    fn rows(&mut self, i: usize, j: usize) -> (&[f64], &mut [f64]) {
        let cols = self.cols;
        let (before, behind) = self.at.split_at_mut(i.max(j) * cols);
        let (first, second) = (&mut before[i.min(j) * cols..][..cols], &mut behind[..cols]);
        if i < j { (first, second) } else { (second, first) }
    }

    pub(crate) fn row_sums(&self) -> Vec<f64> {
        (0..self.rows).map(|i| self.row(i).iter().sum()).collect()
    }

    /// The product of two matrices.
    pub(crate) fn times(&self, other: &Self) -> Self {
        let mut product = Self::zero(self.rows, other.cols);
        for i in 0..self.rows {
            for k in 0..self.cols {
                let factor = self.get(i, k);
                if factor != 0.0 {
                    add(product.row_mut(i), factor, other.row(k));
                }
            }
        }
        product
    }

    /// The sum of two matrices.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        self.at.iter_mut().zip(&other.at).for_each(|(a, b)| *a += b);
        self
    }

    /// The row vector `v` times this matrix.
    pub(crate) fn under(&self, v: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.cols];
        for (i, factor) in v.iter().enumerate() {
            add(&mut product, *factor, self.row(i));
        }
        product
    }

    /// This matrix times the column vector `v`.
    pub(crate) fn on(&self, v: &[f64]) -> Vec<f64> {
        (0..self.rows).map(|i| self.row(i).iter().zip(v).map(|(a, b)| a * b).sum()).collect()
    }
}

/// Adds `times` x `more` to `to`.
fn add(to: &mut [f64], times: f64, more: &[f64]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += times * more);
}

/// States eliminated in order, from the rates between them and the rate out of each. The diagonal of `between` is
/// ignored.
pub(crate) struct Eliminated {
    between: Matrix,
    pivot: Vec<f64>,
}

impl Eliminated {
    /// Eliminates all states. Rates out may be zero as long as every state except the last can leave somehow.
    pub(crate) fn new(mut between: Matrix, mut out: Vec<f64>) -> Self {
        let d = between.rows;
        let mut pivot = vec![0.0; d];
        for k in 0..d {
            pivot[k] = out[k] + between.row(k)[k + 1..].iter().sum::<f64>();
            for i in k + 1..d {
                let share = between.get(i, k) / pivot[k];
                if share != 0.0 {
                    let (row, of) = between.rows(k, i);
                    add(&mut of[k + 1..], share, &row[k + 1..]);
                    out[i] += share * out[k];
                }
            }
        }
        Self { between, pivot }
    }

    /// Expected total of `reward` (a rate of gain in each state) until leaving, by starting state.
    ///
    /// In a whole chain, where no state leads out, the value of the last state is zero by convention.
    pub(crate) fn until_out(&self, reward: &[f64]) -> Vec<f64> {
        let d = self.pivot.len();
        let mut gain = reward.to_vec();
        for k in 0..d {
            for i in k + 1..d {
                gain[i] += self.between.get(i, k) / self.pivot[k] * gain[k];
            }
        }
        for k in (0..d).rev() {
            let onward: f64 = (k + 1..d).map(|j| self.between.get(k, j) * gain[j]).sum();
            gain[k] = if self.pivot[k] == 0.0 { 0.0 } else { (gain[k] + onward) / self.pivot[k] };
        }
        gain
    }

    /// Expected times: entry (i, j) is the time spent in j before leaving when starting from i. Equals
    /// [`Self::until_out`] of the unit reward in each j.
    pub(crate) fn sojourns(&self) -> Matrix {
        let d = self.pivot.len();
        let mut times = Matrix::diagonal(&vec![1.0; d]);
        for k in 0..d {
            for i in k + 1..d {
                let share = self.between.get(i, k) / self.pivot[k];
                if share != 0.0 {
                    let (row, of) = times.rows(k, i);
                    add(&mut of[..=k], share, &row[..=k]);
                }
            }
        }
        for k in (0..d).rev() {
            for j in k + 1..d {
                let rate = self.between.get(k, j);
                if rate != 0.0 {
                    let (row, of) = times.rows(j, k);
                    add(of, rate, row);
                }
            }
            let pivot = self.pivot[k];
            times.row_mut(k).iter_mut().for_each(|time| *time = if pivot == 0.0 { 0.0 } else { *time / pivot });
        }
        times
    }

    /// Stationary probabilities of a whole chain, in the order of its states.
    pub(crate) fn stationary(&self) -> Vec<f64> {
        let d = self.pivot.len();
        let mut p = vec![0.0; d];
        p[d - 1] = 1.0;
        for k in (0..d - 1).rev() {
            p[k] = (k + 1..d).map(|i| p[i] * self.between.get(i, k)).sum::<f64>() / self.pivot[k];
        }
        let total: f64 = p.iter().sum();
        p.iter().map(|p| p / total).collect()
    }
}
