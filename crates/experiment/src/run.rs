//! A run: launched, kept, and judged by what was kept.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::thread;

use offered_clock::{Clock, Wall, allow_sockets, kept as kept_by_kernel, unix_now};
use offered_meet::{Clocks, Met, Terms, begun, begun_again, meet};
use offered_model::recording::{Calibrated, End, Evidence};
use offered_model::workload::{OnDiskFull, digest};
use offered_model::{Exchange, Instant, Nanos, Offset, Recording, RunId, Share, WorkerClock, Workload};
use offered_run::{Counts, Done, Generator, Load, Witness, Worker, threads};
use offered_store::{
    Alive, AskedHost, Machine, MadeBy, Recorder, RunRecord, SILENT, Spool, Until, Writer, attempts, read_events,
};
use offered_verify::{Ask, Verdict, verify};
use offered_watch::Tally;
use serde::Serialize;

use crate::beyond::{Beyond, beyond};
use crate::collect::{Collected, Collector, Keep, Unsent, View, Watch};
use crate::kept::{BLANKED, kept, wherever};
use crate::place::{MeetingPlace, Upload};
use crate::scraping::Scraping;
use crate::summary::Summary;
use crate::{Error, Point, SetLoad, calibrate, cores, hosts};

/// From taking up a part that another has begun to its first launch: time to have everything in place.
const PLACING: Nanos = Nanos::from_secs(1);
/// How soon a stop is noticed while another's signs of life are waited for.
const NOTICE: Nanos = Nanos::from_millis(100);

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
    /// What tells it from all others; else [`RunId::unless_given`].
    pub run_id: Option<RunId>,
    /// A new directory; without one the events are kept by this process only, and in no more than so much memory.
    pub out: Option<&'a Path>,
    /// What the verdict calls it.
    pub name: String,
    /// Whether a few failures of each kind are seen whole, also where no script listens to the answers. Those of a script that is
    /// recorded always are.
    pub see_failures: bool,
}

/// A run that can begin.
pub struct Ready<'a> {
    plan: Plan<'a>,
    run: RunId,
    generator: Generator,
    failures: Option<Receiver<Exchange>>,
    /// The clock by which it begins.
    wall: Wall,
    /// Its place among the workers of the run, if there are others.
    among: Option<Among>,
    /// Says why what it launches does not come to where else it is kept, if so.
    unsent: Option<Unsent>,
    /// The machines that serve, as far as their clocks are asked.
    hosts: Vec<AskedHost>,
    /// The load that its rate was set for.
    set_load: Option<SetLoad>,
}

/// What a worker launched, on its way to where all workers keep it.
///
/// Whoever drops it leaves the copy on this machine where it is.
pub struct Sending(Option<(Upload, MeetingPlace)>);

impl Sending {
    /// Waits until it is there: as long as it takes, but no longer than a minute after something came through, or until `hurry` is set.
    /// Where it is not taken at once, `refused` is told why. The copy on this machine is taken away, unless something is missing there.
    /// The recording of the run is read from this copy.
    ///
    /// # Errors
    /// It is not all there; where it is then.
    pub fn finish(mut self, hurry: &Arc<AtomicBool>, refused: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let Some((upload, place)) = self.0.take() else { return Ok(()) };
        let sent = upload.finish(hurry, refused);
        if sent.is_err() {
            place.keep();
        }
        sent
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some((_, place)) = self.0.take() {
            place.keep();
        }
    }
}

/// A worker's place among the others.
struct Among {
    /// Where they meet.
    place: MeetingPlace,
    /// Where it keeps what it launches.
    own: PathBuf,
    /// From when on it launches: a worker before it has begun this part.
    from: Instant,
    /// How far its clock was ahead of worker 1's.
    before: Option<Offset>,
    /// Tells how far it is after the end.
    clocks: Clocks,
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
    /// How it was made, as its directory says it where it has one.
    pub record: RunRecord,
    /// A few of its failures, whole, where they were looked at.
    pub failures: Vec<Exchange>,
    /// Why not all of it is in its directory, if so; what is missing there counts all the same, as long as memory had room for it.
    pub unkept: Option<offered_store::Error>,
    /// What is under way to where all workers keep what they launch, if that is no folder: whoever is done with the recording finishes it.
    pub sending: Option<Sending>,
}

