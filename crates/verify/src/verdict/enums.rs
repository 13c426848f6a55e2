//! The enumerations of the verdict. Their JSON names are in snake case.

use serde::{Deserialize, Serialize};

offered_base::named! {
    /// Whether the results of a run are valid: its arrivals are as specified and its measurement is good.
    pub enum Validity {
        /// Arrivals are as specified.
        Valid = "valid",
        /// Arrivals differ from the specification, but the generator error is within tolerance. Or arrivals are as specified, but
        /// lateness affects a percentile by more than the tolerance.
        ValidWithWarnings = "valid_with_warnings",
        /// Arrivals differ from the specification: do not use the results.
        Invalid = "invalid",
        /// Nothing could be checked.
        NotChecked = "not_checked",
    }
}

impl Validity {
    /// The validity as text: `valid, with warnings`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::ValidWithWarnings => "valid, with warnings",
            Self::Invalid => "invalid",
            Self::NotChecked => "not checked",
        }
    }

    /// The validity as a heading: `VALID, WITH WARNINGS`.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::ValidWithWarnings => "VALID, WITH WARNINGS",
            Self::Invalid => "INVALID",
            Self::NotChecked => "NOT CHECKED",
        }
    }
}

offered_base::named! {
    /// The result of a single check or threshold. A check that was not made never passes.
    pub enum CheckResult {
        /// The check passed.
        Passed = "passed",
        /// The check failed.
        Failed = "failed",
        /// The check was not made, or its result is unclear.
        NotChecked = "not_checked",
    }
}

impl CheckResult {
    /// The result as text: `not checked`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotChecked => "not checked",
        }
    }
}

offered_base::named! {
    /// Whether the system is stable under the load.
    pub enum StabilityState {
        /// Completions follow arrivals.
        Stable = "stable",
        /// Requests arrive faster than they complete.
        Overloaded = "overloaded",
        /// Stability was not checked.
        NotChecked = "not_checked",
    }
}

impl StabilityState {
    /// With fewer requests stability is not checked.
    pub const FEWEST_REQUESTS: u64 = 100;

    /// The state as text: `not checked`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Overloaded => "overloaded",
            Self::NotChecked => "not checked",
        }
    }
}

/// The reason why stability was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotCheckedReason {
    /// The system is closed: users wait for responses, so they cannot overload it.
    ClosedSystem,
    /// Fewer than 100 requests were sent.
    TooFewRequests,
    /// More than 5 % of the completed requests failed. The system may have rejected load.
    TooManyFailures,
    /// The number in flight grew, but not significantly.
    RunTooShort,
    /// The sent rate was far below the target rate, so the run gives no information about the target rate.
    TargetNotSent,
}

offered_base::named! {
    /// A test or check.
    #[derive(Hash)]
    pub enum Check {
        /// The CoV of the gaps is 1 (Greenwood's test).
        Cov = "cov",
        /// The gaps are exponential, against gamma distributions.
        GammaFit = "gamma_fit",
        /// The gaps are exponential (Anderson-Darling test).
        AndersonDarling = "anderson_darling",
        /// The gaps are exponential (Kolmogorov-Smirnov test).
        KolmogorovSmirnov = "kolmogorov_smirnov",
        /// The counts in windows of three mean gaps are Poisson distributed.
        PoissonCounts = "poisson_counts",
        /// The dispersion of counts at the lowest frequencies is 1.
        LowFrequencies = "low_frequencies",
        /// The gaps are not autocorrelated (Ljung-Box test).
        LjungBox = "ljung_box",
        /// Consecutive gaps are not correlated (Spearman's rank correlation).
        Spearman = "spearman",
        /// The rate has no trend.
        Trend = "trend",
        /// The sequence of gaps is not periodic.
        RepeatedPattern = "repeated_pattern",
        /// The index of dispersion for counts is 1 for every window length.
        Dispersion = "dispersion_of_counts",
        /// The CoV of the gaps with a bootstrap confidence interval, which assumes no distribution. For information only.
        CovBootstrap = "cov_bootstrap",
        /// The gaps are constant, as specified.
        ConstantGaps = "constant_gaps",
        /// The CoV is that of the specified renewal process.
        CovAgainstExpected = "cov_against_expected",
        /// The CoV is that of the specified number of users with the specified think times.
        ClosedCov = "closed_cov",
        /// The dispersion of counts is that of the specified number of users with the specified think times.
        ClosedDispersion = "closed_dispersion",
        /// The mean think time is as specified.
        ThinkTime = "think_time",
        /// The CoV of the sent requests is that of the schedule.
        CovAgainstSchedule = "cov_against_schedule",
        /// The sent rate is the target rate.
        RateAgainstTarget = "rate_against_target",
        /// The 99th percentile of lateness, in microseconds.
        LatenessP99 = "lateness_p99_us",
        /// The 99th percentile of the lateness with which responses were read, in microseconds.
        ReadingLatenessP99 = "reading_lateness_p99_us",
        /// The share of requests that were not sent.
        UnsentShare = "unsent_share",
        /// The busy share of the busiest sending thread.
        BusiestThread = "busiest_thread",
    }
}

