//! Submitting forms (WHATWG HTML, sections 4.10.21.4 to 4.10.22.8): the entries of a form of a page, with the values
//! that a user enters.

use std::collections::HashSet;

use encoding_rs::{Encoding, UTF_8};
use offered_base::nearest;
use offered_workload::template::in_form;
use offered_workload::{Field, Submit};

use super::body::{Part, append_no_file, append_text, end_multipart, multipart_type};
use super::locator::FormQuery;
use super::origin::Location;
use super::served_form::{Control, Enctype, Form};
use super::value::{MissingValue, Text, Values};
use super::{RequestContext, SessionState};
use crate::message::OutgoingRequest;

/// A form that a request submits.
#[derive(Debug)]
pub(super) struct FormRequest {
    pub(super) query: FormQuery,
    selector: String,
    fields: Vec<(String, Value)>,
    added: Vec<(String, Value)>,
}

#[derive(Debug)]
enum Value {
    Texts(Vec<Text>),
    File(Part),
    Included(bool),
}

/// An entry of the form.
enum Entry<'a> {
    Text(String),
    NoFile,
    File(&'a Part),
}

impl FormRequest {
    /// Compiles the form that a request submits.
    ///
    /// # Errors
    /// An invalid selector, or a file that cannot be read.
    pub(super) fn new(submit: &Submit, values: &Values) -> Result<Self, String> {
        let compile = |fields: &[(String, Field)]| {
            let value = |field: &Field| match field {
                Field::Texts(texts) => Ok(Value::Texts(texts.iter().map(|text| values.text(text)).collect())),
                Field::File(part) => Part::new(part, values).map(Value::File),
                Field::Included(included) => Ok(Value::Included(*included)),
            };
            fields.iter().map(|(name, field)| Ok((name.clone(), value(field)?))).collect::<Result<Vec<_>, String>>()
        };
        Ok(Self {
            query: FormQuery::new(&submit.selector)?,
            selector: submit.selector.clone(),
            fields: compile(&submit.fields)?,
            added: compile(&submit.added)?,
        })
    }