impl Made {
    /// Whether a run that may be believed came to what it had to: neither a failure nor a threshold stopped it, something went well,
    /// and every threshold was kept.
    pub fn passes(&self) -> bool {
        self.went_well() && self.summary.keeps_thresholds()
    }

    /// Whether nobody can tell if it passes: all went well but a threshold that the generator's lateness would decide.
    pub fn is_open(&self) -> bool {
        self.went_well() && self.summary.leaves_thresholds_open()
    }

    /// The same, if all of it is in its directory.
    ///
    /// # Errors
    /// It is not.
    pub fn kept(self) -> Result<Self, Error> {
        match self.unkept {
            Some(unkept) => Err(unkept.into()),
            None => Ok(self),
        }
    }

    /// Whether neither a failure nor a threshold stopped it, and something succeeded.
    fn went_well(&self) -> bool {
        let failed = self.done.halted.as_ref().is_some_and(|halted| matches!(halted.end, End::Failed | End::Threshold));
        !failed && self.summary.succeeded()
    }
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
            run_id: None,
            out,
            name: point.name(),
            see_failures: false,
        }
    }

    /// What it asks of this machine beyond what that has.
    pub fn beyond(&self) -> Vec<Beyond> {
        let for_nobody = matches!(self.load, Load::Nobody(_));
        if !for_nobody {
            // As many files as the run itself may open.
            allow_sockets();
        }
        beyond(self.workload, self.share, threads(self.workload, self.share), for_nobody)
    }

    /// Prepares everything up to the first launch; `stop`, once set, ends the run before its time. A run that begins at once knocks
    /// at its target's door first.
    ///
    /// # Errors
    /// What cannot be launched, or nobody answers.
    pub fn prepare(self, stop: Arc<AtomicBool>) -> Result<Ready<'a>, Error> {
        if self.load == Load::Target && self.text.contains(BLANKED) && kept(self.text) == self.text {
            return Err(Error::Blanked);
        }
        let load = self.load.clone();
        let wall = Wall::read();
        let unless_given = || RunId::unless_given(self.share, self.start_at, wall.now());
        let run = self.run_id.clone().unwrap_or_else(unless_given);
        let generator = Generator::new(self.workload.clone(), self.share, load)?.in_run(&run).stopped_by(stop);
        let at_target = self.load == Load::Target;
        let (generator, failures) = match self.see_failures || self.out.is_some() && self.workload.is_scripted() {
            true if at_target => {
                let (witness, failures) = Witness::of_failures();
                (generator.seen_by(witness)?, Some(failures))
            }
            _ => (generator, None),
        };
        if self.start_at.is_none() {
            generator.knock()?;
        }
        let asks = at_target && self.share.index() == 0;
        let hosts = if asks { hosts::before(self.workload.observe(), wall, &generator.stop()) } else { Vec::new() };
        Ok(Ready { plan: self, run, generator, failures, wall, among: None, unsent: None, hosts, set_load: None })
    }
}