impl Check {
    /// Whether the check can fail only because send times differ from scheduled times. The scheduled times then show whether they do.
    pub(crate) const fn depends_on_send_times(self) -> bool {
        !matches!(
            self,
            Self::ThinkTime
                | Self::RateAgainstTarget
                | Self::ReadingLatenessP99
                | Self::UnsentShare
                | Self::BusiestThread
        )
    }

    /// Whether the check compares arrivals with theory, so that the schedule itself can fail it.
    pub(crate) const fn compares_with_theory(self) -> bool {
        !matches!(
            self,
            Self::CovAgainstSchedule
                | Self::LatenessP99
                | Self::ReadingLatenessP99
                | Self::UnsentShare
                | Self::BusiestThread
        )
    }

    /// What the check examines, for a sentence.
    pub(crate) const fn subject(self) -> &'static str {
        match self {
            Self::Cov | Self::CovBootstrap | Self::CovAgainstExpected | Self::ClosedCov | Self::CovAgainstSchedule => {
                "the CoV of the gaps"
            }
            Self::GammaFit | Self::AndersonDarling | Self::KolmogorovSmirnov => "the distribution of the gaps",
            Self::PoissonCounts | Self::LowFrequencies | Self::Dispersion | Self::ClosedDispersion => {
                "the number of requests over time"
            }
            Self::LjungBox | Self::Spearman | Self::RepeatedPattern => "the order of the gaps",
            Self::Trend => "the trend of the rate",
            Self::ConstantGaps => "the regularity of the gaps",
            Self::ThinkTime => "the mean think time",
            Self::RateAgainstTarget => "the rate",
            Self::LatenessP99 => "the lateness",
            Self::ReadingLatenessP99 => "the lateness of reading",
            Self::UnsentShare => "the number of requests that were not sent",
            Self::BusiestThread => "the busiest thread",
        }
    }
}

offered_base::named! {
    /// The arrival pattern of the sent requests.
    pub enum Pattern {
        /// Indistinguishable from a Poisson process.
        Poisson = "poisson",
        /// Indistinguishable from a Poisson process, with a number of requests that was fixed in advance.
        PoissonFixedCount = "poisson_fixed_count",
        /// Constant gaps.
        Constant = "constant",
        /// Gaps or counts vary less than in a Poisson process: closed or paced users.
        UnderDispersed = "under_dispersed",
        /// Several requests at a time.
        Bunched = "bunched",
        /// Gaps or counts vary more than in a Poisson process: bursts, or a varying rate.
        OverDispersed = "over_dispersed",
        /// Several runs in one file.
        SeveralRuns = "several_runs",
        /// Too few requests to tell.
        TooFewRequests = "too_few_requests",
    }
}

impl Pattern {
    /// The smallest number of gaps for which a pattern is named. With fewer, a CoV of 0.75 can be chance.
    pub(crate) const FEWEST_GAPS: usize = 50;

    /// The pattern as text: `under-dispersed`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Poisson => "Poisson",
            Self::PoissonFixedCount => "Poisson, fixed count",
            Self::Constant => "constant",
            Self::UnderDispersed => "under-dispersed",
            Self::Bunched => "bunched",
            Self::OverDispersed => "over-dispersed",
            Self::SeveralRuns => "several runs",
            Self::TooFewRequests => "too few requests",
        }
    }
}
