//! Asking for numbers while a run goes on: exporters, nginx's `stub_status`, a database's own statistics.
//!
//! Each is asked by a small run of its own, an even stream of launches by a thread that sleeps, over the transports that everything is
//! asked by. So it has their bounds, their time-outs and their TLS, and shares nothing with the threads that launch. What is asked in
//! vain is counted and told, and the run goes on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use offered_clock::{Clock, Wall, unix_now};
use offered_model::document::Schema;
use offered_model::workload::{Address, Observe, Scrape};
use offered_model::{Event, Exchange, Instant, Nanos, Share};
use offered_observe::{Chosen, Found, TICKS_PER_S, scraped};
use offered_run::{Generator, Load, Sink, Witness};
use offered_store::{Observed, SampleWriter, Scraped, files};

use crate::Error;
use crate::run::machine;

/// So long a run waits at its beginning for first answers, all together.
const FIRST: Duration = Duration::from_secs(1);
/// How soon the end of the run is noticed.
const NOTICE: Duration = Duration::from_millis(50);
/// Beyond one interval, so long is waited at its end for a last answer.
const LAST: Nanos = Nanos::from_secs(2);

/// Those that ask beside a run.
pub(crate) struct Scraping {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Scraping {
    /// Begins to ask, into new files in the directory of the run `out` (without one nobody asks), stamped by `wall`; and waits for the first answers, but for no more
    /// than a second.
    ///
    /// # Errors
    /// A file cannot be made; the system has no room for the threads.
    pub(crate) fn start(observe: &Observe, out: Option<&Path>, wall: Wall) -> Result<Self, Error> {
        let mut own = Self { ended: Arc::default(), threads: Vec::new() };
        let Some(folder) = out.filter(|_| !observe.scrapes.is_empty()).map(|out| out.join(files::OBSERVED)) else {
            return Ok(own);
        };
        std::fs::create_dir_all(&folder).map_err(Error::file("make", &folder))?;
        let (first, firsts) = mpsc::channel();
        for scrape in &observe.scrapes {
            let writer =
                SampleWriter::create(&folder.join(format!("{}.parquet", scrape.name()))).map_err(Error::Out)?;
            let asking = Asking::new(scrape, writer, wall, own.ended.clone(), first.clone())?;
            let thread = thread::Builder::new().name("scrape".to_owned()).spawn(move || asking.run());
            own.threads.push(thread.map_err(offered_run::Error::System)?);
        }
        drop(first);
        let clock = Clock::start();
        while let Some(left) = FIRST.checked_sub(Duration::from_nanos(Instant::ZERO.until(clock.now()).0)) {
            // Each says once that it has been answered or not; then there is nobody left to say anything.
            if firsts.recv_timeout(left).is_err() {
                break;
            }
        }
        Ok(own)
    }

    /// The run is over: each asks once more, and its file is whole.
    ///
    /// # Errors
    /// The disk refused.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.ended.store(true, Relaxed);
        self.threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that ends"))
    }
}

/// One that asks.
struct Asking {
    workload: offered_model::Workload,
    chosen: Chosen,
    every: Nanos,
    writer: SampleWriter,
    about: Observed,
    told: Scraped,
    wall: Wall,
    began: Nanos,
    ended: Arc<AtomicBool>,
    first: Option<Sender<()>>,
}

/// Events are of no interest here: exchanges are.
struct Nothing;

impl Sink for Nothing {
    fn keep(&mut self, _: Vec<Event>) {}
}

impl Asking {
    fn new(
        scrape: &Scrape,
        writer: SampleWriter,
        wall: Wall,
        ended: Arc<AtomicBool>,
        first: Sender<()>,
    ) -> Result<Self, Error> {
        let began = wall.now();
        let is_here = match &scrape.target().url().address {
            Address::Tcp { host, .. } => {
                host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
            }
            Address::Unix(_) => true,
        };
        let about = Observed {
            schema: Schema::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: scrape.name().to_owned(),
            machine: machine(),
            token: began.0,
            every_ns: scrape.every().0,
            began_unix_ns: began.0,
            ticks_per_s: TICKS_PER_S,
            synchronised: None,
            error_ns: None,
            samples: 0,
            missed: 0,
            cpu_ns: 0,
            scraped: None,
        };
        let told = Scraped { at: scrape.target().url().to_string(), is_here, ..Scraped::default() };
        let chosen = Chosen { series: scrape.series().to_vec(), counters: scrape.counters().to_vec() };
        let (workload, every) = (scrape.workload()?, scrape.every());
        Ok(Self { workload, chosen, every, writer, about, told, wall, began, ended, first: Some(first) })
    }