impl Ready<'_> {
    /// The same, and once `hurry` is set too, a run that is stopped waits no longer for what is under way.
    #[must_use]
    pub fn hurried_by(self, hurry: Arc<AtomicBool>) -> Self {
        Self { generator: self.generator.hurried_by(hurry), ..self }
    }

    /// The same by another clock than that of this machine: that of a machine whose clock is wrong.
    #[must_use]
    pub fn by(self, wall: Wall) -> Self {
        Self { wall, ..self }
    }

    /// The same, of which it is known for what load its rate was set.
    #[must_use]
    pub fn set_for(self, set_load: Option<SetLoad>) -> Self {
        Self { set_load, ..self }
    }

    /// The same, and `unsent` is asked while it goes on.
    pub(crate) fn telling(self, unsent: Option<Unsent>) -> Self {
        Self { unsent, ..self }
    }

    /// The observers that were asked for their clocks and did not answer: each one's name and address.
    pub fn silent_hosts(&self) -> impl Iterator<Item = (&str, &str)> {
        let silent = self.hosts.iter().filter(|host| host.token.is_none());
        silent.map(|host| (host.name.as_str(), host.address.as_str()))
    }

    /// How far its clock is ahead of worker 1's, by which it begins; `None` of worker 1 and of a run without others, and where worker 1
    /// could not be asked: then clocks are believed.
    pub fn ahead(&self) -> Option<Offset> {
        self.among.as_ref().and_then(|among| among.before)
    }

    /// Meets the other workers of the run at `place` and begins when they do; see [`offered_meet::meet`]. Worker 1 can be asked at
    /// `tell_at` what its clock shows. It keeps what it launches there, whatever its plan says, and gives a sign of life every two
    /// seconds. What is kept there of the workload is what a run directory does.
    ///
    /// Where a worker of its number was among them and gives no sign of life any more, this one takes its part up from now on. Where one
    /// of its number has only said that it is ready, two were given one number, unless an engine has `numbered` them, which starts the next
    /// when the one before is gone.
    ///
    /// # Errors
    /// They do not begin together; the worker before is alive, or has come to its end; its part cannot be taken up.
    pub fn met(
        mut self,
        place: MeetingPlace,
        wait: Nanos,
        tell_at: SocketAddr,
        numbered: bool,
        waiting: &mut dyn FnMut(&[u64]),
    ) -> Result<Self, Error> {
        if place.is_in_store() && !self.plan.workload.observe().scrapes.is_empty() {
            return Err(Error::ScrapedIntoStore);
        }
        let text = kept(self.plan.text);
        let digest = digest(wherever(&text).as_bytes());
        let me = offered_meet::Worker {
            share: self.plan.share,
            host: machine().name,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workload: digest[..16].to_owned(),
            run: self.plan.run_id.clone(),
        };
        let wall = self.wall;
        let twice = || {
            let (share, host) = (me.share, "another machine".to_owned());
            offered_meet::Error::Twice { share, host, place: place.place().name() }
        };
        let stop = self.generator.stop();
        // Where nobody is asked time is no object.
        let tell_at = Some(tell_at).filter(|_| self.plan.load == Load::Target);
        let terms = Terms { wait, stop: &stop, wall, tell_at };
        let before = if numbered { begun_again(place.place(), &me, &terms) } else { begun(place.place(), &me, wall) };
        let (Met { begin, decided, before, clocks }, from) = if let Some(met) = before? {
            self.wait_for_silence(&place, &me, met.begin)?;
            let from = Instant::ZERO + (wall.now() + PLACING).saturating_sub(met.begin);
            if from >= self.plan.workload.end() {
                return Err(offered_meet::Error::TooLate { by: wall.now().saturating_sub(met.begin) }.into());
            }
            self.generator = self.generator.from(from).ok_or(Error::Counted)?;
            (met, from)
        } else {
            (meet(place.place(), &me, &terms, waiting)?, Instant::ZERO)
        };
        self.plan.start_at = Some(begin);
        self.run = self.plan.run_id.clone().unwrap_or_else(|| RunId::of(decided));
        self.generator = self.generator.in_run(&self.run);
        let own = attempts(place.path(), me.share, from > Instant::ZERO).1;
        if !place.begin(&own, &text)? {
            return Err(twice().into());
        }
        self.among = Some(Among { place, own, from, before, clocks });
        Ok(self)
    }

    /// Returns once the last worker with the number of `me` has given no sign of life for so long that it is gone.
    fn wait_for_silence(&self, place: &MeetingPlace, me: &offered_meet::Worker, began: Nanos) -> Result<(), Error> {
        let twice = |host| offered_meet::Error::Twice { share: me.share, host, place: place.place().name() }.into();
        place.look(me.share)?;
        let (before, _) = attempts(place.path(), me.share, true);
        let last = before.last();
        if let Some(record) = last.map(|last| RunRecord::read(last)).transpose()?.flatten() {
            return Err(twice(record.machine.map_or_else(String::new, |machine| machine.name)));
        }
        let sign = || last.and_then(|last| Alive::read(last));
        let (clock, first, stop) = (Clock::start(), sign(), self.generator.stop());
        let silence =
            first.as_ref().map_or_else(|| unix_now().saturating_sub(began), |first| first.silence(unix_now()));
        let until = clock.now() + SILENT.saturating_sub(silence);
        while clock.now() < until {
            clock.sleep_until((clock.now() + NOTICE).min(until));
            if stop.load(Relaxed) {
                return Err(offered_meet::Error::Stopped.into());
            }
        }
        place.look(me.share)?;
        match sign() {
            Some(alive) if Some(&alive) != first.as_ref() => Err(twice(alive.host)),
            _ => Ok(()),
        }
    }

    /// Launches everything, keeps what happened, and judges what was kept; shown on `views` meanwhile.
    ///
    /// # Errors
    /// The directory cannot be made or written to, or the system has no room for the threads; [`Error::Unjudged`]: afterwards.
    pub fn run(self, views: Vec<Box<dyn View>>) -> Result<Made, Error> {
        let Self { plan, run, generator, failures, wall, among, unsent, mut hosts, set_load } = self;
        let Plan { text, workload, share, load, start_at, out, name, .. } = plan;
        let for_nobody = load != Load::Target;
        let started = (!for_nobody).then(|| start_at.unwrap_or_else(|| wall.now()));
        let (place, from, before, clocks) = match among {
            Some(Among { place, own, from, before, clocks }) => {
                (Some((place, own)), Instant::ZERO.until(from), before, clocks)
            }
            None => (None, Nanos::ZERO, None, Clocks::Alone),
        };
        let own = place.as_ref().map(|(_, own)| own.clone());
        let out = own.as_deref().or(out);
        let shown = match &place {
            Some((place, own)) => Some(place.shown(own)),
            None => out.map(|out| out.display().to_string()),
        };
        let store = out.map(|out| Store::create(out, text, workload, for_nobody)).transpose()?;
        let clock = (!for_nobody).then(|| clock(before));
        let sign = |started: Nanos| Alive {
            host: machine().name,
            share,
            started_unix_ns: started.0,
            at_unix_ns: unix_now().0,
            in_flight: 0,
            clock,
            copied_unix_ns: None,
        };
        let beat = started.zip(out).map(|(started, out)| beating(out.to_owned(), sign(started))).transpose()?;
        let upload = place.as_ref().map(|(place, own)| place.upload(own)).transpose()?.flatten();
        let mut tally = Tally::new(workload, share.fraction());
        if views.iter().any(|view| view.wants_totals()) {
            tally.keep_totals();
        }
        let watch = Watch {
            beat,
            unsent: upload.as_ref().map(Upload::refusal).or(unsent),
            tally,
            live: Box::new(generator.watch()),
            stop: generator.stop(),
            halt: Box::new(generator.halter()),
            ends_unkept: workload.generator().on_disk_full() == OnDiskFull::Stop,
            views,
            failures,
            out: out.map(Path::to_owned),
        };
        let keep = match &store {
            Some(store) => Keep::Recorder(store.recorder.clone()),
            None => Keep::Here(workload.labels()),
        };
        let start = start_at.map(|at| Clock::starting_at(&wall, at));
        let asked = out.filter(|_| load == Load::Target && share.index() == 0);
        let scraping = Scraping::start(workload.observe(), asked, wall)?;
        let launched = launch(&generator, start, Collector::start(keep, for_nobody, watch)?, scraping);
        if let (Err(Error::Run(offered_run::Error::SpeaksTls { .. })), Some(store)) = (&launched, &store) {
            store.forget();
            upload.into_iter().for_each(Upload::forget);
            return Err(launched.err().expect("a target that speaks TLS"));
        }
        let (done, Collected { events, failures, lost }) = launched?;
        let sending = upload.zip(place).map(|(upload, (place, _))| Sending(Some((upload, place))));
        let stop = generator.stop();
        let (after, staying) = match clocks {
            Clocks::Alone => (None, None),
            Clocks::Asks(asker) => (asker.after(&stop), None),
            Clocks::Tells(teller) => (None, thread::Builder::new().spawn(move || teller.stay(&stop)).ok()),
        };
        hosts::after(&mut hosts, wall, &AtomicBool::new(false));
        let clock = clock.map(|clock| WorkerClock { after, ..clock });
        let evidence = evidence(&done, calibrate::compared(workload, share, generator.threads()));
        let record = RunRecord {
            seed: Some(workload.seed().0),
            run_id: (!for_nobody).then_some(run),
            share,
            started_unix_ns: (!for_nobody).then_some(done.started.0),
            clock,
            generator: Some(evidence),
            machine: Some(machine()),
            hosts,
            ..RunRecord::new(if for_nobody { MadeBy::DryRun } else { MadeBy::Run }, Until::Duration)
        };
        let counts = generator.watch()();
        let unjudged = |why| Error::Unjudged { why: Box::new(why), counts, out: out.map(Path::to_owned) };
        let (recording, mut unkept) = recording(workload, events, store.as_ref(), &record, counts).map_err(unjudged)?;
        let skipped = (workload.skip_first().max(from), workload.skip_last());
        let ask = Ask { path: name, ..Ask::of_part(workload, share.fraction(), skipped.0, skipped.1) };
        let verdict = verdict(&recording, &ask, out.filter(|_| !for_nobody), &record).map_err(unjudged)?;
        let summary = Summary::new(workload, share, &recording, &done, &verdict);
        let set_load = set_load.map(|set| set.measured_in(verdict.server_side.as_ref()));
        let summary = Summary { out: shown, set_load, ..summary.map_err(|why| unjudged(why.into()))? };
        if let (Some(store), None) = (&store, &unkept) {
            unkept = record.clone().with(&summary, &verdict).write(&store.path).err();
        }
        let unkept = unkept.or(lost);
        if let (Some(store), None) = (&store, &own) {
            Alive::forget(&store.path);
        }
        if let Some(staying) = staying {
            staying.join().expect("a thread that ends");
        }
        Ok(Made { summary, verdict, ask, recording, done, record, failures, unkept, sending })
    }
}

