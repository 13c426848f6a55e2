//! Holding an answer to account, and remembering what it says.

use std::borrow::Cow;

use offered_model::Failed;
use offered_model::workload::digest;
use offered_model::workload::script::{self, Otherwise, Sizes, Which};
use regex::bytes::Regex;

use super::find::{Find, Heard, regex};
use super::value::{Text, Values};
use super::{Memory, Moment, Script, Secrets};
use crate::ask::Reply;

/// What an answer must be.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    test: Test,
    /// Where it looks, in words.
    place: String,
}

#[derive(Debug)]
enum Test {
    Status(Vec<(u16, u16)>),
    Text(Find, Wanted),
    Size(Sizes),
    Rows(Sizes),
    Sha256(String),
}

#[derive(Debug)]
enum Wanted {
    There,
    Is(Text),
    Contains(Text),
    Matches(Regex),
}

/// A value taken out of an answer.
#[derive(Debug)]
pub(super) struct Extraction {
    name: String,
    slot: u16,
    find: Find,
    /// Where it looks, in words.
    place: String,
    which: Which,
    otherwise: Otherwise,
}

impl Check {
    /// That of the workload.
    ///
    /// # Errors
    /// An expression, path or selector that is none.
    pub(super) fn new(check: &script::Check, values: &Values) -> Result<Self, String> {
        let wrong = |why| format!("check `{}`: {why}", check.name);
        let test = match &check.test {
            script::Test::Status(ranges) => Test::Status(ranges.clone()),
            script::Test::Size(sizes) => Test::Size(*sizes),
            script::Test::Rows(rows) => Test::Rows(*rows),
            script::Test::Sha256(digest) => Test::Sha256(digest.clone()),
            script::Test::Text(find, wanted) => {
                let wanted = match wanted {
                    script::Wanted::There => Wanted::There,
                    script::Wanted::Is(text) => Wanted::Is(values.text(text)),
                    script::Wanted::Contains(text) => Wanted::Contains(values.text(text)),
                    script::Wanted::Matches(pattern) => Wanted::Matches(regex(pattern).map_err(wrong)?),
                };
                Test::Text(Find::new(find).map_err(wrong)?, wanted)
            }
        };
        let place = match &check.test {
            script::Test::Text(find, _) => place(find),
            script::Test::Status(_) => "the status".to_owned(),
            script::Test::Size(_) => "the size of the body".to_owned(),
            script::Test::Rows(_) => "the number of rows".to_owned(),
            script::Test::Sha256(_) => "the SHA-256 digest of the body".to_owned(),
        };
        Ok(Self { name: check.name.clone(), test, place })
    }

    pub(super) fn wants_body(&self) -> bool {
        match &self.test {
            Test::Status(_) | Test::Size(_) | Test::Rows(_) => false,
            Test::Text(find, _) => find.in_body(),
            Test::Sha256(_) => true,
        }
    }

    /// What it wants, in words.
    fn wanted(&self, rendered: impl Fn(&Text) -> Option<String>) -> String {
        let place = &self.place;
        let text = |text: &Text| rendered(text).unwrap_or_default();
        match &self.test {
            Test::Status(ranges) => {
                let range =
                    |(low, high): &(u16, u16)| if low == high { low.to_string() } else { format!("{low}..{high}") };
                format!("{place} is {}", ranges.iter().map(range).collect::<Vec<_>>().join(" or "))
            }
            Test::Size(Sizes { least, most: u64::MAX }) | Test::Rows(Sizes { least, most: u64::MAX }) => {
                format!("{place} is at least {least}")
            }
            Test::Size(Sizes { least, most }) | Test::Rows(Sizes { least, most }) => {
                format!("{place} is from {least} to {most}")
            }
            Test::Sha256(digest) => format!("{place} is {digest}"),
            Test::Text(_, Wanted::There) => format!("{place} is there"),
            Test::Text(_, Wanted::Is(wanted)) => format!("{place} is `{}`", text(wanted)),
            Test::Text(_, Wanted::Contains(wanted)) => format!("{place} contains `{}`", text(wanted)),
            Test::Text(_, Wanted::Matches(expression)) => format!("{place} matches `{expression}`"),
        }
    }

    /// What stands where it looks; of several texts the first.
    fn found(&self, heard: &Heard<'_>) -> Option<String> {
        match &self.test {
            Test::Status(_) => Some(heard.status.to_string()),
            Test::Size(_) => Some(heard.reply.size.to_string()),
            Test::Rows(_) => Some(heard.reply.rows.to_string()),
            Test::Sha256(_) => heard.body().ok().map(digest),
            Test::Text(find, _) => find.texts(heard).next().map(Cow::into_owned),
        }
    }

    fn holds(&self, heard: &Heard<'_>, rendered: impl Fn(&Text) -> Option<String>) -> bool {
        match &self.test {
            Test::Status(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&heard.status)),
            Test::Size(sizes) => (sizes.least..=sizes.most).contains(&heard.reply.size),
            Test::Rows(rows) => (rows.least..=rows.most).contains(&heard.reply.rows),
            Test::Sha256(wanted) => heard.body().is_ok_and(|body| digest(body) == *wanted),
            Test::Text(find, wanted) => {
                let mut texts = find.texts(heard);
                match wanted {
                    Wanted::There => texts.next().is_some(),
                    Wanted::Is(text) => rendered(text).is_some_and(|wanted| texts.any(|found| found == wanted)),
                    Wanted::Contains(text) => {
                        rendered(text).is_some_and(|wanted| texts.any(|found| found.contains(&wanted)))
                    }
                    Wanted::Matches(expression) => texts.any(|found| expression.is_match(found.as_bytes())),
                }
            }
        }
    }
}

