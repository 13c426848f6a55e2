//! The values of placeholders in templates.

mod conversation;
mod expression;
mod fresh;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

use jiff::Timestamp;
use jiff::fmt::strtime;
use offered_base::{Nanos, Seed, Stream};
use offered_events::RunId;
use offered_schedule::Replay;
use offered_workload::Workload;
use offered_workload::catalogue::OneOf;
use offered_workload::script::{AtEnd, Extraction, Feeder, Order, Per, Source, Variable, data};
use offered_workload::secret::SecretNames;
use offered_workload::template::{self, Escaping, Format, Function, Stamp, Template, in_form};
use offered_workload::{Request, Works};

pub(super) use self::conversation::Conversation;
use self::expression::{Evaluation, Expression};
pub(super) use self::fresh::Fresh;
use super::numbering::Numbering;
use super::{RequestContext, SessionState};

/// The sources of values: variables and extractions.
#[derive(Debug)]
pub(super) struct Values {
    seed: Seed,
    numbering: Numbering,
    variables: Vec<Variable>,
    /// For each variable, whether only one scenario uses its values.
    is_alone: Vec<bool>,
    /// The texts of the variables that are composed of other values, by the number of the variable.
    composed: HashMap<u16, Text>,
    /// The number of calls of functions that have been compiled.
    calls: AtomicU16,
    /// The work of each request; `None` if unknown.
    works: Works,
    /// The replay of a trace with numbers of tokens.
    trace: Option<Replay>,
    /// The ID of the run.
    run: RunId,
    /// The slot of each extracted value, by name.
    slots: HashMap<String, u16>,
    /// Names of fields with secret values.
    secret_names: SecretNames,
    /// The slots of extracted values that are secrets: by their names, or because they are sent as credentials.
    secret_slots: Vec<u16>,
}

/// A template with resolved names.
#[derive(Clone, Debug)]
pub(super) struct Text(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(Box<str>),
    Session,
    Sequence,
    Run,
    Now {
        stamp: Stamp,
        /// As in `Value`.
        escaping: Option<Escaping>,
    },
    Expression {
        expression: Box<Expression>,
        /// As in `Value`.
        escaping: Option<Escaping>,
    },
    Value {
        /// The placeholder as written in the workload.
        name: Box<str>,
        /// The extracted value of that name, which has precedence.
        slot: Option<u16>,
        /// The variable, and the index of its column.
        variable: Option<(u16, usize)>,
        /// The encoding of the value; `None`: the caller of `render` chooses it.
        escaping: Option<Escaping>,
    },
}

/// Why a request cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MissingValue {
    /// A value is missing, or is not valid at its position.
    Value(String),
    /// All rows of a file have been used, so the run must stop.
    Rows {
        /// The file and the variable.
        reason: String,
        /// Whether the end of the rows is an error, by the workload.
        error: bool,
    },
}

impl Text {
    /// The slot of the extracted value that the text begins with.
    pub(super) fn first_slot(&self) -> Option<u16> {
        match self.0.first() {
            Some(Piece::Value { slot, .. }) => *slot,
            _ => None,
        }
    }

    /// The text, if it has no placeholders.
    pub(super) fn constant(&self) -> Option<&str> {
        match &self.0[..] {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it is the result of this function alone.
    pub(super) fn is_call(&self, function: Function) -> bool {
        match &self.0[..] {
            [Piece::Expression { expression, .. }] => {
                matches!(**expression, Expression::Call { function: called, .. } if called == function)
            }
            _ => false,
        }
    }

    /// The numbers of its variables, other than extracted values.
    fn variables(&self) -> impl Iterator<Item = u16> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value { slot: None, variable: Some((number, _)), .. } => Some(*number),
            _ => None,
        })
    }

    /// Whether the text begins with `sign`, whatever its values are.
    pub(super) fn begins_with(&self, sign: char) -> bool {
        matches!(self.0.first(), Some(Piece::Text(text)) if text.starts_with(sign))
    }
}

