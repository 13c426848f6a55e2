//! Why an experiment cannot be made.

use std::io;
use std::path::{Path, PathBuf};

use offered_model::workload::Mistake;
use offered_run::Counts;

use crate::Field;

/// Why an experiment cannot be made, or could not be made to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workload's text is not one.
    #[error(transparent)]
    Workload(#[from] Mistake),
    /// The workload asks for what cannot be simulated or computed.
    #[error(transparent)]
    Refused(#[from] offered_model::Wrong),
    /// No formula applies.
    #[error(transparent)]
    Formula(#[from] offered_plan::Error),
    /// The run cannot start.
    #[error(transparent)]
    Run(#[from] offered_run::Error),
    /// The workers of a run do not begin together.
    #[error(transparent)]
    Meet(#[from] offered_meet::Error),
    /// What is scraped beside a run would be lost with it.
    #[error(
        "[[observe.scrape]] does not go with an object store: what is scraped is kept in a folder; meet in one that all reach, or take \
         it out"
    )]
    ScrapedIntoStore,
    /// Nobody knows when a run was, so what was observed cannot be laid beside it.
    #[error(
        "{}: nobody knows when this run was (it was made on a virtual clock, or its stamps are no dates), so what was observed of a server \
         cannot be laid beside it",
        run.display()
    )]
    Undated {
        /// The run.
        run: PathBuf,
    },
    /// A machine cannot be observed.
    #[error(transparent)]
    Observe(#[from] offered_observe::Error),
    /// Nobody can be asked for the time at this address.
    #[error("cannot listen at {at}: {source}")]
    Listen {
        /// Where.
        at: std::net::SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// An object store cannot be used.
    #[cfg(feature = "objects")]
    #[error(transparent)]
    Objects(#[from] offered_objects::Error),
    /// This program knows no object stores.
    #[error(
        "{url} is in an object store, and this program was built without those; build it with its feature `objects`, which is on by default, or \
         use a folder that all reach"
    )]
    NoObjects {
        /// What was asked for.
        url: String,
    },
    /// A URL of a file that is not on this machine.
    #[error("{}: of a file: URL only a path of this machine is read; write for example file:///shared/run7", url.display())]
    FileUrl {
        /// As it was given.
        url: PathBuf,
    },
    /// A worker was started again, and nobody knows how many requests the one before it has made.
    #[error("the worker with this number is gone, and a run that ends after a number of requests cannot be taken up")]
    Counted,
    /// There is nothing to watch.
    #[error("{} holds no run: it has no workload.toml; give the directory of a run, or the folder in which its workers have met", path.display())]
    NoRun {
        /// Where.
        path: PathBuf,
    },
    /// The workload is the copy that a run kept, without its secrets.
    #[error(
        "this is the copy that a run kept of its workload, without its secrets ((blanked)); give the workload that was run"
    )]
    Blanked,
    /// No rate is found that brings a server to a load.
    #[error("no rate is found for a load of {load}: {why}")]
    NoRate {
        /// What was asked for.
        load: f64,
        /// Why.
        why: String,
    },
    /// The directory of a new run cannot be made.
    #[error(transparent)]
    Out(offered_store::Error),
    /// What happened cannot be kept, or not be read again.
    #[error(transparent)]
    Store(#[from] offered_store::Error),
    /// The load was made, and what it came to cannot be told.
    #[error("the load was made and cannot be judged: {why}")]
    Unjudged {
        /// Why.
        why: Box<Error>,
        /// What was counted while it was made.
        counts: Counts,
        /// Where its events are, if they are kept.
        out: Option<PathBuf>,
    },
    /// What was recorded cannot be read.
    #[error(transparent)]
    Read(offered_store::Error),
    /// A file that was given cannot be read.
    #[error("{}", unread(path, source))]
    Unread {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that was given is longer than any workload.
    #[error("{} is larger than 64 MiB; no workload is", path.display())]
    TooLong {
        /// Which.
        path: PathBuf,
    },
    /// A document of ours that does not read as what it calls itself.
    #[error("{}: {source}; make the file anew", path.display())]
    Document {
        /// The file it is in.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried: `create`, `write`, `remove`, ...
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The server to calibrate against cannot be had.
    #[error(transparent)]
    Serve(#[from] offered_serve::Error),
    /// There is no place for what is kept from one run to the next.
    #[error("neither XDG_STATE_HOME nor HOME is set; set one, so that the result can be kept")]
    NoHome,
    /// A text that does not say a field with its values.
    #[error("`{text}` is not a field with its values{why}; write for example rate=10..90:10 or discipline=fcfs,ps")]
    NotVaried {
        /// The text.
        text: String,
        /// What is wrong with it, in parentheses after a space, or nothing.
        why: String,
    },
    /// Two lists of values for one field.
    #[error("{field} varies twice; give all its values to one of them")]
    FieldTwice {
        /// The field.
        field: Field,
    },
    /// One value twice.
    #[error("{field}={value} is there twice; give each value once")]
    ValueTwice {
        /// The field.
        field: Field,
        /// The value.
        value: String,
    },
    /// A value that the field cannot take.
    #[error("{field}={value}: {why}")]
    Value {
        /// The field.
        field: Field,
        /// The value.
        value: String,
        /// Why not.
        why: String,
    },
    /// Something went wrong at one point of a grid.
    #[error("{point}: {error}")]
    At {
        /// Its name, `users=25 think=5ms`.
        point: String,
        /// What.
        error: Box<Error>,
    },
    /// Two cells of a sweep whose directories would be the same.
    #[error("{one} and {other} would both be {}; name one of them otherwise", path.display())]
    OneDirectory {
        /// A cell.
        one: String,
        /// Another.
        other: String,
        /// Their directory.
        path: PathBuf,
    },
    /// The load cannot vary in a sweep of runs.
    #[error("a load is what a simulation is brought to; in a sweep vary rate, users or think")]
    LoadVaries,
    /// A directory that holds something else than the experiment that is to go on in it.
    #[error("{} holds {what}; choose another directory", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        what: &'static str,
    },
    /// A cell of a sweep that another worker is making.
    #[error(
        "{cell} is being made by another worker, on {host}; give each worker its own number, or wait until that one has ended"
    )]
    CellTaken {
        /// The directory of the cell, or its URL.
        cell: String,
        /// Where who makes it runs.
        host: String,
    },
    /// A sweep's directory that was begun with another workload.
    #[error("{} was begun with another workload: {} differs from {given}; go on with that one, or choose another directory",
        path.display(), path.join("workload.toml").display())]
    AnotherSweep {
        /// The directory, or its URL.
        path: PathBuf,
        /// The name of the workload given now.
        given: String,
    },
    /// A sweep's directory with finished cells that are none of the sweep to be made.
    #[error(
        "{} holds {n} finished cells of other values ({first} among them), which its tables would no longer show; give their values \
         too, or choose another directory",
        path.display()
    )]
    OtherValues {
        /// The directory.
        path: PathBuf,
        /// The name of one.
        first: String,
        /// How many there are.
        n: usize,
    },
    /// A bound that more load keeps.
    #[error(
        "more load does not break `{0}`, and what is looked for is the load that breaks it; bound a time or errors from above, as in p99 < 250ms"
    )]
    KeptByLoad(String),
    /// Up to which value an objective is kept, asked of values that are no numbers.
    #[error("up to which {field} the objective is kept can only be asked of numbers, and `{value}` is none")]
    NoNumber {
        /// The field.
        field: Field,
        /// The value.
        value: String,
    },
    /// A search without a beginning.
    #[error("where does the search along `{field}` begin? The workload has no such value of its own")]
    NoStart {
        /// What was asked for.
        field: Field,
    },
    /// A text that does not say a field with a number to begin at.
    #[error(
        "`{text}` is not a field and the number that a search along it begins at; write for example users or rate=100"
    )]
    NotAlong {
        /// The text.
        text: String,
    },
    /// A figure of the objective that nothing came to.
    #[error("there is nothing to measure {0} on")]
    NothingToMeasure(String),
    /// Somebody stopped a sweep.
    #[error("stopped with {left} cells to do; the same sweep goes on with them")]
    SweepStopped {
        /// Cells that are still to do.
        left: usize,
    },
    /// A recording was there and is no longer.
    #[error("the recording can no longer be read: {0}")]
    Recording(#[from] io::Error),
    /// A recording that no workload of ours made.
    #[error(
        "{name}: has no twin: launches are paired with a simulation's by session and step, which only a run directory tells, or \
         several of one workload"
    )]
    NoTwin {
        /// Its name.
        name: String,
    },
    /// A simulation whose workload was changed on the way.
    #[error("a simulation that was brought to a load has no twin: its workload is not the one that it kept")]
    TwinAtLoad,
    /// Somebody stopped a search.
    #[error("stopped; a search is not kept, begin it anew nearer to where it was")]
    Stopped,
    /// The run of a search stopped itself.
    #[error("the run stopped itself: {0}")]
    Halted(String),
}