/// A place in an answer, in words.
fn place(find: &script::Find) -> String {
    match find {
        script::Find::Body => "the body".to_owned(),
        script::Find::Header(name) => format!("the header {name}"),
        script::Find::Column(name) => format!("the column {name}"),
        script::Find::Json(path) => format!("json {path}"),
        script::Find::Regex { pattern, group: 0 } => format!("regex {pattern}"),
        script::Find::Regex { pattern, group } => format!("group {group} of regex {pattern}"),
        script::Find::Css { selector, attribute: None } => format!("css {selector}"),
        script::Find::Css { selector, attribute: Some(attribute) } => format!("{attribute} of css {selector}"),
    }
}

impl Extraction {
    /// That of the workload.
    ///
    /// # Errors
    /// An expression, path or selector that is none.
    pub(super) fn new(extraction: &script::Extraction, values: &Values) -> Result<Self, String> {
        let script::Extraction { name, find, which, otherwise } = extraction;
        Ok(Self {
            name: name.clone(),
            slot: values.slot(name),
            find: Find::new(find).map_err(|why| format!("extract `{name}`: {why}"))?,
            place: place(find),
            which: *which,
            otherwise: otherwise.clone(),
        })
    }

    pub(super) fn wants_body(&self) -> bool {
        self.find.in_body()
    }

    /// The name of the check that it is.
    fn check(&self) -> String {
        format!("extract {}", self.name)
    }
}

impl Script {
    /// Whether the answer to request `label` must have a status that its checks name: then a status from 400 on is no failure by
    /// itself.
    pub(crate) fn checks_status(&self, label: u16) -> bool {
        self.requests[usize::from(label)].checks.iter().any(|check| matches!(check.test, Test::Status(_)))
    }

    /// Takes the answer to request `label` apart: what it says is remembered.
    ///
    /// # Errors
    /// The name of the first check that failed, or of the first extraction that found nothing; or why the answer could not be looked
    /// at as far as it should have been, the time for which may be over.
    pub(crate) fn hear(
        &self,
        label: u16,
        moment: Moment,
        status: u16,
        reply: &Reply,
        memory: &mut Memory,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let request = &self.requests[usize::from(label)];
        let heard = Heard::new(status, reply, is_over);
        let mut failed = None;
        // What is extracted here may be asked for by the checks.
        for extraction in &request.extract {
            let mut texts = extraction.find.texts(&heard);
            let found = match extraction.which {
                Which::Nth(nth) => texts.nth(nth as usize - 1),
                Which::Random => {
                    let mut all: Vec<_> = texts.collect();
                    let any = |n| self.values.any(extraction.slot, moment, n);
                    (!all.is_empty()).then(|| all.swap_remove(any(all.len())))
                }
            };
            let value = match (found, &extraction.otherwise) {
                (Some(found), _) => Some(found.into_owned()),
                (None, Otherwise::Keeps) => continue,
                (None, Otherwise::Is(value)) => Some(value.clone()),
                (None, Otherwise::Fails) => {
                    failed.get_or_insert_with(|| extraction.check());
                    None
                }
            };
            memory.set(extraction.slot, value);
        }
        let rendered = |text: &Text| self.values.plain(text, moment, Some(memory)).ok();
        let broken = request.checks.iter().find(|check| !check.holds(&heard, rendered)).map(|check| check.name.clone());
        if request.wants_body
            && let Err(why) = heard.body()
        {
            return Err(why.to_owned());
        }
        if let Some(why) = heard.gave_up() {
            return Err(why.to_owned());
        }
        broken.or(failed).map_or(Ok(()), Err)
    }

    /// What was extracted from the answer to request `label`, once that was heard, and what was `wanted` there by the check that
    /// failed; both in words, for people.
    pub(crate) fn explain(
        &self,
        label: u16,
        moment: Moment,
        (status, reply): (u16, &Reply),
        memory: Option<&Memory>,
        failed: Option<&str>,
    ) -> (Vec<(String, Option<String>)>, Option<Failed>) {
        let request = &self.requests[usize::from(label)];
        let value =
            |extraction: &Extraction| memory.and_then(|memory| memory.value(extraction.slot)).map(str::to_owned);
        let extracted = request.extract.iter().map(|extraction| (extraction.name.clone(), value(extraction))).collect();
        let heard = Heard::new(status, reply, &|| false);
        let rendered = |text: &Text| self.values.plain(text, moment, memory).ok();
        let failed = failed.and_then(|name| {
            let broken = request.checks.iter().find(|check| check.name == name && !check.holds(&heard, rendered));
            let broken = broken.map(|check| (check.wanted(rendered), check.found(&heard)));
            let lacked = || request.extract.iter().find(|extraction| extraction.check() == name);
            let lacked = || lacked().map(|extraction| (format!("{} is there", extraction.place), None));
            let (wanted, found) = broken.or_else(lacked)?;
            Some(Failed { check: name.to_owned(), wanted, found: found.map(|found| clipped(&found)) })
        });
        (extracted, failed)
    }

    /// The body of an answer, unpacked where it can be.
    pub(crate) fn unpacked(reply: &Reply) -> Cow<'_, [u8]> {
        let heard = Heard::new(0, reply, &|| false);
        heard.body().map_or(Cow::Borrowed(&*reply.body), |body| Cow::Owned(body.to_vec()))
    }

    /// What must not be read by those who look at this moment of a session.
    pub(crate) fn secrets(&self, moment: Moment) -> Secrets {
        Secrets::new(self.values.secret(moment).iter().map(|value| &**value))
    }
}

/// So many characters are shown of a text that was not the wanted one.
const SHOWN: usize = 500;

fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}