/// What is known at the start of the clock of a worker that was so far ahead of worker 1's.
fn clock(before: Option<Offset>) -> WorkerClock {
    let kept = kept_by_kernel();
    WorkerClock {
        synchronised: kept.map(|kept| kept.synchronised),
        error_ns: kept.map(|kept| kept.error.0),
        before,
        after: None,
    }
}

/// What gives signs of life of the worker whose directory is `own`; the first is given.
fn beating(own: PathBuf, mut alive: Alive) -> Result<Box<dyn FnMut(u64) + Send>, Error> {
    alive.write(&own)?;
    Ok(Box::new(move |in_flight| {
        (alive.at_unix_ns, alive.in_flight) = (unix_now().0, in_flight);
        // A folder that cannot be written to is told by who keeps the events.
        drop(alive.write(&own));
    }))
}

/// Launches everything, while `scraping` asks; what was collected of it.
fn launch(
    generator: &Generator,
    start: Option<Clock>,
    collector: Collector,
    scraping: Scraping,
) -> Result<(Done, Collected), Error> {
    let outcome = generator.run(start, || collector.sink(), |clock| collector.begin(clock));
    let scraped = scraping.finish();
    // The collector ends when the ways to it are gone.
    let done = outcome.map(|(done, _)| done);
    // Also a run that could not begin takes its block away before it says why.
    let collected = collector.finish();
    let done = done?;
    scraped?;
    Ok((done, collected))
}

