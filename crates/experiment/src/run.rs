//! A run: launched, kept, and judged by what was kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_model::{Event, Nanos, Recording, Share, Workload};
use offered_run::{Done, Generator, Load};
use offered_store::{ReadOptions, Recorder, Writer};
use offered_verify::{Ask, Verdict, verify};
use offered_watch::Tally;
use serde_json::json;

use crate::collect::{Collector, View, Watch};
use crate::summary::Summary;
use crate::{Error, Point, calibrate};

/// A run to be made.
pub struct Plan<'a> {
    /// What the run directory keeps of the workload.
    pub text: &'a str,
    /// What the text says.
    pub workload: &'a Workload,
    /// The part of the run that is launched here.
    pub share: Share,
    /// What carries the launches.
    pub load: Load,
    /// When it begins, since the Unix epoch; else as soon as it can.
    pub start_at: Option<Nanos>,
    /// A new directory; without one the events are in memory only.
    pub out: Option<&'a Path>,
    /// What the verdict calls it.
    pub name: String,
}

/// A run that can begin.
pub struct Ready<'a> {
    plan: Plan<'a>,
    generator: Generator,
}

/// A run that was made.
pub struct Made {
    /// What it came to.
    pub summary: Summary,
    /// What to believe of it.
    pub verdict: Verdict,
    /// What it was held to.
    pub ask: Ask,
    /// What happened.
    pub recording: Recording,
    /// How it ended.
    pub done: Done,
}

impl<'a> Plan<'a> {
    /// The whole of one point of a grid, at its target.
    pub fn of(point: &'a Point, out: Option<&'a Path>) -> Self {
        Self {
            text: &point.text,
            workload: &point.workload,
            share: Share::ALL,
            load: Load::Target,
            start_at: None,
            out,
            name: point.name(),
        }
    }

    /// Prepares everything up to the first launch; `stop`, once set, ends the run before its time. A run that begins at once knocks
    /// at its target's door first.
    ///
    /// # Errors
    /// What cannot be launched, or nobody answers.
    pub fn prepare(self, stop: Arc<AtomicBool>) -> Result<Ready<'a>, Error> {
        let load = self.load.clone();
        let generator = Generator::new(self.workload.clone(), self.share, load)?.stopped_by(stop);
        if self.start_at.is_none() {
            generator.knock()?;
        }
        Ok(Ready { plan: self, generator })
    }
}

impl Ready<'_> {
    /// Launches everything, keeps what happened, and judges what was kept; shown on `views` meanwhile.
    ///
    /// # Errors
    /// The directory cannot be made or written to, or the system has no room for the threads.
    pub fn run(self, views: Vec<Box<dyn View>>) -> Result<Made, Error> {
        let Self { plan: Plan { text, workload, share, start_at, out, name, .. }, generator } = self;
        let store = out.map(|out| Store::create(out, text, workload)).transpose()?;
        let watch = Watch {
            tally: Tally::new(workload, share.fraction()),
            live: Box::new(generator.watch()),
            stop: generator.stop(),
            views,
        };
        let (done, events) = launch(&generator, start_at, store.as_ref(), watch)?;
        let recording = recording(workload, events, store.as_ref())?;
        let ask = Ask { path: name, ..Ask::of(workload, share.fraction()) };
        let verdict = verify(&recording, &ask);
        let mut summary = Summary::new(workload, share, &recording, &done, &verdict);
        summary.warnings.extend(calibrate::too_much(workload, share, generator.threads()));
        summary.out = out.map(|out| out.display().to_string());
        if let Some(store) = store {
            store.finish(&summary, &verdict, &done, share, generator.threads())?;
        }
        Ok(Made { summary, verdict, ask, recording, done })
    }
}

/// Launches everything; what happened, unless it was stored.
fn launch(
    generator: &Generator,
    start_at: Option<Nanos>,
    store: Option<&Store>,
    watch: Watch,
) -> Result<(Done, Vec<Event>), Error> {
    let collector = Collector::start(store.map(|store| store.recorder.clone()), watch);
    let outcome = generator.run(start_at, || collector.sink(), |clock| collector.begin(clock));
    // The collector ends when the ways to it are gone.
    let done = outcome.map(|(done, _)| done);
    // Also a run that could not begin takes its block away before it says why.
    let events = collector.finish();
    Ok((done?, events))
}

/// The recording of what happened: read back from disk where it was written, so that what is judged is what is kept.
fn recording(workload: &Workload, events: Vec<Event>, store: Option<&Store>) -> Result<Recording, Error> {
    if let Some(store) = store {
        store.recorder.flush()?;
        let mut recording = offered_store::read(&store.path, &ReadOptions::default())?;
        recording.notes.clear(); // that there is no run.json yet
        return Ok(recording);
    }
    Ok(Recording::of_run(events, workload.labels()))
}

/// A run directory being written.
struct Store {
    path: PathBuf,
    recorder: Recorder,
}

impl Store {
    fn create(path: &Path, text: &str, workload: &Workload) -> Result<Self, Error> {
        let writer = Writer::create(path, text, workload.labels()).map_err(Error::Out)?;
        Ok(Self { path: path.to_owned(), recorder: Recorder::start(writer) })
    }

    fn finish(
        self,
        summary: &Summary,
        verdict: &Verdict,
        done: &Done,
        share: Share,
        threads: u16,
    ) -> Result<(), Error> {
        let machine = rustix::system::uname();
        let run = json!({
            "schema": "offered.run-directory/1",
            "version": env!("CARGO_PKG_VERSION"),
            "started_unix_ns": done.started.0,
            "share": share.to_string(),
            "threads": threads,
            "machine": {
                "name": machine.nodename().to_string_lossy(),
                "system": format!("{} {}", machine.sysname().to_string_lossy(), machine.release().to_string_lossy()),
                "arch": machine.machine().to_string_lossy(),
                "cores": std::thread::available_parallelism().map_or(0, usize::from),
            },
            "summary": summary,
            "verdict": verdict,
        });
        Ok(self.recorder.finish(run)?)
    }
}
