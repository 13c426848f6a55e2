//! Sampling the counters of this machine into a file: `offered observe`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::{Instant, Nanos};
use offered_events::document::Schema;
use offered_io::{Clock, WallClock, kernel_clock_status, thread_cpu_time, unix_now};
use offered_rendezvous::PublicClockServer;
use offered_store::{SampleWriter, SamplesMetadata};

use crate::{Counters, Error, LostSource, this_machine, ticks_per_s};

/// Time between two checks of the stop flag.
const STOP_CHECK: Nanos = Nanos::from_millis(50);

/// The sources to sample, and the file to write.
pub struct Recording {
    /// The new file (Parquet).
    pub path: PathBuf,
    /// The name of this machine in reports; `None`: its host name.
    pub name: Option<String>,
    /// Time between two samples.
    pub interval: Nanos,
    /// Processes to sample, by process ID.
    pub pids: Vec<u32>,
    /// Control groups to sample, by directory.
    pub groups: Vec<PathBuf>,
    /// The UDP address where other machines can query the clock.
    pub listen: Option<SocketAddr>,
    /// The duration; `None`: until stopped.
    pub duration: Option<Nanos>,
}

/// An event during a recording.
pub enum RecordingEvent<'a> {
    /// The recording starts.
    Started {
        /// The name of the machine.
        name: &'a str,
        /// The address where the clock of this machine can be queried.
        clock_at: Option<SocketAddr>,
    },
    /// A process or a control group has ended; sampling continues without it.
    SourceLost(&'a LostSource),
}

impl Recording {
    /// Samples until the duration is over or `stop` is set, and completes the file. Everything happens on the calling thread.
    ///
    /// # Errors
    /// A process or group does not exist, the address is not available, or the file cannot be written.
    pub fn run(
        &self,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(RecordingEvent<'_>),
    ) -> Result<SamplesMetadata, Error> {
        let mut counters = Counters::open(&self.pids, &self.groups)?;
        let wall = WallClock::read();
        let clock_server = self.listen.map(|at| {
            let clock_server = PublicClockServer::new(wall, at).map_err(|source| Error::Listen { at, source })?;
            let at = clock_server.address().map_err(|source| Error::Listen { at, source })?;
            Ok::<_, Error>((clock_server, at))
        });
        let clock_server = clock_server.transpose()?;
        let mut writer = SampleWriter::create(&self.path).map_err(Error::Write)?;
        let (clock, began, cpu_before) = (Clock::start(), wall.now(), thread_cpu_time());
        let state = kernel_clock_status();
        let mut about = SamplesMetadata {
            schema: Schema::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.name.clone().unwrap_or_else(|| this_machine().name),
            machine: this_machine(),
            token: clock_server.as_ref().map_or(began.0, |(clock_server, _)| clock_server.token()),
            interval_ns: self.interval.0,
            started_unix_ns: began.0,
            ticks_per_s: ticks_per_s(),
            synchronised: state.map(|state| state.synchronised),
            clock_error_ns: state.map(|state| state.error.0),
            samples: 0,
            missed: 0,
            cpu_ns: 0,
            scrape: None,
        };
        on_event(RecordingEvent::Started { name: &about.name, clock_at: clock_server.as_ref().map(|(_, at)| *at) });
        let mut due = Instant::ZERO;
        let last = self.duration.map(|duration| Instant::ZERO + duration);
        loop {
            if let Some((clock_server, _)) = &clock_server {
                clock_server.serve(began + Instant::ZERO.until(due), stop);
            }
            while !stop.load(Relaxed) && clock.now() < due {
                clock.sleep_until(due.min(clock.now() + STOP_CHECK));
            }
            // After a stop one more sample is taken, so that the file covers the whole time.
            let is_over = stop.load(Relaxed) || last.is_some_and(|last| clock.now() >= last);
            writer.at(unix_now(), wall.now().saturating_sub(began)).map_err(Error::Write)?;
            let lost = counters.read(&mut |source, metric, value| writer.put(source, metric, value));
            for source in &lost {
                on_event(RecordingEvent::SourceLost(source));
            }
            about.samples += 1;
            if is_over {
                break;
            }
            due += self.interval;
            // Missed samples are not taken later: they would show the values of another time.
            while due + self.interval < clock.now() {
                due += self.interval;
                about.missed += 1;
            }
            due = last.map_or(due, |last| due.min(last));
        }
        about.cpu_ns = thread_cpu_time().saturating_sub(cpu_before).0;
        writer.finish(&about).map_err(Error::Write)?;
        Ok(about)
    }
}