impl Values {
    /// The values of `workload` in this run.
    pub(super) fn new(workload: &Workload, run: RunId) -> Self {
        let mut slots = HashMap::new();
        for Extraction { name, .. } in workload.requests().iter().flat_map(Request::extract) {
            let next = slots.len() as u16;
            slots.entry(name.clone()).or_insert(next);
        }
        let secret_names = workload.secret_names().clone();
        let sent = workload.secret_placeholders();
        let is_secret = |name: &str| secret_names.contains(name) || sent.contains(name);
        let secret_slots = slots.iter().filter(|(name, _)| is_secret(name)).map(|(_, slot)| *slot).collect();
        let mut values = Self {
            seed: workload.seed(),
            run,
            secret_names,
            secret_slots,
            numbering: Numbering::new(workload),
            variables: workload.variables().to_vec(),
            is_alone: workload.variables().iter().map(|of| workload.scenarios_with(&of.name) == 1).collect(),
            composed: HashMap::new(),
            calls: AtomicU16::new(0),
            works: workload.works(),
            trace: workload.token_trace().cloned(),
            slots,
        };
        let texts = (0u16..).zip(&values.variables).filter_map(|(number, variable)| match &variable.source {
            Source::Composed(template) => Some((number, values.text(template))),
            _ => None,
        });
        values.composed = texts.collect();
        values
    }

    /// A session state for the preview: each value that a response would provide is its name in braces.
    pub(super) fn for_preview(&self) -> SessionState {
        let mut state = SessionState::default();
        let unknown = |name: &str| !self.variables.iter().any(|variable| variable.name == name);
        for (name, slot) in self.slots.iter().filter(|(name, _)| unknown(name)) {
            state.set(*slot, Some(format!("{{{{{name}}}}}")));
        }
        state
    }

    /// Sets the ID of the run.
    pub(super) fn in_run(&mut self, run: RunId) {
        self.run = run;
    }

