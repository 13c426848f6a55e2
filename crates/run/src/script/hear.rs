//! Holding an answer to account, and remembering what it says.

use offered_model::workload::script::{self, Otherwise, Sizes, Which};
use regex::bytes::Regex;
use sha2::{Digest, Sha256};

use super::find::{Find, Heard, regex};
use super::value::{Text, Values};
use super::{Memory, Moment, Script};
use crate::transport::Reply;

/// What an answer must be.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    test: Test,
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
        Ok(Self { name: check.name.clone(), test })
    }

    pub(super) fn wants_body(&self) -> bool {
        match &self.test {
            Test::Status(_) | Test::Size(_) | Test::Rows(_) => false,
            Test::Text(find, _) => find.in_body(),
            Test::Sha256(_) => true,
        }
    }

    fn holds(&self, heard: &Heard<'_>, rendered: impl Fn(&Text) -> Option<String>) -> bool {
        match &self.test {
            Test::Status(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&heard.status)),
            Test::Size(sizes) => (sizes.least..=sizes.most).contains(&heard.reply.size),
            Test::Rows(rows) => (rows.least..=rows.most).contains(&heard.reply.rows),
            Test::Sha256(digest) => heard.body().is_ok_and(|body| {
                let found: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
                found == *digest
            }),
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
            which: *which,
            otherwise: otherwise.clone(),
        })
    }

    pub(super) fn wants_body(&self) -> bool {
        self.find.in_body()
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
                    failed.get_or_insert_with(|| format!("extract {}", extraction.name));
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
}
