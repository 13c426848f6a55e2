//! Reading `submit`: a form of an earlier page.

use super::Reader;
use super::script::METHODS;
use crate::Request;
use crate::check::submit::check_submit;
use crate::script::Part;
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::submit::{Field, Submit};
use crate::template::Template;

/// The keys of a request that a form replaces.
const REPLACED: [&str; 8] = ["method", "path", "body", "body_file", "form", "multipart", "grpc", "websocket"];

impl Reader<'_> {
    /// The request of a table with `submit`, if it has that key.
    pub(super) fn submit(&self, table: &Table<'_>) -> Result<Option<Request>, Mistake> {
        let Some(value) = table.get("submit") else { return Ok(None) };
        if let Some(key) = METHODS.iter().chain(&REPLACED).find_map(|key| table.get(key)) {
            return Err(
                key.mistake("cannot be combined with submit: the form determines it; set fields in submit.fields")
            );
        }
        let mut submit = Submit { selector: String::new(), page: None, fields: Vec::new(), added: Vec::new() };
        if value.is_text() {
            value.text()?.clone_into(&mut submit.selector);
        } else {
            let own = value.table(&shape::SUBMIT)?;
            own.need("form", "\"#edit\"")?.text()?.clone_into(&mut submit.selector);
            submit.page = own.get("page").map(|page| page.text().map(str::to_owned)).transpose()?;
            submit.fields = own.get("fields").map_or(Ok(Vec::new()), |fields| self.fields(&fields))?;
            submit.added = own.get("add").map_or(Ok(Vec::new()), |fields| self.fields(&fields))?;
        }
        value.checked(check_submit(&submit))?;
        let name = table.get("name").map_or(Ok(&*submit.selector), |name| name.text())?.to_owned();
        let weight = table.get("weight").map_or(Ok(1.0), |value| value.weight())?;
        let request = Request::of("POST".to_owned(), Template::literal("/"));
        self.besides(table, Request { name, weight, submit: Some(submit), ..request }).map(Some)
    }

    fn fields(&self, value: &Value<'_>) -> Result<Vec<(String, Field)>, Mistake> {
        let fields = value.entries("fields by name, such as title = \"A\"")?;
        fields.into_iter().map(|(name, value)| Ok((name.to_owned(), self.field(name, &value)?))).collect()
    }

    fn field(&self, name: &str, value: &Value<'_>) -> Result<Field, Mistake> {
        if let Ok(included) = value.truth() {
            return Ok(Field::Included(included));
        }
        if value.is_list() {
            return Ok(Field::Texts(value.list()?.iter().map(|item| Template::new(&item.shown())).collect()));
        }
        if !value.is_table() {
            return Ok(Field::Texts(vec![Template::new(&value.shown())]));
        }
        let table = value.table(&shape::FIELD_FILE)?;
        let file = table.need("file", "\"a.png\"")?.text()?;
        let raw = table.get("raw").map_or(Ok(true), |raw| raw.truth())?;
        Ok(Field::File(Part {
            name: name.to_owned(),
            file: Some(file.to_owned()),
            raw,
            media_type: table.get("type").map(|kind| kind.text().map(str::to_owned)).transpose()?,
            content: self.content(file, raw),
        }))
    }
}