/// What to believe of it, with what the directory `observed` keeps of those that served.
fn verdict(recording: &Recording, ask: &Ask, observed: Option<&Path>, record: &RunRecord) -> Result<Verdict, Error> {
    let verdict = verify(recording, ask)?;
    let of = |run: &Path| hosts::of(&[], run, Some(record), recording, &verdict.window);
    let server_side = observed.map_or(Ok(None), of)?;
    Ok(Verdict { server_side, ..verdict })
}

/// What is seen of the generator beside its events.
fn evidence(done: &Done, calibrated: Option<Calibrated>) -> Evidence {
    Evidence {
        busy: done.workers.iter().map(Worker::busy_share).collect(),
        cpu_s: done.workers.iter().map(|worker| worker.cpu.as_secs_f64()).sum(),
        stopped: done.stopped,
        halted: done.halted.clone(),
        calibrated,
        blocks: done.blocks.clone(),
    }
}

/// The summary of a run that has not been judged yet: what was counted while it was made.
#[derive(Serialize)]
struct Counted {
    launched: u64,
    unsent: u64,
    ok: u64,
    failed: u64,
}

/// The recording of what happened: played from the disk where it was written, so that what is judged is what is kept; and why the disk
/// would not take all of it. Its record is there before it is judged, so whatever becomes of that, others can judge it.
fn recording(
    workload: &Workload,
    events: Spool,
    store: Option<&Store>,
    record: &RunRecord,
    counts: Counts,
) -> Result<(Recording, Option<offered_store::Error>), Error> {
    let (recording, unkept) = match store {
        None => {
            let (events, labels) = events.events(workload.labels())?;
            (Recording { events, ..Recording::of_run(Vec::new(), labels) }, None)
        }
        Some(store) => {
            let Counts { launched, unsent, ok, failed, .. } = counts;
            let counted = Counted { launched, unsent, ok, failed };
            let finished = store.recorder.clone().finish(&record.clone().with(counted, ()));
            match (read_events(&store.path), finished) {
                (kept, Ok(None)) => (kept?, None),
                (kept, Err(why)) => (kept?, Some(why)),
                (Ok(kept), Ok(Some(mut unkept))) => (unkept.behind(kept), Some(unkept.error())),
                // What the disk did take is gone as well.
                (Err(_), Ok(Some(unkept))) => return Err(unkept.error().into()),
            }
        }
    };
    Ok((Recording { generator: record.generator.clone(), ..recording }, unkept))
}

/// The machine that this is.
pub fn machine() -> Machine {
    let machine = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Machine {
        name: text(machine.nodename()),
        system: format!("{} {}", text(machine.sysname()), text(machine.release())),
        arch: text(machine.machine()),
        cores: cores::all(),
        kernel: Wall::read().kernel().map(|kernel| format!("{kernel:032x}")),
    }
}

/// A run directory being written.
struct Store {
    path: PathBuf,
    recorder: Recorder,
}

impl Store {
    fn create(path: &Path, text: &str, workload: &Workload, for_nobody: bool) -> Result<Self, Error> {
        let writer = Writer::create(path, &kept(text), workload.labels()).map_err(Error::Out)?;
        let recorder = Recorder::start(writer).map_err(Error::Out)?;
        let recorder = if for_nobody { recorder.for_nobody() } else { recorder };
        Ok(Self { path: path.to_owned(), recorder })
    }

    /// Takes the directory away again: of a run that came to nothing at its very beginning nothing is kept.
    fn forget(&self) {
        // When nothing more is written to it; what cannot be taken away is left.
        let _ = self.recorder.clone().finish(&RunRecord::new(MadeBy::Run, Until::Duration));
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
