//! Observing a machine: its counters, again and again, into a file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_clock::{Clock, Wall, cpu_time, kept, unix_now};
use offered_meet::Answerer;
use offered_model::document::Schema;
use offered_model::{Instant, Nanos};
use offered_observe::{Counters, Gone, ticks_per_s};
use offered_store::{Observed, SampleWriter};

use crate::{Error, machine};

/// How soon a stop is noticed.
const NOTICE: Nanos = Nanos::from_millis(50);

/// What is observed, and how.
pub struct Observing {
    /// The new file.
    pub out: PathBuf,
    /// What a reader is to call this machine; else by its own name.
    pub name: Option<String>,
    /// From one sample to the next.
    pub every: Nanos,
    /// Processes beside the machine.
    pub pids: Vec<u32>,
    /// Control groups beside it, by their directories.
    pub groups: Vec<PathBuf>,
    /// Where the clock can be asked.
    pub listen: Option<SocketAddr>,
    /// For how long; else until it is stopped.
    pub lasts: Option<Nanos>,
}

/// A piece of news of an observer.
pub enum Seen<'a> {
    /// It begins.
    Begins {
        /// What the machine is called.
        name: &'a str,
        /// Where its clock can be asked, if it can.
        clock_at: Option<SocketAddr>,
    },
    /// A process or a control group is no more.
    Gone(&'a Gone),
}

impl Observing {
    /// Observes until its time is over or `stop` is set; the file is whole then. One thread does it all, this one.
    ///
    /// # Errors
    /// What cannot be observed, an address where nobody can listen, a file that cannot be written.
    pub fn run(&self, stop: &AtomicBool, told: &mut dyn FnMut(Seen<'_>)) -> Result<Observed, Error> {
        let mut counters = Counters::open(&self.pids, &self.groups)?;
        let wall = Wall::read();
        let answerer = self.listen.map(|at| {
            let answerer = Answerer::new(wall, at).map_err(|source| Error::Listen { at, source })?;
            let at = answerer.at().map_err(|source| Error::Listen { at, source })?;
            Ok::<_, Error>((answerer, at))
        });
        let answerer = answerer.transpose()?;
        let mut writer = SampleWriter::create(&self.out).map_err(Error::Out)?;
        let (clock, began, used) = (Clock::start(), wall.now(), cpu_time());
        let state = kept();
        let mut about = Observed {
            schema: Schema::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.name.clone().unwrap_or_else(|| machine().name),
            machine: machine(),
            token: answerer.as_ref().map_or(began.0, |(answerer, _)| answerer.token()),
            every_ns: self.every.0,
            began_unix_ns: began.0,
            ticks_per_s: ticks_per_s(),
            synchronised: state.map(|state| state.synchronised),
            error_ns: state.map(|state| state.error.0),
            samples: 0,
            missed: 0,
            cpu_ns: 0,
            scraped: None,
        };
        told(Seen::Begins { name: &about.name, clock_at: answerer.as_ref().map(|(_, at)| *at) });
        let mut due = Instant::ZERO;
        let last = self.lasts.map(|lasts| Instant::ZERO + lasts);
        loop {
            if let Some((answerer, _)) = &answerer {
                answerer.answer(began + Instant::ZERO.until(due), stop);
            }
            while !stop.load(Relaxed) && clock.now() < due {
                clock.sleep_until(due.min(clock.now() + NOTICE));
            }
            // What is stopped takes one more sample: the file reaches to its end.
            let is_over = stop.load(Relaxed) || last.is_some_and(|last| clock.now() >= last);
            writer.at(unix_now(), wall.now().saturating_sub(began)).map_err(Error::Out)?;
            let gone = counters.read(&mut |source, metric, value| writer.put(source, metric, value));
            for gone in &gone {
                told(Seen::Gone(gone));
            }
            about.samples += 1;
            if is_over {
                break;
            }
            due += self.every;
            // What is long past is not made up for: it would tell of now.
            while due + self.every < clock.now() {
                due += self.every;
                about.missed += 1;
            }
            due = last.map_or(due, |last| due.min(last));
        }
        about.cpu_ns = cpu_time().saturating_sub(used).0;
        writer.finish(&about).map_err(Error::Out)?;
        Ok(about)
    }
}
