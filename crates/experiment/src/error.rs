//! Errors of the operations.

use std::io;
use std::path::{Path, PathBuf};

use offered_base::Nanos;
use offered_run::Counts;
use offered_workload::Mistake;

use crate::Field;
use crate::redact::REDACTED;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workload is invalid.
    #[error(transparent)]
    Workload(#[from] Mistake),
    /// The workload cannot be simulated or computed.
    #[error(transparent)]
    Refused(#[from] offered_base::InvalidValue),
    /// The workload cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] offered_simulate::Error),
    /// No formula applies.
    #[error(transparent)]
    Formula(#[from] offered_plan::Error),
    /// The run cannot start.
    #[error(transparent)]
    Run(#[from] offered_run::Error),
    /// The workers of a run cannot start together.
    #[error(transparent)]
    Rendezvous(#[from] offered_rendezvous::Error),
    /// Scraped samples cannot be stored, because their files are not uploaded to an object store.
    #[error(
        "[[observe.scrape]] does not work with an object store: samples are stored in a directory; use a shared directory as rendezvous, or \
         remove [[observe.scrape]]"
    )]
    ScrapeIntoStore,
    /// The start time of a run is unknown, so that observed samples cannot be assigned to it.
    #[error(
        "{}: the start time of this run is unknown (a virtual clock, or timestamps without a date), so samples of a server cannot be \
         assigned to it",
        run.display()
    )]
    UnknownStartTime {
        /// The run.
        run: PathBuf,
    },
    /// A machine cannot be observed, or a target cannot be scraped.
    #[error(transparent)]
    Observe(#[from] offered_observe::Error),
    /// Only recorded runs can be fitted, because their workload describes the arrivals.
    #[error(
        "{}: not a run directory of offered: {missing}; `fit` needs the workload and the requests of a run (offered run or simulate, with -o)",
        path.display()
    )]
    FitNeedsRun {
        /// The path.
        path: PathBuf,
        /// What the directory lacks.
        missing: String,
    },
    /// The simulation was scaled to a load, so the recorded workload does not describe its arrivals.
    #[error("{}: this simulation was scaled to a load, so its workload is not the recorded one; to fit it, simulate the workload without setting a load", path.display())]
    FitAtLoad {
        /// The run.
        path: PathBuf,
    },
    /// A run without requests to fit.
    #[error("{}: no request was successful within the time window; choose another window", path.display())]
    NothingToFit {
        /// The run.
        path: PathBuf,
    },
    /// Runs of different requests.
    #[error("{} and {} have different requests; fit one server to runs of the same requests", one.display(), other.display())]
    FitOtherRequests {
        /// A run.
        one: PathBuf,
        /// A run with other requests.
        other: PathBuf,
    },
    /// Too few requests were alone at the server.
    #[error(
        "{request}: only {n} requests were alone at the server; a service time needs at least 100; add a run at a low rate, or observe the server"
    )]
    TooFewUnloaded {
        /// The request.
        request: String,
        /// Number of requests that were alone at the server.
        n: usize,
    },
    /// An object store cannot be used.
    #[cfg(feature = "objects")]
    #[error(transparent)]
    Objects(#[from] offered_rendezvous::objects::Error),
    /// The program was built without object stores.
    #[error(
        "{url} is in an object store, which this build does not support; use a shared directory, or build with the feature `objects`"
    )]
    NoObjects {
        /// The URL.
        url: String,
    },
    /// A `file:` URL that names another machine.
    #[error("{}: a file: URL must have a path of this machine, for example file:///shared/run7", url.display())]
    FileUrl {
        /// The URL.
        url: PathBuf,
    },
    /// A path where the URL of an object store is expected.
    #[error("{} is not a URL of an object store; write for example s3://bucket/run7", path.display())]
    NotInStore {
        /// The path.
        path: PathBuf,
    },
    /// The share of a lost worker cannot be taken over, because its number of requests is unknown.
    #[error(
        "the worker with this share is lost, and its share cannot be taken over, because the run ends after a number of requests"
    )]
    TakeoverOfCountedRun,
    /// There is no run to watch.
    #[error(
        "{} contains no run (no workload.toml); give a run directory, or the rendezvous directory of its workers", path.display()
    )]
    NoRun {
        /// The directory.
        path: PathBuf,
    },
    /// The workload is the redacted copy in a run directory.
    #[error(
        "this is the redacted copy of a workload in a run directory (its secrets are {REDACTED}); use the original workload file"
    )]
    RedactedWorkload,
    /// No rate gives the server the required load.
    #[error("no rate found for load {load}: {reason}")]
    NoRate {
        /// The load.
        load: f64,
        /// The reason.
        reason: String,
    },
    /// A new run directory cannot be created, or its first events cannot be written.
    #[error(transparent)]
    CreateRun(offered_store::Error),
    /// A recording cannot be written or read.
    #[error(transparent)]
    Store(#[from] offered_store::Error),
    /// The requests were sent, but the recording cannot be verified.
    #[error("the requests were sent, but the recording cannot be verified: {reason}")]
    NotVerified {
        /// The reason.
        reason: Box<Error>,
        /// The counts of the generator.
        counts: Counts,
        /// The run directory, if there is one.
        directory: Option<PathBuf>,
    },
    /// The disk does not respond, and the caller gave up.
    #[error(
        "the disk did not finish writing {}: {missing} events and the run record may be missing there", directory.display()
    )]
    DiskStalled {
        /// The run directory.
        directory: PathBuf,
        /// Number of events that may be missing.
        missing: u64,
    },
    /// A recording that was given cannot be read.
    #[error(transparent)]
    Read(offered_store::Error),
    /// A file that was given cannot be read.
    #[error("{}", unreadable(path, source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that was given is too large for a workload.
    #[error("{} is larger than 64 MiB, the maximum size of a workload", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A JSON document of this program does not match its schema.
    #[error("{}: {source}; create the file again", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// The operating system refused an operation on a file.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The operation: `create`, `write`, `remove`, ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The server for calibration cannot be started.
    #[error(transparent)]
    Serve(#[from] offered_serve::Error),
    /// There is no directory for the calibration result.
    #[error("cannot store the calibration: neither XDG_STATE_HOME nor HOME is set; export HOME or XDG_STATE_HOME")]
    NoHome,
    /// A text is not a field with values.
    #[error("`{text}` is not a field with its values{reason}; write for example rate=10..90:10 or discipline=fcfs,ps")]
    NotVaried {
        /// The text.
        text: String,
        /// The reason in parentheses after a space, or nothing.
        reason: String,
    },
    /// A field has two lists of values.
    #[error("{field} is varied twice; give all its values in one list")]
    FieldTwice {
        /// The field.
        field: Field,
    },
    /// Both a load and a field that the load sets are varied.
    #[error("`load` sets `{field}`, so both cannot be varied; remove one of the two")]
    LoadSets {
        /// The field.
        field: Field,
    },
    /// A field has the same value twice.
    #[error("{field}={value} is given twice; give each value once")]
    ValueTwice {
        /// The field.
        field: Field,
        /// The value.
        value: String,
    },
    /// The field cannot have this value.
    #[error("{field}={value}: {reason}")]
    Value {
        /// The field.
        field: Field,
        /// The value.
        value: String,
        /// The reason.
        reason: String,
    },
    /// An error at one point of a grid.
    #[error("{point}: {error}")]
    At {
        /// The name of the point, `users=25 think=5ms`.
        point: String,
        /// The error.
        error: Box<Error>,
    },
    /// Two cells of a sweep would have the same directory.
    #[error("{one} and {other} would share the directory {}; change one of the values", path.display())]
    OneDirectory {
        /// A cell.
        one: String,
        /// Another cell.
        other: String,
        /// The directory.
        path: PathBuf,
    },
    /// The directory contains something other than this sweep.
    #[error("{} already contains {content}; choose another directory", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// The content of the file.
        content: &'static str,
    },
    /// Another worker is executing this cell of the sweep.
    #[error(
        "{cell} is being executed by another worker, on {host}; give each worker its own number, or wait until that worker has finished"
    )]
    CellTaken {
        /// The directory of the cell, or its URL.
        cell: String,
        /// The host of the other worker.
        host: String,
    },
    /// The sweep in this directory has another workload.
    #[error("{} was started with another workload: {} differs from {given}; continue with the first workload, or choose another directory",
        path.display(), path.join("workload.toml").display())]
    AnotherSweep {
        /// The directory, or its URL.
        path: PathBuf,
        /// The workload that was given.
        given: String,
    },
    /// The directory of the sweep has finished cells that are not part of this sweep.
    #[error(
        "{} contains {n} finished cells of other values (for example {first}); add their values, or choose another directory",
        path.display()
    )]
    OtherValues {
        /// The directory, or its URL.
        path: PathBuf,
        /// The name of one of the cells.
        first: String,
        /// Number of finished cells with other values.
        n: usize,
    },
    /// The search cannot use this threshold, because a higher load cannot make it fail.
    #[error("more load cannot violate `{0}`; use an upper bound on a time or on errors, as in p99 < 250ms")]
    NotBrokenByLoad(String),
    /// The values of the field are not numbers, so there is no largest value.
    #[error("an objective needs a field with numbers, and {field} has the value `{value}`")]
    NoNumber {
        /// The field.
        field: Field,
        /// The value.
        value: String,
    },
    /// The search has no first value.
    #[error(
        "the search along `{field}` needs a first value, which the workload does not have; write for example {field}=10"
    )]
    NoStart {
        /// The field.
        field: Field,
    },
    /// A search varies the load, although it must vary the rate or the number of users.
    #[error("a search varies the load: write rate or users, with a first value as in rate=100")]
    LoadNotSearchable,
    /// A text is not a field with the first value of a search.
    #[error(
        "`{text}` is not a field, or a field with the first value of a search; write for example users or rate=100"
    )]
    NotSearchable {
        /// The text.
        text: String,
    },
    /// A metric of the objective has no values.
    #[error("{0} has no values")]
    NothingToMeasure(String),
    /// The sweep was stopped.
    #[error("stopped before {left} cells were finished; repeat the command to continue")]
    SweepStopped {
        /// The number of cells that are left.
        left: usize,
    },
    /// A recording that was readable can no longer be read.
    #[error("the recording can no longer be read: {0}")]
    Recording(#[from] io::Error),
    /// The recording is not of a workload of this program.
    #[error(
        "{name}: no twin: a twin needs the session and step of each request, which only the run directory of one workload has"
    )]
    NoTwin {
        /// The name of the recording.
        name: String,
    },
    /// The simulation was scaled to a load, so it has no twin.
    #[error("no twin: this simulation was scaled to a load, so its workload is not the recorded one")]
    TwinAtLoad,
    /// The search was stopped.
    #[error("stopped; a search cannot be continued: start it again near the last value")]
    Stopped,
    /// A comparison was stopped before its first interval.
    #[error("stopped before {fewest} pairs of rounds were made; there is no result yet")]
    ComparisonStopped {
        /// The number of pairs of the first look.
        fewest: usize,
    },
    /// A round of a comparison would have only a part of the load.
    #[error(
        "{name}: the load changes during its {duration}, and a round of {round} would contain only its start; set the round to {duration}, or use a constant load"
    )]
    ChangingLoadInRound {
        /// The name of the workload.
        name: String,
        /// The duration.
        duration: Nanos,
        /// Duration of a round.
        round: Nanos,
    },
    /// A baseline has too few rounds.
    #[error(
        "{}: the recording has {rounds} valid rounds (or parts as long as a round), and a comparison needs at least {fewest}; record a longer run, or use shorter rounds",
        path.display()
    )]
    ShortBaseline {
        /// The baseline.
        path: PathBuf,
        /// The number of rounds.
        rounds: usize,
        /// How many are needed.
        fewest: usize,
    },
    /// A run of a search stopped itself.
    #[error("the run stopped itself: {0}")]
    Halted(String),
}