    fn run(mut self) -> Result<(), Error> {
        // Who cannot be asked at all now may be there later.
        while let Err(why) = self.attempt()? {
            self.failed(why);
            let (clock, every) = (Clock::start(), self.every);
            let again = clock.now() + every;
            while clock.now() < again && !self.ended.load(Relaxed) {
                clock.sleep_until(again.min(clock.now() + Nanos(NOTICE.as_nanos() as u64)));
            }
            if self.ended.load(Relaxed) {
                break;
            }
        }
        self.about.scraped = Some(self.told);
        self.writer.finish(&self.about).map_err(Error::Out)
    }

    /// Asks until the run is over; inside, why nobody can be asked.
    fn attempt(&mut self) -> Result<Result<(), String>, Error> {
        let (witness, seen) = Witness::of_everything();
        let generator = Generator::new(self.workload.clone(), Share::ALL, Load::Target);
        let generator = match generator.and_then(|generator| generator.seen_by(witness)) {
            Ok(generator) => generator,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let stop = generator.stop();
        let generator = generator.hurried_by(stop.clone());
        thread::scope(|scope| {
            let asking = thread::Builder::new().name("scrape".to_owned());
            let asking = asking.spawn_scoped(scope, move || generator.run(None, || Nothing, |_| ()).map(drop));
            let asking = asking.map_err(offered_run::Error::System)?;
            let heard = self.hear(&seen, &stop);
            stop.store(true, Relaxed);
            let asked = asking.join().expect("a thread that ends");
            heard?;
            Ok(asked.map_err(|why| why.to_string()))
        })
    }

    /// Hears the answers until one that was asked for after the end of the run, or until nobody asks any more.
    fn hear(&mut self, seen: &Receiver<Exchange>, stop: &AtomicBool) -> Result<(), Error> {
        let clock = Clock::start();
        let mut over: Option<Instant> = None;
        loop {
            if over.is_none() && self.ended.load(Relaxed) {
                over = Some(clock.now());
            }
            if over.is_some_and(|over| clock.now() > over + self.every + LAST) {
                return Ok(());
            }
            match seen.recv_timeout(NOTICE) {
                Ok(exchange) => {
                    let took = Nanos((exchange.service_ms.unwrap_or(0.0) * 1e6) as u64);
                    self.take(exchange, took)?;
                    if over.is_some_and(|over| clock.now() > over + took) {
                        stop.store(true, Relaxed);
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Keeps what an answer says that took so long.
    fn take(&mut self, exchange: Exchange, took: Nanos) -> Result<(), Error> {
        // Somewhere between asking and hearing the numbers were what they are.
        let half = Nanos(took.0 / 2);
        let (unix, monotonic) = (unix_now().saturating_sub(half), self.wall.now().saturating_sub(half + self.began));
        let why = match (&exchange.why, exchange.answered) {
            (Some(why), _) => why.clone(),
            (None, _) if exchange.outcome != "ok" => format!("{} {}", exchange.outcome, exchange.status),
            (None, None) => "no answer".to_owned(),
            (None, Some(said)) if said.cut => {
                "its answer is longer than a megabyte; choose fewer numbers where it is asked".to_owned()
            }
            (None, Some(said)) => {
                self.writer.at(unix, monotonic).map_err(Error::Out)?;
                let (answer, writer) = (said.body.unwrap_or_default(), &mut self.writer);
                match scraped(&answer, &self.chosen, &mut |source, metric, value| writer.put(source, metric, value)) {
                    Some(Found { counters, left_out, .. }) => {
                        self.about.samples += 1;
                        self.told.counters.extend(counters);
                        self.told.longest_ns = self.told.longest_ns.max(took.0);
                        self.told.left_out = self.told.left_out.max(left_out as u64);
                        self.first = None;
                        return Ok(());
                    }
                    None => "there are no numbers in its answer".to_owned(),
                }
            }
        };
        self.failed(why);
        Ok(())
    }

    fn failed(&mut self, why: String) {
        self.told.failures += 1;
        self.told.why.get_or_insert(why);
        self.first = None;
    }
}
