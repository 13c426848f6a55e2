//! Joining the other workers of a run.

use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

use offered_base::{Instant, Nanos};
use offered_events::RunId;
use offered_io::{Clock, unix_now};
use offered_observe::this_machine;
use offered_rendezvous::{AgreedStart, JoinOptions, Worker, join, rejoin_running, rejoin_waiting};
use offered_run::Load;
use offered_store::{HEARTBEAT_TIMEOUT, Heartbeat, RunRecord, attempt_directories};
use offered_workload::digest;

use super::{Membership, PreparedRun};
use crate::Error;
use crate::location::SharedDirectory;
use crate::redact::{redact, without_location};

/// Time between taking over the share of a lost worker and the first request.
const TAKEOVER_TIME: Nanos = Nanos::from_secs(1);
/// Time between two checks of the stop flag while waiting for a heartbeat.
const STOP_CHECK: Nanos = Nanos::from_millis(100);

impl PreparedRun<'_> {
    /// Waits for the other workers at the rendezvous `shared`, and starts when they do; see [`offered_rendezvous::join`]. Other workers can
    /// query the clock of worker 1 at `clock_address`. The worker records into `shared`, not into the directory of the
    /// plan, and writes a heartbeat every two seconds. The copy of the workload there is redacted.
    ///
    /// If another worker had this share and its heartbeat stopped, this worker takes over from now on. If another worker with this share is
    /// only ready, two workers have the same number: an error, unless a cluster engine assigns the numbers (`numbered_by_engine`) and
    /// restarts lost workers. `on_waiting` gets the shares that are still missing.
    ///
    /// # Errors
    /// The workers do not start together; the previous worker of this share is alive or has finished; its share cannot be taken over.
    pub fn join(
        mut self,
        shared: SharedDirectory,
        wait: Nanos,
        clock_address: SocketAddr,
        numbered_by_engine: bool,
        on_waiting: &mut dyn FnMut(&[u64]),
    ) -> Result<Self, Error> {
        if shared.is_in_store() && !self.plan.workload.observe().scrapes.is_empty() {
            return Err(Error::ScrapeIntoStore);
        }
        let text = redact(self.plan.text);
        let digest = digest(without_location(&text).as_bytes());
        let me = Worker {
            share: self.plan.share,
            host: this_machine().name,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workload_hash: digest[..16].to_owned(),
            run_id: self.plan.run_id.clone(),
        };
        let wall = self.wall;
        let place = shared.place();
        let stop = self.generator.stop();
        // Without a target, clock differences do not matter.
        let clock_address = Some(clock_address).filter(|_| self.plan.load == Load::Target);
        let options = JoinOptions { wait, stop: &stop, wall, clock_address };
        let started =
            if numbered_by_engine { rejoin_waiting(place, &me, &options) } else { rejoin_running(place, &me, wall) };
        let (AgreedStart { start, reference_start, offset, clock_role }, resume_at) = if let Some(agreed) = started? {
            self.wait_for_silence(&shared, &me, agreed.start)?;
            let resume_at = Instant::ZERO + (wall.now() + TAKEOVER_TIME).saturating_sub(agreed.start);
            if resume_at >= self.plan.workload.end() {
                return Err(offered_rendezvous::Error::TooLate { by: wall.now().saturating_sub(agreed.start) }.into());
            }
            self.generator = self.generator.from(resume_at).ok_or(Error::TakeoverOfCountedRun)?;
            (agreed, resume_at)
        } else {
            (join(place, &me, &options, on_waiting)?, Instant::ZERO)
        };
        self.plan.start_at = Some(start);
        self.run_id = self.plan.run_id.clone().unwrap_or_else(|| RunId::of(reference_start));
        self.generator = self.generator.in_run(&self.run_id);
        let directory = attempt_directories(shared.path(), me.share, resume_at > Instant::ZERO).1;
        if !shared.begin(&directory, &text)? {
            return Err(duplicate_worker(&shared, &me, "another machine".to_owned()));
        }
        self.membership = Some(Membership { shared, directory, resume_at, offset_before: offset, clock_role });
        Ok(self)
    }

    /// Returns once the heartbeat of the previous worker with this share is older than the timeout.
    fn wait_for_silence(&self, shared: &SharedDirectory, me: &Worker, started: Nanos) -> Result<(), Error> {
        shared.refresh_share(me.share)?;
        let (previous, _) = attempt_directories(shared.path(), me.share, true);
        let last = previous.last();
        if let Some(record) = last.map(|last| RunRecord::read(last)).transpose()?.flatten() {
            let host = record.machine.map_or_else(String::new, |machine| machine.name);
            return Err(duplicate_worker(shared, me, host));
        }
        let heartbeat = || last.and_then(|last| Heartbeat::read(last));
        let (clock, first, stop) = (Clock::start(), heartbeat(), self.generator.stop());
        let silence =
            first.as_ref().map_or_else(|| unix_now().saturating_sub(started), |first| first.silence(unix_now()));
        let until = clock.now() + HEARTBEAT_TIMEOUT.saturating_sub(silence);
        while clock.now() < until {
            clock.sleep_until((clock.now() + STOP_CHECK).min(until));
            if stop.load(Relaxed) {
                return Err(offered_rendezvous::Error::Stopped.into());
            }
        }
        shared.refresh_share(me.share)?;
        match heartbeat() {
            Some(heartbeat) if Some(&heartbeat) != first.as_ref() => Err(duplicate_worker(shared, me, heartbeat.host)),
            _ => Ok(()),
        }
    }
}

/// Two workers have the same share.
fn duplicate_worker(shared: &SharedDirectory, me: &Worker, host: String) -> Error {
    offered_rendezvous::Error::DuplicateWorker { share: me.share, host, rendezvous: shared.place().name() }.into()
}
