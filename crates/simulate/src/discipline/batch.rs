//! Continuous batching: an engine for language models.

use std::collections::VecDeque;

use offered_base::{Instant, Nanos};
use offered_workload::engine::Engine;

use super::{Discipline, Job};

/// Makes tokens for a batch of sequences, step by step (see [`Engine`]).
///
/// Sequences join and leave between steps: a job that arrives during a step waits for its end, a job that finds the
/// engine idle begins at once. Prompts are processed first, in order of arrival; the step that reads the last token of
/// a prompt makes the first token of the response. Jobs of one step complete in order of arrival. Memory for the
/// sequences is not modelled, so no sequence is interrupted.
#[derive(Clone, Debug)]
pub struct Batch {
    engine: Engine,
    waiting: VecDeque<Job>,
    running: Vec<Sequence>,
    /// The end of the current step; `None` without running sequences.
    step_end: Instant,
    /// Jobs that completed at the end of the last step, which was at `finished_at`.
    finished: VecDeque<Job>,
    finished_at: Instant,
    /// Whether a step has ended since tokens were last reported.
    has_new_tokens: bool,
}

/// A job in the batch.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    job: Job,
    /// Prompt tokens that are not yet processed at the end of the current step.
    unread: u32,
    /// Tokens of the response so far.
    made: u32,
}

impl Batch {
    /// An idle engine.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            waiting: VecDeque::new(),
            running: Vec::new(),
            step_end: Instant::ZERO,
            finished: VecDeque::new(),
            finished_at: Instant::ZERO,
            has_new_tokens: false,
        }
    }

    /// Begins a step at `now` with the jobs that fit, if there are any.
    fn begin_step(&mut self, now: Instant) {
        while self.running.len() < self.engine.sequences as usize
            && let Some(mut job) = self.waiting.pop_front()
        {
            job.tokens.cached = self.engine.cached(job.tokens.counts);
            self.running.push(Sequence { job, unread: job.tokens.counts.prompt - job.tokens.cached, made: 0 });
        }
        let most = self.engine.prompt_chunk.unwrap_or(u32::MAX);
        let mut left = most;
        for sequence in &mut self.running {
            let chunk = sequence.unread.min(left);
            sequence.unread -= chunk;
            left -= chunk;
        }
        self.step_end = now
            + self.engine.step
            + self.engine.per_sequence * self.running.len() as u64
            + self.engine.per_prompt_token * u64::from(most - left);
    }

    /// Ends the current step: each sequence with a completely processed prompt gets another token.
    fn end_step(&mut self) {
        let at = self.step_end;
        self.finished_at = at;
        self.has_new_tokens = true;
        let finished = &mut self.finished;
        self.running.retain_mut(|sequence| {
            if sequence.unread > 0 {
                return true;
            }
            sequence.made += 1;
            if sequence.made == 1 {
                sequence.job.tokens.first_after = sequence.job.arrived.until(at);
            }
            let continues = sequence.made < sequence.job.tokens.counts.output;
            if !continues {
                finished.push_back(sequence.job);
            }
            continues
        });
        self.begin_step(at);
    }
}

impl Discipline for Batch {
    fn arrive(&mut self, now: Instant, job: Job) {
        self.waiting.push_back(job);
        if self.running.is_empty() {
            self.begin_step(now);
        }
    }

    fn next(&self) -> Option<Instant> {
        let step = (!self.running.is_empty()).then_some(self.step_end);
        if self.finished.is_empty() { step } else { Some(self.finished_at) }
    }

    fn complete(&mut self, now: Instant) -> Option<Job> {
        while self.finished.is_empty() {
            if self.running.is_empty() || self.step_end > now {
                return None;
            }
            self.end_step();
        }
        self.finished.pop_front()
    }