impl Error {
    /// Whether a complete local recording exists, although it is missing at its destination.
    pub fn leaves_recording(&self) -> bool {
        match self {
            Self::At { error, .. } => error.leaves_recording(),
            Self::NotVerified { directory, .. } => directory.is_some(),
            #[cfg(feature = "objects")]
            Self::Objects(error) => matches!(error, offered_rendezvous::objects::Error::IncompleteUpload { .. }),
            _ => false,
        }
    }

    /// The reason why a simulation with a valid workload has nothing to measure; `None` for other errors.
    pub fn unmeasurable(&self) -> Option<&offered_simulate::Error> {
        match self {
            Self::At { error, .. } => error.unmeasurable(),
            Self::Simulation(error) if error.is_unmeasurable() => Some(error),
            _ => None,
        }
    }

    /// Whether wrong input caused the error, rather than a later event.
    pub fn is_of_input(&self) -> bool {
        use offered_run::Error as Run;
        match self {
            Self::At { error, .. } => error.is_of_input(),
            Self::Rendezvous(error) => error.is_of_input(),
            Self::Observe(error) => error.is_of_input(),
            #[cfg(feature = "objects")]
            Self::Objects(error) => error.is_of_input(),
            Self::Run(
                Run::System(_)
                | Run::Resolve { .. }
                | Run::Unreachable { .. }
                | Run::NoResources { .. }
                | Run::Handshake { .. }
                | Run::Database { .. }
                | Run::Certificate { .. }
                | Run::NoHttp2 { .. }
                | Run::SpeaksTls { .. },
            ) => false,
            Self::Store(_)
            | Self::DiskStalled { .. }
            | Self::NotVerified { .. }
            | Self::File { .. }
            | Self::Recording(_)
            | Self::Serve(_)
            | Self::NoHome
            | Self::NothingToMeasure(_)
            | Self::TakeoverOfCountedRun
            | Self::SweepStopped { .. }
            | Self::Stopped
            | Self::ComparisonStopped { .. }
            | Self::Halted(_) => false,
            _ => true,
        }
    }

