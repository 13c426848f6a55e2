//! Classes of users, and their populations.

/// One class of users.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Name of the class in tables.
    pub name: String,
    /// N, number of users.
    pub users: u64,
    /// Z, mean think time, seconds.
    pub think: f64,
    /// Service demand D at each station in order, seconds; zero at a station that the class does not visit.
    pub demands: Vec<f64>,
}

/// All population vectors up to the numbers of users, as mixed-radix numbers: class c counts in steps of `stride[c]`.
pub(super) struct Populations {
    stride: Vec<usize>,
    users: Vec<usize>,
}

impl Populations {
    /// Of these classes.
    pub(super) fn of(classes: &[Class]) -> Self {
        let users: Vec<usize> = classes.iter().map(|class| class.users as usize).collect();
        let stride = users.iter().scan(1, |product, users| Some(std::mem::replace(product, *product * (users + 1))));
        Self { stride: stride.collect(), users }
    }

    /// Number of population vectors; the last one has all users.
    pub(super) fn count(&self) -> usize {
        self.users.iter().map(|users| users + 1).product()
    }

    /// Number of users of class `c` in a vector.
    pub(super) fn users(&self, state: usize, c: usize) -> usize {
        state / self.stride[c] % (self.users[c] + 1)
    }

    /// The vector with one user of class `c` less; `None` if it has none.
    pub(super) fn without(&self, state: usize, c: usize) -> Option<usize> {
        (self.users(state, c) > 0).then(|| state - self.stride[c])
    }
}
