//! Random streams, one for each purpose and session, so that a change of one part of a workload does not change the others.
//!
//! A [`Seed`] with a purpose, a session and a step determines one [`Stream`]. The think time before step 3 of session 17 is
//! therefore a pure function of the seed: another distribution of think times moves no arrival, and every thread or machine
//! that runs session 17 draws the same number. No state is stored between draws, so a million thinking users fit in a few
//! megabytes.
//!
//! The generator is xoshiro256++ (Blackman and Vigna 2021), seeded by `SplitMix64` as its authors advise. It is implemented here, in
//! twenty lines, because nearly every number comes from a new stream: when the compiler can inline the seeding, a draw costs a
//! third of a call into another crate. The floating-point functions that turn its numbers into times are our own (the
//! logarithm) or those of `libm`, not the platform's, so one seed gives one schedule on every machine.

use crate::log::ln;

/// The purpose of a random number. The discriminants are part of the schedule: never renumber them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Gaps between the arrivals of sessions.
    Arrivals = 1,
    /// Think times.
    Think = 2,
    /// Number of requests of a session.
    Length = 3,
    /// Choice of the request that a session sends next.
    Choice = 4,
    /// Work of a request for a modelled server.
    Size = 5,
    /// Size of a batch of arrivals, and duration of a modulating state.
    Burst = 6,
    /// Position of a closed user in its cycle at the start of the run.
    Start = 7,
    /// Values of variables.
    Data = 8,
    /// Choice of a file of a catalogue.
    File = 9,
    /// Waits between the attempts of a request.
    Jitter = 10,
    /// Time after which a user gives up.
    Patience = 11,
    /// Result of a condition of a flow that no response decides.
    Condition = 12,
    /// Times of the last steps of a session, after the end of the run.
    End = 13,
    /// Positions of rounded timestamps within their ticks, and samples of the bootstrap, when a recording is verified.
    Judge = 20,
    /// Order of the cells of a sweep.
    Order = 21,
}

/// The recorded number that determines every random choice of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The position of `index` in a random permutation of the numbers below `n`; `key` selects one of several
    /// permutations.
    ///
    /// A Feistel network of four rounds over the smallest even number of bits, repeated until the result is below `n` (cycle walking: Black and
    /// Rogaway, "Ciphers with Arbitrary Finite Domains", 2002), so that no order is stored.
    pub fn shuffled(self, key: u64, index: u64, n: u64) -> u64 {
        let half = (u64::BITS - n.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
        let (mask, key) = ((1u64 << half) - 1, mix(mix(self.0) ^ key));
        let mut at = index;
        loop {
            let (mut left, mut right) = (at >> half, at & mask);
            for round in 0..4 {
                (left, right) = (right, left ^ (mix(key ^ (round << 56) ^ right) & mask));
            }
            at = left << half | right;
            if at < n {
                return at;
            }
        }
    }

    /// The stream of this purpose for the whole run.
    pub fn stream(self, purpose: Purpose) -> Stream {
        self.at(purpose, u64::MAX, 0)
    }

    /// The seed of a part of the run with this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self(name.bytes().fold(mix(self.0), |key, byte| mix(key ^ u64::from(byte))))
    }

    /// The stream of this purpose for step `step` of session `session`.
    #[inline]
    pub fn at(self, purpose: Purpose, session: u64, step: u32) -> Stream {
        let key = mix(mix(mix(self.0) ^ session).wrapping_add(u64::from(step) << 8 | purpose as u64));
        // SplitMix64 from `key`: the finaliser applied to a counter.
        let word = |i: u64| mix(key.wrapping_add(GOLDEN.wrapping_mul(i)));
        Stream { s0: word(0), s1: word(1), s2: word(2), s3: word(3) }
    }
}

/// The finaliser of MurmurHash3 with Stafford's constants (variant 13): every input bit reaches every output bit.
#[inline]
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    s0: u64,
    s1: u64,
    s2: u64,
    s3: u64,
}

impl Stream {
    #[inline]
    const fn next_u64(&mut self) -> u64 {
        let drawn = self.s0.wrapping_add(self.s3).rotate_left(23).wrapping_add(self.s0);
        let t = self.s1 << 17;
        self.s2 ^= self.s0;
        self.s3 ^= self.s1;
        self.s1 ^= self.s2;
        self.s0 ^= self.s3;
        self.s2 ^= t;
        self.s3 = self.s3.rotate_left(45);
        drawn
    }

    /// A uniform number in the open interval (0, 1), with 53 random bits; never 0 and never 1, so logarithms are safe.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }

    /// An exponential number of mean 1, by inversion of one uniform number.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -ln(self.uniform())
    }

    /// A standard normal number by the polar method (Marsaglia and Bray 1964); the second number of each pair is discarded.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = u * u + v * v;
            if s < 1.0 && s > 0.0 {
                return u * libm::sqrt(-2.0 * ln(s) / s);
            }
        }
    }

    /// A whole number from 0 to `below - 1`, with a bias of at most `below` / 2^64.
    #[inline]
    pub fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(below)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_schedule() {
        // Golden: a change here changes every recorded run's schedule.
        let mut stream = Seed(42).stream(Purpose::Arrivals);
        let drawn = [stream.uniform(), stream.exponential(), stream.normal()];
        let again = {
            let mut stream = Seed(42).stream(Purpose::Arrivals);
            [stream.uniform(), stream.exponential(), stream.normal()]
        };
        assert_eq!(drawn, again);
        assert_eq!(Seed(42).at(Purpose::Think, 17, 3).below(1_000_000_007), 18_063_416);
    }

    #[test]
    fn a_shuffled_order_has_every_number_once() {
        for n in [1, 2, 3, 4, 5, 16, 17, 1000, 65_537] {
            let order = |key| (0..n).map(|index| Seed(7).shuffled(key, index, n)).collect::<Vec<_>>();
            let mut sorted = order(1);
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..n), "{n}");
            assert!(n < 16 || (order(1) != order(2) && order(1) == order(1)), "{n}");
        }
        // The first of five numbers is each of them about equally often.
        let mut counts = [0u32; 5];
        (0..5000).for_each(|key| counts[Seed(3).shuffled(key, 0, 5) as usize] += 1);
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        use rand_core::{Rng, SeedableRng};
        let mut ours = Seed(42).stream(Purpose::Arrivals);
        let key = mix(mix(mix(42) ^ u64::MAX).wrapping_add(Purpose::Arrivals as u64));
        let mut theirs = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(key);
        assert!((0..1000).all(|_| ours.next_u64() == theirs.next_u64()));
    }

    #[test]
    fn neighbouring_streams_are_unrelated() {
        // The first number of 100,000 streams that differ in one bit of their name is itself uniform.
        for draw in [
            (|i| Seed(1).at(Purpose::Think, i, 0).uniform()) as fn(u64) -> f64,
            |i| Seed(1).at(Purpose::Think, 0, i as u32).uniform(),
            |i| Seed(i).at(Purpose::Think, 0, 0).uniform(),
        ] {
            let mut bins = [0u32; 100];
            let mut previous = draw(100_000);
            let mut product = 0.0;
            for i in 0..100_000 {
                let u = draw(i);
                bins[(u * 100.0) as usize] += 1;
                product += (u - 0.5) * (previous - 0.5);
                previous = u;
            }
            let chi2: f64 = bins.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
            assert!((40.0..180.0).contains(&chi2), "chi-square of 100 bins: {chi2}");
            let correlation = product / 100_000.0 * 12.0;
            assert!(correlation.abs() < 0.016, "lag-1 correlation {correlation}");
        }
    }
}
