//! An exchange as a witness sees it, made of what the session said, heard and thought of it.

use offered_model::secret::is_secret;
use offered_model::{Event, Exchange, Outcome, Said};

use crate::ask::{Ask, Reply};
use crate::script::{BLANK, Memory, Moment, Script, Secrets};
use crate::transport::wire::{Wire, Wording};
use crate::witness::Witness;

/// What is known of an exchange that is over.
pub(super) struct Seen<'a> {
    pub(super) moment: Moment,
    pub(super) redirects: u32,
    pub(super) ask: Option<&'a Ask>,
    pub(super) event: &'a Event,
    pub(super) reply: Option<&'a Reply>,
    pub(super) memory: Option<&'a Memory>,
}

impl Seen<'_> {
    /// Shows it to `witness`, if that looks at such.
    pub(super) fn show(&self, witness: &Witness, script: &Script, wire: &impl Wire) {
        if !witness.looks_at(self.event) {
            return;
        }
        let Self { moment, redirects, ask, event, reply, memory } = *self;
        let mut secrets = script.secrets(moment);
        let wording = ask.filter(|_| event.sent.is_some()).map(|ask| wire.wording(ask, event));
        let head = |(name, value): &(String, Vec<u8>)| format!("{name}: {}", String::from_utf8_lossy(value));
        let answer = reply.map(|reply| reply.headers.iter().map(head).collect::<Vec<String>>());
        if let Some(wording) = &wording {
            learn(&mut secrets, wording);
        }
        for line in wording.iter().flat_map(|wording| &wording.head).chain(answer.iter().flatten()) {
            secrets.learn(line);
        }
        let why = event.error.as_ref().map(ToString::to_string);
        let (extracted, failed) = match reply.filter(|_| event.object == 0) {
            Some(reply) => {
                let check = why.as_deref().filter(|_| event.outcome == Outcome::CheckFailed);
                script.explain(event.label, moment, (event.status, reply), memory, check)
            }
            None => Default::default(),
        };
        let blanked = |text: String| secrets.blanked(&text);
        witness.saw(Exchange {
            request: script.name(event.label).to_owned(),
            session: event.session,
            step: event.step,
            object: event.object,
            redirects,
            outcome: event.outcome.name().to_owned(),
            status: event.status,
            why: why.map(blanked),
            service_ms: event.service().map(|service| service.as_secs_f64() * 1e3),
            reused: event.reused,
            asked: wording.map(|wording| asked(&wording, &secrets, witness.shown())),
            answered: reply.map(|reply| {
                let whole = Script::unpacked(reply);
                let (body, cut) = text(&whole, &secrets, witness.shown());
                let head = answer.unwrap_or_default().iter().map(|line| secrets.line(line)).collect();
                Said { head, body, bytes: reply.size, cut: cut || !reply.is_whole() }
            }),
            extracted: extracted
                .into_iter()
                .map(|(name, value)| {
                    let value = value.map(|value| if is_secret(&name) { BLANK.to_owned() } else { blanked(value) });
                    (name, value)
                })
                .collect(),
            failed: failed.map(|failed| offered_model::Failed {
                check: failed.check,
                wanted: blanked(failed.wanted),
                found: failed.found.map(blanked),
            }),
        });
    }
}

/// Hides what stands in a request under the names of secrets: in its query, its form or its JSON.
pub(crate) fn learn(secrets: &mut Secrets, wording: &Wording) {
    wording.head.iter().for_each(|line| secrets.learn_named(line));
    secrets.learn_named(&String::from_utf8_lossy(&wording.body));
}

/// What was said, as people may see it.
pub(crate) fn asked(wording: &Wording, secrets: &Secrets, most: usize) -> Said {
    let (body, cut) = text(&wording.body, secrets, most);
    let head = wording.head.iter().map(|line| secrets.line(line)).collect();
    Said { head, body, bytes: wording.body.len() as u64, cut }
}

/// The first `most` bytes as a text without secrets, if they are one, and whether there are more.
fn text(bytes: &[u8], secrets: &Secrets, most: usize) -> (Option<String>, bool) {
    // No encoding of texts that is in use on the web has a zero in it.
    let shown = &bytes[..bytes.len().min(most)];
    let text = (!shown.contains(&0)).then(|| {
        // Secrets are looked for in the whole: of one that is cut the beginning would stay.
        let mut text = secrets.blanked(&String::from_utf8_lossy(bytes));
        let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text
    });
    (text, bytes.len() > most)
}
