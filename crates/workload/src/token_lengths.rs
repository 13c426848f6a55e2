//! The lengths of the prompts and responses of a workload, for a modelled engine.
//!
//! The body of a request determines the lengths: its prompts and `max_tokens` are variables. A response has exactly
//! that number of tokens, as with `ignore_eos`.

use offered_base::{InvalidValue, Seed};
use offered_schedule::trace::TokenEntry;
use offered_schedule::{Launch, Replay, Sessions};

use crate::engine::TokenCounts;
use crate::prompt::{Prompt, PromptKey};
use crate::script::{Draw, Per, Source, TraceValue, Variable};
use crate::template::{Name, Piece};
use crate::{Request, Workload};

/// The keys of a body that hold the number of tokens of a response.
const MAX_TOKENS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// The token counts of the requests of a workload: functions of (seed, session, visit, step).
#[derive(Clone, Debug)]
pub struct TokenLengths {
    seed: Seed,
    requests: Vec<RequestLengths>,
    /// The visits of each scenario; a single entry without scenarios.
    visits: Vec<Visits>,
    /// The trace with numbers of tokens.
    trace: Option<Replay>,
}

/// What the visits of sessions are.
#[derive(Clone, Copy, Debug, Default)]
struct Visits {
    /// Whether each visit is made by a new visitor.
    renew: bool,
    /// Whether each request has its own lengths.
    are_requests: bool,
}

impl Visits {
    fn of(sessions: &Sessions) -> Self {
        match sessions {
            Sessions::Closed(closed) => Self { renew: closed.renews(), are_requests: closed.flows().is_none() },
            _ => Self::default(),
        }
    }

    /// The index of a random draw, as a run has it.
    fn draw_index(self, per: Per, launch: Launch) -> u32 {
        match per {
            Per::Session if !self.renew => 0,
            Per::Session | Per::Visit if !self.are_requests => launch.visit.number(),
            Per::Session | Per::Visit | Per::Request => launch.step,
        }
    }
}

#[derive(Clone, Debug)]
struct RequestLengths {
    prompts: Vec<(u16, Per, Prompt)>,
    output: Output,
    /// Whether a prompt contains the earlier turns of its session.
    grows: bool,
}

/// The number of tokens of a response.
#[derive(Clone, Debug)]
enum Output {
    Constant(u32),
    Drawn(u16, Per, Draw),
    Trace(TraceValue),
}

impl Workload {
    /// The replay of a trace with numbers of tokens.
    pub fn token_trace(&self) -> Option<&Replay> {
        match self.sessions() {
            Sessions::Replay(replay) if replay.trace().has_tokens() => Some(replay),
            _ => None,
        }
    }

    /// The token counts of the requests of this workload.
    ///
    /// # Errors
    /// The body of a request does not state the lengths of prompt and response.
    pub fn token_lengths(&self) -> Result<TokenLengths, InvalidValue> {
        let lengths = |request: &Request| {
            RequestLengths::of(request, self.variables()).ok_or_else(|| {
                InvalidValue::new(format!(
                    "an engine needs the numbers of tokens of the request {}; write a prompt variable and \
                     max_tokens in its body",
                    request.name()
                ))
            })
        };
        let requests = self.requests().iter().map(lengths).collect::<Result<Vec<_>, _>>()?;
        if requests.iter().any(|request| request.grows) && matches!(self.sessions(), Sessions::Closed(_)) {
            return Err(InvalidValue::new("conversations of closed users are not simulated; use arrivals.partly_open"));
        }
        let visits = match self.scenarios() {
            Some(scenarios) => scenarios.all().iter().map(|scenario| Visits::of(&scenario.sessions)).collect(),
            None => vec![Visits::of(self.sessions())],
        };
        Ok(TokenLengths { seed: self.seed(), requests, visits, trace: self.token_trace().cloned() })
    }
}