    /// The names of the extracted values.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(String::as_str)
    }

    /// Whether some users make several visits.
    pub(super) fn has_users(&self) -> bool {
        self.numbering.has_users()
    }

    /// Whether `session` is a user who may make several visits.
    pub(super) fn is_user(&self, session: u64) -> bool {
        self.numbering.is_user(session)
    }

    /// The path of the file drawn for this request.
    pub(super) fn path<'a>(&self, one_of: &'a OneOf, context: RequestContext) -> &'a str {
        one_of.drawn(self.seed, context.session, context.step).path
    }

    /// The slot of an extracted value. `name` must be one of the known names.
    pub(super) fn slot(&self, name: &str) -> u16 {
        self.slots[name]
    }

    /// Resolves the names of `template`. The workload has checked that they exist.
    pub(super) fn text(&self, template: &Template) -> Text {
        self.text_of(template, Format::Plain)
    }

    /// The same for a form value, form-encoded.
    pub(super) fn form(&self, template: &Template) -> Text {
        let mut text = self.text_of(template, Format::Form);
        for piece in &mut text.0 {
            if let Piece::Text(text) = piece {
                *text = in_form(&**text).into();
            }
        }
        text
    }

    /// The same for a text of this format.
    pub(super) fn text_of(&self, template: &Template, format: Format) -> Text {
        let piece = |(piece, escaping): (&template::Piece, Escaping)| match piece {
            template::Piece::Text(text) => Piece::Text(text.clone()),
            template::Piece::Session => Piece::Session,
            template::Piece::Sequence => Piece::Sequence,
            template::Piece::Run => Piece::Run,
            template::Piece::Now(stamp) => {
                Piece::Now { stamp: stamp.clone(), escaping: (escaping != Escaping::Plain).then_some(escaping) }
            }
            template::Piece::Expression(expression, raw) => Piece::Expression {
                expression: Box::new(Expression::new(expression, self)),
                escaping: (*raw || escaping != Escaping::Plain).then_some(escaping),
            },
            template::Piece::Value(name) => Piece::Value {
                name: name.to_string().into(),
                slot: self.slots.get(&*name.variable).copied(),
                variable: self.variables.iter().position(|variable| *variable.name == *name.variable).map(|at| {
                    let column = name.column.as_deref().and_then(|column| match &self.variables[at].source {
                        Source::Feeder(Feeder { rows: Ok(rows), .. }) => {
                            rows.columns().iter().position(|c| c == column)
                        }
                        _ => None,
                    });
                    (at as u16, column.unwrap_or(0))
                }),
                escaping: (name.raw || escaping != Escaping::Plain).then_some(escaping),
            },
        };
        Text(template.pieces().iter().zip(template.escapings(format)).map(piece).collect())
    }

    /// Renders a text. `put` appends a value to the text before it.
    ///
    /// # Errors
    /// A value is missing.
    pub(super) fn render(
        &self,
        text: &Text,
        context: RequestContext,
        state: Option<&SessionState>,
        put: impl Fn(&mut String, &str),
    ) -> Result<String, MissingValue> {
        self.render_at(&Fresh::default(), text, context, state, put)
    }

    /// Like `render`, with the time and the unique texts of `fresh`.
    pub(super) fn render_at(
        &self,
        fresh: &Fresh,
        text: &Text,
        context: RequestContext,
        state: Option<&SessionState>,
        put: impl Fn(&mut String, &str),
    ) -> Result<String, MissingValue> {
        let mut rendered = String::new();
        for piece in &text.0 {
            let (value, escaping) = match piece {
                Piece::Text(text) => (Cow::Borrowed(&**text), &Some(Escaping::Plain)),
                Piece::Session => (self.counter(Per::Session, context).to_string().into(), &Some(Escaping::Plain)),
                Piece::Sequence => (context.sequence.to_string().into(), &Some(Escaping::Plain)),
                Piece::Run => (Cow::Borrowed(self.run.as_str()), &Some(Escaping::Plain)),
                Piece::Now { stamp, escaping } => (format_now(fresh.now(), stamp)?.into(), escaping),
                Piece::Expression { expression, escaping } => {
                    (expression.evaluate(Evaluation { values: self, fresh, context, state })?.into(), escaping)
                }
                Piece::Value { name, slot, variable, escaping } => {
                    let extracted = slot.zip(state).and_then(|(slot, state)| state.value(slot));
                    let value = match (extracted, variable) {
                        (Some(extracted), _) => Cow::Borrowed(extracted),
                        (None, Some((variable, column))) => self.value(fresh, *variable, *column, context, state)?,
                        (None, None) => {
                            return Err(MissingValue::Value(format!("{name} has no value (nothing was extracted)")));
                        }
                    };
                    (value, escaping)
                }
            };
            match escaping {
                None => put(&mut rendered, &value),
                Some(escaping) => rendered.push_str(&escaping.apply(&value)),
            }
        }
        Ok(rendered)
    }

    /// A uniformly distributed number below `n`, for the value extracted into `slot`.
    pub(super) fn pick(&self, slot: u16, context: RequestContext, n: usize) -> usize {
        // Extractions use the random streams from the other end of the range of variables.
        data(self.seed, u16::MAX - slot, context.session, context.step).below(n as u64) as usize
    }

    /// Like `render_at`, without encoding the values.
    ///
    /// # Errors
    /// A value is missing.
    pub(super) fn plain_at(
        &self,
        fresh: &Fresh,
        text: &Text,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<String, MissingValue> {
        self.render_at(fresh, text, context, state, String::push_str)
    }

    /// A text that no other request has, for a digest.
    pub(super) fn nonce(&self, context: RequestContext) -> String {
        uuid(data(Seed(self.seed.0 ^ self.run.number() ^ 0x006e_6f6e_6365), u16::MAX, context.session, context.step))
    }

    /// From which every random choice follows.
    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// The number of the run, which distinguishes it from others.
    pub(super) fn run_number(&self) -> u64 {
        self.run.number()
    }

    /// The number of the next call of a function that is compiled.
    pub(super) fn next_call(&self) -> u16 {
        self.calls.fetch_add(1, Relaxed)
    }

    /// Renders a text without encoding its values.
    ///
    /// # Errors
    /// A value is missing.
    pub(super) fn plain(
        &self,
        text: &Text,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<String, MissingValue> {
        self.render(text, context, state, std::string::String::push_str)
    }

    fn value(
        &self,
        fresh: &Fresh,
        number: u16,
        column: usize,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Cow<'_, str>, MissingValue> {
        let Variable { name, source, per, env: _ } = &self.variables[usize::from(number)];
        let draw_index = self.draw_index(*per, context);
        let counter = match self.counter(*per, context) {
            counter if self.is_alone[usize::from(number)] && *per != Per::Request => {
                self.numbering.in_scenario(counter)
            }
            counter => counter,
        };
        let stream = || data(self.seed, number, context.session, draw_index);
        Ok(match source {
            Source::Constant(Ok(value)) => Cow::Borrowed(value),
            Source::Constant(Err(reason)) => return Err(MissingValue::Value(reason.clone())),
            Source::Composed(_) => {
                let text = &self.composed[&number];
                Cow::Owned(self.render_at(fresh, text, context, state, String::push_str)?)
            }
            // A uuid is unique over all runs, so it depends on the run ID and not only on the seed.
            Source::Uuid => {
                let seed = Seed(self.seed.0 ^ self.run.number());
                let text = || uuid(data(seed, number, context.session, draw_index));
                Cow::Owned(if *per == Per::Request { fresh.unique(text) } else { text() })
            }
            Source::Sequence(from) => Cow::Owned(from.wrapping_add(counter).to_string()),
            Source::Random(draw) => Cow::Owned(draw.text(self.seed, number, context.session, draw_index)),
            Source::Prompt(prompt) => {
                let key = self.prompt_key(number, *per, context);
                Cow::Owned(prompt.text(key).map_err(MissingValue::Value)?)
            }
            Source::TraceValue(value) => {
                let none = || MissingValue::Value(format!("{name} has no value (the trace has no entry)"));
                Cow::Owned(value.of(self.entry(context).ok_or_else(none)?).to_string())
            }
            Source::Conversation(user) => {
                let before = state.and_then(|state| state.conversations.get(&number));
                let message = self.user_message(fresh, (user, before.is_some()), context, state)?;
                Cow::Owned(match before {
                    Some(before) => format!("[{},{message}]", before.messages),
                    None => format!("[{message}]"),
                })
            }
            Source::Work(unit) => {
                let work = self.works.of(context.session, context.step, context.label);
                let none = || MissingValue::Value(format!("{name} has no value (the request has no work)"));
                Cow::Owned(unit.text(work.ok_or_else(none)?))
            }
            Source::Feeder(Feeder { file, order, at_end, rows, columns: _, format: _ }) => {
                let rows = rows.as_ref().map_err(|reason| MissingValue::Value(format!("{file}: {reason}")))?;
                let in_order = |order, pass, index| match order {
                    Order::Shuffled => self.seed.shuffled(u64::from(number) << 48 ^ pass, index, rows.len()),
                    Order::Sequential | Order::Random => index,
                };
                let row = match (order, at_end) {
                    (Order::Random, _) => stream().below(rows.len()),
                    (order, AtEnd::Repeat) => in_order(*order, counter / rows.len(), counter % rows.len()),
                    (order, _) if counter < rows.len() => in_order(*order, 0, counter),
                    (_, at_end) => {
                        let reason = format!("the {} rows of {file} are used up ({name})", rows.len());
                        return Err(MissingValue::Rows { reason, error: *at_end == AtEnd::Error });
                    }
                };
                Cow::Borrowed(rows.cell(row, column))
            }
        })
    }

    /// The counter of a value. It is unique over all threads and machines of the run.
    fn counter(&self, per: Per, context: RequestContext) -> u64 {
        match per {
            Per::Session if !self.numbering.renews(context.session) => context.session,
            Per::Session | Per::Visit => self.numbering.visit(context.session, context.visit),
            Per::Request => context.sequence,
        }
    }

    /// The index of a random draw of this user.
    fn draw_index(&self, per: Per, context: RequestContext) -> u32 {
        match per {
            Per::Session if !self.numbering.renews(context.session) => 0,
            Per::Session | Per::Visit => context.visit,
            Per::Request => context.step,
        }
    }

    /// Names of fields with secret values.
    pub(super) fn secret_names(&self) -> &SecretNames {
        &self.secret_names
    }

    /// The secrets that a session has extracted.
    pub(super) fn secret_extractions<'a>(&'a self, state: &'a SessionState) -> impl Iterator<Item = &'a str> {
        self.secret_slots.iter().filter_map(|slot| state.value(*slot))
    }

    /// Whether the extracted value of this name is a secret.
    pub(super) fn is_secret_extraction(&self, name: &str) -> bool {
        self.slots.get(name).is_some_and(|slot| self.secret_slots.contains(slot))
    }

    /// The values to hide for this request: environment variables, variables with secret names, and all
    /// cells of rows of files.
    pub(super) fn secret(&self, context: RequestContext, state: Option<&SessionState>) -> Vec<Cow<'_, str>> {
        let columns = |variable: &Variable| match &variable.source {
            Source::Feeder(Feeder { rows: Ok(rows), .. }) => rows.columns().len(),
            _ => usize::from(variable.env.is_some() || self.secret_names.contains(&variable.name)),
        };
        let numbered = (0u16..).zip(&self.variables);
        let cells = numbered.flat_map(|(number, variable)| (0..columns(variable)).map(move |column| (number, column)));
        // A missing value needs no hiding.
        let fresh = Fresh::default();
        cells.filter_map(|(number, column)| self.value(&fresh, number, column, context, state).ok()).collect()
    }
}