impl Error {
    /// Whether something was launched of which all is on this machine, and not all where it should be.
    pub fn leaves_something(&self) -> bool {
        match self {
            Self::At { error, .. } => error.leaves_something(),
            Self::Unjudged { out, .. } => out.is_some(),
            #[cfg(feature = "objects")]
            Self::Objects(error) => matches!(error, offered_objects::Error::Unsent { .. }),
            _ => false,
        }
    }

    /// Whether what was asked for is wrong, rather than what happened when it was tried.
    pub fn is_of_input(&self) -> bool {
        use offered_run::Error as Run;
        match self {
            Self::At { error, .. } => error.is_of_input(),
            Self::Meet(error) => error.is_of_input(),
            #[cfg(feature = "objects")]
            Self::Objects(error) => error.is_of_input(),
            Self::Run(
                Run::System(_)
                | Run::Resolve { .. }
                | Run::Nobody { .. }
                | Run::Handshake { .. }
                | Run::Database { .. }
                | Run::Certificate { .. }
                | Run::NoHttp2 { .. }
                | Run::SpeaksTls { .. },
            ) => false,
            Self::Observe(offered_observe::Error::NotLinux | offered_observe::Error::Io { .. })
            | Self::Store(_)
            | Self::Unjudged { .. }
            | Self::File { .. }
            | Self::Recording(_)
            | Self::Serve(_)
            | Self::NoHome
            | Self::NothingToMeasure(_)
            | Self::Counted
            | Self::SweepStopped { .. }
            | Self::Stopped
            | Self::Halted(_) => false,
            _ => true,
        }
    }

    /// Of the point called `name`; of a point without a name the error itself.
    pub(crate) fn at(name: String) -> impl FnOnce(Self) -> Self {
        move |error| if name.is_empty() { error } else { Self::At { point: name, error: Box::new(error) } }
    }

    /// That the file at `path` cannot be read.
    pub fn unread(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Unread { path: path.to_owned(), source }
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}

/// Of a file that cannot be read as a text.
fn unread(path: &Path, why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::InvalidData => format!("{} is not a text file", path.display()),
        _ => format!("cannot read {}: {why}", path.display()),
    }
}
