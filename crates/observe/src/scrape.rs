//! Scraping during a run: exporters, nginx's `stub_status`, and the statistics of a database.
//!
//! Each scrape target has a small run of its own: a thread sends requests at a constant interval and sleeps in between.
//! It uses the same transports as every run, with their limits, timeouts and TLS, and shares nothing with the threads
//! of the measured run. A failed scrape is counted, and the run continues.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use offered_base::{Instant, Nanos, Share};
use offered_events::document::Schema;
use offered_events::{Event, Exchange};
use offered_io::{Clock, WallClock, unix_now};
use offered_run::{ExchangeObserver, Generator, Load, Sink};
use offered_store::{SampleWriter, SamplesMetadata, ScrapeInfo, files};
use offered_workload::{Address, Observe, Scrape};

use crate::{Error, ScrapeResult, SeriesFilter, TICKS_PER_S, read_response, this_machine};

/// How long the start of a run waits for the first responses of all targets together.
const FIRST_RESPONSES: Duration = Duration::from_secs(1);
/// Time between two checks for the end of the run.
const END_CHECK: Duration = Duration::from_millis(50);
/// How long the last response is waited for at the end of the run, in addition to one interval.
const LAST_RESPONSE: Nanos = Nanos::from_secs(2);

/// The scraping threads of a run.
pub struct Scraper {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Scraper {
    /// Starts scraping into new files in the run directory `out`, with timestamps of `wall`, and waits for the first responses, one second at
    /// most. Without `out` nothing is scraped.
    ///
    /// # Errors
    /// A file cannot be created, or a thread cannot be started.
    pub fn start(observe: &Observe, out: Option<&Path>, wall: WallClock) -> Result<Self, Error> {
        let mut own = Self { ended: Arc::default(), threads: Vec::new() };
        let Some(directory) = out.filter(|_| !observe.scrapes.is_empty()).map(|out| out.join(files::OBSERVED)) else {
            return Ok(own);
        };
        std::fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
        let (first_response, first_responses) = mpsc::channel();
        for scrape in &observe.scrapes {
            let writer =
                SampleWriter::create(&directory.join(format!("{}.parquet", scrape.name()))).map_err(Error::Write)?;
            let target = Target::new(scrape, writer, wall, own.ended.clone(), first_response.clone())?;
            let thread = thread::Builder::new().name("scrape".to_owned()).spawn(move || target.run());
            own.threads.push(thread.map_err(offered_run::Error::System)?);
        }
        drop(first_response);
        let clock = Clock::start();
        while let Some(left) = FIRST_RESPONSES.checked_sub(Duration::from_nanos(Instant::ZERO.until(clock.now()).0)) {
            // Every target drops its sender at its first response or failure; the channel closes after the last one.
            if first_responses.recv_timeout(left).is_err() {
                break;
            }
        }
        Ok(own)
    }

    /// Ends scraping after the run: every target is scraped once more, and its file is completed.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        self.ended.store(true, Relaxed);
        self.threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that ends"))
    }
}

/// A scrape target and its file.
struct Target {
    workload: offered_workload::Workload,
    filter: SeriesFilter,
    every: Nanos,
    writer: SampleWriter,
    metadata: SamplesMetadata,
    info: ScrapeInfo,
    wall: WallClock,
    began: Nanos,
    ended: Arc<AtomicBool>,
    first: Option<Sender<()>>,
}

/// Discards events: only the exchanges are used.
struct DiscardEvents;

impl Sink for DiscardEvents {
    fn record(&mut self, _: Vec<Event>) {}
}

impl Target {
    fn new(
        scrape: &Scrape,
        writer: SampleWriter,
        wall: WallClock,
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
        let metadata = SamplesMetadata {
            schema: Schema::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: scrape.name().to_owned(),
            machine: this_machine(),
            token: began.0,
            interval_ns: scrape.every().0,
            started_unix_ns: began.0,
            ticks_per_s: TICKS_PER_S,
            synchronised: None,
            clock_error_ns: None,
            samples: 0,
            missed: 0,
            cpu_ns: 0,
            scrape: None,
        };
        let info =
            ScrapeInfo { address: scrape.target().url().to_string(), is_local: is_here, ..ScrapeInfo::default() };
        let filter = SeriesFilter { series: scrape.series().to_vec(), counters: scrape.counters().to_vec() };
        let (workload, every) = (scrape.workload()?, scrape.every());
        Ok(Self { workload, filter, every, writer, metadata, info, wall, began, ended, first: Some(first) })
    }