    /// The form in the state of a session.
    ///
    /// # Errors
    /// The session has received no page with it.
    pub(super) fn served<'s>(&self, label: u16, state: Option<&'s SessionState>) -> Result<&'s Form, MissingValue> {
        let form = state.and_then(|state| state.forms.get(&label));
        let reason = match form {
            Some(Ok(form)) => return Ok(form),
            Some(Err(reason)) => reason.as_str(),
            None => "the session has received no page with this form",
        };
        Err(MissingValue::Value(format!("form `{}`: {reason}", self.selector)))
    }

    /// A form of which only the fields that the workload sets are known.
    pub(super) fn unserved(&self) -> Form {
        let control = |(name, value): &(String, Value)| Control {
            name: name.as_str().into(),
            value: "".into(),
            is_file: matches!(value, Value::File(_)),
            is_included: true,
        };
        Form {
            is_post: true,
            action: String::new(),
            base: None,
            enctype: Enctype::UrlEncoded,
            encoding: UTF_8,
            controls: self.fields.iter().map(control).collect(),
            page: Location { target: 0, path: "/".to_owned() },
        }
    }

    /// Puts the entries of `form` into a request for its action: into the query or the body.
    ///
    /// # Errors
    /// A value is missing, or the form has no field of a name that the workload sets.
    pub(super) fn fill(
        &self,
        form: &Form,
        outgoing: &mut OutgoingRequest,
        values: &Values,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<(), MissingValue> {
        let entries = self.entries(form, values, context, state)?;
        if !form.is_post {
            let path = outgoing.path.split('?').next().unwrap_or_default().to_owned();
            outgoing.path = format!("{path}?{}", url_encoded(&entries, form.encoding));
            return Ok(());
        }
        let (body, media_type) = match form.enctype {
            Enctype::UrlEncoded => {
                (url_encoded(&entries, form.encoding).into_bytes(), "application/x-www-form-urlencoded".to_owned())
            }
            Enctype::PlainText => {
                let lines: String =
                    entries.iter().map(|(name, entry)| format!("{name}={}\r\n", entry.text())).collect();
                (form.encoding.encode(&lines).0.into_owned(), "text/plain".to_owned())
            }
            Enctype::Multipart => {
                let mut body = Vec::new();
                for (name, entry) in &entries {
                    let name = form.encoding.encode(name).0;
                    match entry {
                        Entry::Text(text) => append_text(&name, &form.encoding.encode(text).0, &mut body),
                        Entry::NoFile => append_no_file(&name, &mut body),
                        Entry::File(part) => part.append_rendered(values, context, state, &mut body)?,
                    }
                }
                end_multipart(&mut body);
                (body, multipart_type())
            }
        };
        outgoing.body = Some(body.into());
        outgoing.headers.push(("Content-Type".to_owned(), media_type));
        Ok(())
    }

    /// The names and values that are submitted, in order.
    fn entries<'a>(
        &'a self,
        form: &Form,
        values: &Values,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Vec<(String, Entry<'a>)>, MissingValue> {
        self.check_names(form)?;
        let set = |name: &str, value: &'a Value, entries: &mut Vec<(String, Entry<'a>)>| {
            match value {
                Value::Texts(texts) => {
                    for text in texts {
                        entries.push((crlf(name), Entry::Text(crlf(&values.plain(text, context, state)?))));
                    }
                }
                Value::File(part) => entries.push((crlf(name), Entry::File(part))),
                Value::Included(_) => {}
            }
            Ok::<_, MissingValue>(())
        };
        let mut entries = Vec::new();
        // A field that the user changes has its new values in the place of its first control.
        let mut changed: HashSet<&str> = HashSet::new();
        for control in &form.controls {
            let value = self.fields.iter().find(|(name, _)| **name == *control.name).map(|(_, value)| value);
            match value {
                None if control.is_included => entries.push(control.entry()),
                Some(value) if changed.insert(&control.name) => match value {
                    Value::Included(true) => entries.push(control.entry()),
                    value => set(&control.name, value, &mut entries)?,
                },
                _ => {}
            }
        }
        self.added.iter().try_for_each(|(name, value)| set(name, value, &mut entries))?;
        Ok(entries)
    }

    /// Checks that the form has all fields that the workload sets.
    fn check_names(&self, form: &Form) -> Result<(), MissingValue> {
        let has = |name: &str| form.controls.iter().any(|control| *control.name == *name);
        let Some((name, _)) = self.fields.iter().find(|(name, _)| !has(name)) else { return Ok(()) };
        let mut known: Vec<&str> = form.controls.iter().map(|control| &*control.name).collect();
        known.dedup();
        Err(MissingValue::Value(format!(
            "form `{}` has no field `{name}`{}; it has {}; a field that scripts add belongs in submit.add",
            self.selector,
            nearest(name, &known),
            known.join(", ")
        )))
    }
}

impl Control {
    fn entry<'a>(&self) -> (String, Entry<'a>) {
        let entry = if self.is_file { Entry::NoFile } else { Entry::Text(crlf(&self.value)) };
        (crlf(&self.name), entry)
    }
}

impl Entry<'_> {
    /// The text of an entry in an encoding without files: of a file, only the name is sent.
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::NoFile => "",
            Self::File(part) => part.file_name(),
        }
    }
}

/// The entries as `application/x-www-form-urlencoded` in this encoding. Characters that it lacks become character references.
fn url_encoded(entries: &[(String, Entry<'_>)], encoding: &'static Encoding) -> String {
    let encoded = |text: &str| in_form(&encoding.encode(text).0);
    let pairs = entries.iter().map(|(name, entry)| format!("{}={}", encoded(name), encoded(entry.text())));
    pairs.collect::<Vec<_>>().join("&")
}

/// A text with each line break as CR and LF.
fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\n'], "\r\n")
}