impl SessionState {
    pub(super) fn value(&self, slot: u16) -> Option<&str> {
        self.values.get(usize::from(slot))?.as_deref()
    }

    /// Stores a value, or `None` for no value.
    pub(super) fn set(&mut self, slot: u16, value: Option<String>) {
        let slot = usize::from(slot);
        if self.values.len() <= slot {
            self.values.resize(slot + 1, None);
        }
        self.values[slot] = value.map(Into::into);
    }
}

/// Formats an instant since the Unix epoch.
fn format_now(now: Nanos, stamp: &Stamp) -> Result<String, MissingValue> {
    let (seconds, nanos) = ((now.0 / 1_000_000_000) as i64, (now.0 % 1_000_000_000) as i32);
    let in_utc = |format: &str| {
        let instant = Timestamp::new(seconds, nanos).map_err(|reason| MissingValue::Value(reason.to_string()))?;
        strtime::format(format, instant)
            .map_err(|reason| MissingValue::Value(format!("{{{{now|{format}}}}}: {reason}")))
    };
    match stamp {
        Stamp::Iso => in_utc("%Y-%m-%dT%H:%M:%S.%3fZ"),
        Stamp::Unix => Ok(seconds.to_string()),
        Stamp::UnixMs => Ok((now.0 / 1_000_000).to_string()),
        Stamp::Format(format) => in_utc(format),
    }
}

/// A random UUID (RFC 9562, version 4).
fn uuid(mut stream: Stream) -> String {
    let words: Vec<u64> = (0..4).map(|_| stream.below(1 << 32)).collect();
    let bits = (words[0] << 32 | words[1], words[2] << 32 | words[3]);
    let (high, low) = (bits.0 & !0xf000 | 0x4000, bits.1 & !(0b11 << 62) | 0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_format_is_supported() {
        for letter in Stamp::CONVERSIONS.chars() {
            let text = format_now(Nanos(1_795_447_560_123_456_789), &Stamp::Format(format!("%{letter}").into()));
            assert!(text.as_ref().is_ok_and(|text| !text.is_empty()), "%{letter}: {text:?}");
        }
        let at = |stamp| format_now(Nanos(1_795_447_560_123_456_789), &stamp).unwrap();
        assert_eq!(at(Stamp::Iso), "2026-11-23T15:26:00.123Z");
        assert_eq!((at(Stamp::Unix), at(Stamp::UnixMs)), ("1795447560".to_owned(), "1795447560123".to_owned()));
        assert_eq!(at(Stamp::Format("%d.%m.%y %H:%M %3f %-d%%".into())), "23.11.26 15:26 123 23%");
    }
}