    fn cancel(&mut self, id: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|job| job.id != id);
        self.waiting.len() < before
    }

    fn remaining(&self, _: Instant, report: &mut dyn FnMut(u64, Nanos)) {
        let Engine { step, per_sequence, per_prompt_token, .. } = self.engine;
        for Sequence { job, unread, made } in &self.running {
            let steps = u64::from(job.tokens.counts.output.max(1) - made);
            report(job.id, (step + per_sequence) * steps + per_prompt_token * u64::from(*unread));
        }
    }

    fn tokens(&mut self, report: &mut dyn FnMut(u64, u32)) {
        if std::mem::take(&mut self.has_new_tokens) {
            self.running
                .iter()
                .filter(|sequence| sequence.made > 0)
                .for_each(|sequence| report(sequence.job.id, sequence.made));
        }
    }
}

#[cfg(test)]
mod tests {
    use offered_workload::engine::TokenCounts;

    use super::super::JobTokens;
    use super::*;

    fn job(id: u64, at_ms: u64, prompt: u32, output: u32) -> Job {
        let counts = TokenCounts { prompt, repeated: 0, output };
        let tokens = JobTokens { counts, ..JobTokens::default() };
        Job { id, class: 0, size: Nanos::ZERO, arrived: Instant::from_millis(at_ms), tokens }
    }

    /// Runs jobs in order of arrival. Returns the id, the instant of the first token and that of the last, in ms.
    fn run(engine: Engine, jobs: &[Job]) -> Vec<(u64, f64, f64)> {
        let (mut server, mut done) = (Batch::new(engine), Vec::new());
        let mut drain = |server: &mut Batch, until: Instant| {
            while let Some(at) = server.next().filter(|at| *at <= until) {
                let finished = server.complete(at);
                done.extend(finished.map(|job| {
                    let first = job.arrived + job.tokens.first_after;
                    (job.id, first.0 as f64 / 1e6, at.0 as f64 / 1e6)
                }));
            }
        };
        for job in jobs {
            drain(&mut server, job.arrived);
            server.arrive(job.arrived, *job);
        }
        drain(&mut server, Instant::MAX);
        done
    }

    #[test]
    fn sequences_join_and_leave_between_steps() {
        let engine: Engine = "8ms,1ms,2,10us".parse().unwrap();
        // Alone: 100 prompt tokens and a token in 8 + 1 + 1 ms, then two tokens in 9 ms each.
        assert_eq!(run(engine, &[job(1, 5, 100, 3)]), [(1, 15.0, 33.0)]);
        // The second joins at 15, and its prompt delays the first: 8 + 2 + 2 ms, then 10; the third waits for a place until 27.
        let jobs = [job(1, 5, 100, 3), job(2, 7, 200, 2), job(3, 8, 0, 1)];
        assert_eq!(run(engine, &jobs), [(1, 15.0, 37.0), (2, 27.0, 37.0), (3, 46.0, 46.0)]);
    }

    #[test]
    fn prompts_are_read_in_by_chunks() {
        let engine = Engine { prompt_chunk: Some(150), ..("8ms,1ms,4,10us".parse().unwrap()) };
        // 150 and 50 of its own tokens: steps of 10.5 ms, and then of 8 + 2 + 1.5 ms, with 100 tokens of the second.
        let jobs = [job(1, 0, 200, 2), job(2, 1, 100, 1)];
        assert_eq!(run(engine, &jobs), [(2, 22.0, 22.0), (1, 22.0, 31.0)]);
    }

    #[test]
    fn tokens_are_reported_once_a_step() {
        let mut server = Batch::new("8ms,1ms,2".parse().unwrap());
        server.arrive(Instant::ZERO, job(7, 0, 10, 3));
        let mut counts = Vec::new();
        while let Some(at) = server.next() {
            let done = server.complete(at);
            server.tokens(&mut |id, made| counts.push((id, made)));
            server.tokens(&mut |_, _| panic!("reported already"));
            assert_eq!(done.is_some(), counts.len() == 2 && server.next().is_none());
        }
        assert_eq!(counts, [(7, 1), (7, 2)]);
    }

    #[test]
    fn waiting_jobs_can_be_cancelled() {
        let mut server = Batch::new("8ms,1ms,1".parse().unwrap());
        server.arrive(Instant::ZERO, job(1, 0, 10, 3));
        server.arrive(Instant::ZERO, job(2, 0, 10, 3));
        assert_eq!((server.cancel(1), server.cancel(2), server.cancel(2)), (false, true, false));
    }
}