impl TokenLengths {
    /// The token counts of the scheduled request `launch`, which sends request `label` of the workload.
    pub fn of(&self, launch: Launch, label: u16) -> TokenCounts {
        let lengths = &self.requests[usize::from(label)];
        let visits = &self.visits[(launch.session % self.visits.len() as u64) as usize];
        let turn = |step: u32| {
            let launch = Launch { step, ..launch };
            let entry = self.trace.as_ref().and_then(|replay| replay.tokens(launch.session, step));
            lengths.turn(self.seed, launch.session, entry, |per| visits.draw_index(per, launch))
        };
        let mut tokens = turn(launch.step);
        if lengths.grows {
            let before: u32 = (0..launch.step).map(turn).map(|turn| turn.prompt - turn.repeated + turn.output).sum();
            // The shared prefix begins the first turn, and comes once.
            if launch.step > 0 {
                tokens.prompt -= tokens.repeated;
                tokens.repeated += before;
                tokens.prompt += tokens.repeated;
            }
        }
        tokens
    }
}

impl RequestLengths {
    fn of(request: &Request, variables: &[Variable]) -> Option<Self> {
        let find = |name: &Name| {
            let number = variables.iter().position(|variable| variable.name == *name.variable)?;
            Some((number as u16, &variables[number]))
        };
        let (mut prompts, mut output, mut grows) = (Vec::new(), None, false);
        let mut text = "";
        for piece in request.body().text()?.pieces() {
            if let Piece::Text(literal) = piece {
                text = literal;
                output = output.or_else(|| constant(literal));
                continue;
            }
            for (number, variable) in piece.names().into_iter().filter_map(find) {
                match &variable.source {
                    Source::Prompt(prompt) => prompts.push((number, variable.per, prompt.clone())),
                    Source::Random(draw) if ends_with_key(text) => {
                        output = Some(Output::Drawn(number, variable.per, draw.clone()));
                    }
                    Source::TraceValue(value) if ends_with_key(text) => output = Some(Output::Trace(*value)),
                    Source::Constant(Ok(value)) if ends_with_key(text) => {
                        output = value.trim().parse().ok().map(Output::Constant);
                    }
                    Source::Conversation(user) => {
                        grows = true;
                        let named = variables.iter().position(|variable| variable.name == *user)?;
                        if let Variable { source: Source::Prompt(prompt), per, .. } = &variables[named] {
                            prompts.push((named as u16, *per, prompt.clone()));
                        }
                    }
                    _ => {}
                }
            }
            text = "";
        }
        if prompts.is_empty() { None } else { Some(Self { prompts, output: output?, grows }) }
    }

    /// The tokens of one turn, without earlier ones; its shared prefix counts as repeated.
    fn turn(
        &self,
        seed: Seed,
        session: u64,
        entry: Option<TokenEntry<'_>>,
        draw_index: impl Fn(Per) -> u32,
    ) -> TokenCounts {
        let mut tokens = TokenCounts::default();
        for (variable, per, prompt) in &self.prompts {
            let key = PromptKey { seed, variable: *variable, session, draw: draw_index(*per), entry };
            tokens.prompt += u32::try_from(prompt.tokens(key)).unwrap_or(u32::MAX);
            tokens.repeated += prompt.repeated_tokens(key);
        }
        tokens.output = match &self.output {
            Output::Constant(output) => *output,
            Output::Trace(value) => entry.map_or(1, |entry| value.of(entry)),
            Output::Drawn(variable, per, draw) => {
                draw.text(seed, *variable, session, draw_index(*per)).parse().map_or(0.0, f64::round) as u32
            }
        };
        tokens
    }
}

/// Whether a text ends with `"max_tokens":`, before a value.
fn ends_with_key(text: &str) -> bool {
    let Some(before) = text.trim_end().strip_suffix(':') else { return false };
    let key = before.trim_end().trim_end_matches('"');
    MAX_TOKENS.iter().any(|name| key.ends_with(name))
}

/// The number after `"max_tokens":` in a text.
fn constant(text: &str) -> Option<Output> {
    let after = MAX_TOKENS.iter().find_map(|name| {
        let (_, after) = text.split_once(&format!("\"{name}\""))?;
        after.trim_start().strip_prefix(':')
    })?;
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().map(Output::Constant)
}