    /// Adds the name of a point to an error; an empty name adds nothing.
    pub(crate) fn at(name: String) -> impl FnOnce(Self) -> Self {
        move |error| if name.is_empty() { error } else { Self::At { point: name, error: Box::new(error) } }
    }

    /// The error of a file that cannot be read.
    pub fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Unreadable { path: path.to_owned(), source }
    }

    /// The error of a path without a run.
    pub(crate) fn no_run(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Err(source) => Self::unreadable(path)(source),
            Ok(_) => Self::NoRun { path: path.to_owned() },
        }
    }

    /// The error for a path that `fit` cannot use. It names the files that the run directory lacks.
    pub fn fit_needs_run(path: &Path) -> Self {
        Self::FitNeedsRun { path: path.to_owned(), missing: missing_of_run(path) }
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}

/// The reason why a directory is not a run directory, such as a missing file.
fn missing_of_run(path: &Path) -> String {
    let missing: Vec<&str> =
        ["workload.toml", "run.json", "events"].into_iter().filter(|name| !path.join(name).exists()).collect();
    match missing.as_slice() {
        _ if !path.is_dir() => "it is a file".to_owned(),
        [] => "its run.json cannot be used".to_owned(),
        missing => format!("it has no {}", missing.join(" and no ")),
    }
}

/// The message about a file that cannot be read as text.
fn unreadable(path: &Path, why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::InvalidData => format!("{} is not a text file", path.display()),
        _ => format!("cannot read {}: {why}", path.display()),
    }
}