    fn run(mut self) -> Result<(), Error> {
        // A target that cannot be reached now may be available later.
        while let Err(reason) = self.scrape_until_end()? {
            self.record_failure(reason);
            let (clock, every) = (Clock::start(), self.every);
            let again = clock.now() + every;
            while clock.now() < again && !self.ended.load(Relaxed) {
                clock.sleep_until(again.min(clock.now() + Nanos(END_CHECK.as_nanos() as u64)));
            }
            if self.ended.load(Relaxed) {
                break;
            }
        }
        self.metadata.scrape = Some(self.info);
        self.writer.finish(&self.metadata).map_err(Error::Write)
    }

    /// Scrapes until the run is over. The inner error is the reason why the target cannot be requested.
    fn scrape_until_end(&mut self) -> Result<Result<(), String>, Error> {
        let (observer, exchanges) = ExchangeObserver::all();
        let generator = Generator::new(self.workload.clone(), Share::ALL, Load::Target);
        let generator = match generator.and_then(|generator| generator.observed_by(observer)) {
            Ok(generator) => generator,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let stop = generator.stop();
        let generator = generator.aborted_by(stop.clone());
        thread::scope(|scope| {
            let scraping = thread::Builder::new().name("scrape".to_owned());
            let scraping =
                scraping.spawn_scoped(scope, move || generator.run(None, || DiscardEvents, |_| ()).map(drop));
            let scraping = scraping.map_err(offered_run::Error::System)?;
            let received = self.receive(&exchanges, &stop);
            stop.store(true, Relaxed);
            let result = scraping.join().expect("a thread that ends");
            received?;
            Ok(result.map_err(|error| error.to_string()))
        })
    }

    /// Receives exchanges until it gets one that was sent after the end of the run, or until the generator ends.
    fn receive(&mut self, exchanges: &Receiver<Exchange>, stop: &AtomicBool) -> Result<(), Error> {
        let clock = Clock::start();
        let mut ended_at: Option<Instant> = None;
        loop {
            if ended_at.is_none() && self.ended.load(Relaxed) {
                ended_at = Some(clock.now());
            }
            if ended_at.is_some_and(|at| clock.now() > at + self.every + LAST_RESPONSE) {
                return Ok(());
            }
            match exchanges.recv_timeout(END_CHECK) {
                Ok(exchange) => {
                    let took = Nanos((exchange.service_ms.unwrap_or(0.0) * 1e6) as u64);
                    self.record(exchange, took)?;
                    if ended_at.is_some_and(|at| clock.now() > at + took) {
                        stop.store(true, Relaxed);
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Writes the numbers of a response; `took` is its response time.
    fn record(&mut self, exchange: Exchange, took: Nanos) -> Result<(), Error> {
        // The values were read somewhere between sending and receiving: the middle is the best estimate.
        let half = Nanos(took.0 / 2);
        let (unix, monotonic) = (unix_now().saturating_sub(half), self.wall.now().saturating_sub(half + self.began));
        let reason = match (&exchange.reason, exchange.received) {
            (Some(why), _) => why.clone(),
            (None, _) if exchange.outcome != "ok" => format!("{} {}", exchange.outcome, exchange.status),
            (None, None) => "no response".to_owned(),
            (None, Some(said)) if said.truncated => {
                "the response is longer than a megabyte; configure the exporter to return fewer metrics".to_owned()
            }
            (None, Some(said)) => {
                self.writer.at(unix, monotonic).map_err(Error::Write)?;
                let (body, writer) = (said.body.unwrap_or_default(), &mut self.writer);
                match read_response(&body, &self.filter, &mut |source, metric, value| writer.put(source, metric, value))
                {
                    Some(ScrapeResult { counters, excluded, .. }) => {
                        self.metadata.samples += 1;
                        self.info.counters.extend(counters);
                        self.info.longest_scrape_ns = self.info.longest_scrape_ns.max(took.0);
                        self.info.excluded_series = self.info.excluded_series.max(excluded as u64);
                        self.first = None;
                        return Ok(());
                    }
                    None => "the response has no numbers".to_owned(),
                }
            }
        };
        self.record_failure(reason);
        Ok(())
    }

    fn record_failure(&mut self, reason: String) {
        self.info.failures += 1;
        self.info.first_error.get_or_insert(reason);
        self.first = None;
    }
}