#[cfg(test)]
mod tests {
    use offered_base::Instant;
    use offered_schedule::Visit;

    use super::*;

    fn first(session: u64) -> Launch {
        Launch { intended: Instant::ZERO, session, step: 0, place: 0, visit: Visit::FIRST }
    }

    fn lengths(body: &str) -> Result<TokenLengths, String> {
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[variables]\nprompt = {{ prompt = \"uniform:10..20\" }}\n\
             answer = {{ random = \"uniform:5..9\", per = \"request\" }}\n\
             shared = {{ prompt = \"constant:30\", prefix = {{ tokens = 100, groups = 2 }} }}\n\
             talk = {{ conversation = \"prompt\" }}\n\
             [[request]]\npost = \"/v1\"\nbody = '{body}'\nstream = \"openai\"\n"
        );
        let none = |_: &str| Err("no files".to_owned());
        let workload = Workload::parse(&text, "w.toml", &none).map_err(|mistake| mistake.to_string())?;
        workload.token_lengths().map_err(|error| error.to_string())
    }

    #[test]
    fn lengths_are_read_off_the_body() {
        let drawn = lengths(r#"{"messages": [{"content": "{{prompt}}"}], "max_tokens": {{answer}}}"#).unwrap();
        let of: Vec<TokenCounts> = (0..50).map(|session| drawn.of(first(session), 0)).collect();
        assert!(of.iter().all(|t| (10..=20).contains(&t.prompt) && (5..=9).contains(&t.output) && t.repeated == 0));
        assert!(of.iter().any(|tokens| *tokens != of[0]));
        let plain = lengths(r#"{"max_tokens": 64, "prompt": "{{shared}}"}"#).unwrap();
        assert_eq!(plain.of(first(7), 0), TokenCounts { prompt: 130, repeated: 100, output: 64 });
        for body in [r#"{"prompt": "{{prompt}}"}"#, r#"{"max_tokens": 64, "prompt": "a"}"#] {
            assert!(lengths(body).unwrap_err().contains("an engine needs the numbers of tokens"), "{body}");
        }
    }

    #[test]
    fn conversations_grow_by_their_turns() {
        let talk = lengths(r#"{"messages": {{talk}}, "max_completion_tokens": {{answer}}}"#).unwrap();
        let single = lengths(r#"{"messages": "{{prompt}}", "max_tokens": {{answer}}}"#).unwrap();
        let turns: Vec<TokenCounts> = (0..4).map(|step| single.of(Launch { step, ..first(3) }, 0)).collect();
        for step in 0..4 {
            let before: u32 = turns[..step].iter().map(|turn| turn.prompt + turn.output).sum();
            let grown =
                TokenCounts { prompt: before + turns[step].prompt, repeated: before, output: turns[step].output };
            assert_eq!(talk.of(Launch { step: step as u32, ..first(3) }, 0), grown);
        }
    }

    #[test]
    fn a_user_who_becomes_a_new_visitor_has_new_lengths() {
        let is_constant = |visitor: &str| {
            let text = "duration = \"1s\"\narrivals.closed = { users = 1, visitor = \"VISITOR\" }\n\
                [variables]\nprompt = { prompt = \"constant:10\" }\nanswer = { random = \"uniform:1..1000000\" }\n\
                [[request]]\nname = \"a\"\npost = \"/v1\"\nbody = '{\"prompt\": \"{{prompt}}\", \"max_tokens\": {{answer}}}'\n\
                [[flow]]\nname = \"f\"\nstep = [\"a\"]\n";
            let none = |_: &str| Err("no files".to_owned());
            let workload = Workload::parse(&text.replace("VISITOR", visitor), "w.toml", &none).unwrap();
            let lengths = workload.token_lengths().unwrap();
            let second = Launch { step: 1, visit: Visit::FIRST.next(None).unwrap(), ..first(0) };
            lengths.of(first(0), 0) == lengths.of(second, 0)
        };
        assert!(is_constant("same") && !is_constant("new"));
    }
}
