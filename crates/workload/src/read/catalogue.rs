//! Reads a `[[request]]` with a catalogue, which makes one request for each class of files.

use std::sync::Arc;

use super::script::METHODS;
use super::{Reader, choice};
use crate::Request;
use crate::catalogue::{Catalogue, OneOf};
use crate::request::check_method;
use crate::shape;
use crate::source::{Mistake, Table, Value};

impl Reader<'_> {
    pub(super) fn catalogued(&self, item: &Value<'_>) -> Result<Vec<Request>, Mistake> {
        let table = item.table(&shape::REQUEST)?;
        let value = table.need("catalogue", "\"files.csv\"")?;
        let foreign = ["path", "grpc", "websocket", "sql", "transaction", "parameters"].into_iter().chain(METHODS);
        if let Some(other) = foreign.into_iter().find_map(|key| table.get(key)) {
            return Err(other.mistake(
                "cannot be combined with catalogue, which has the paths; for another method write method = \"HEAD\"",
            ));
        }
        let catalogue = self.catalogue(&value)?;
        if let (Some(distribution), true) = (table.get("service"), catalogue.has_work()) {
            return Err(
                distribution.mistake(format!("{} already has the work of each file; remove one", catalogue.file()))
            );
        }
        let weight = table.get("weight").map_or(Ok(1.0), |value| value.weight())?;
        let chosen = chosen(&table, &catalogue)?;
        let all: Vec<(OneOf, f64)> = match chosen {
            Some(one_of) => vec![(one_of, weight)],
            None => OneOf::each(&catalogue).map(|one| (one.clone(), weight * catalogue.share(one.number()))).collect(),
        };
        let name = table.get("name").map(|name| Ok((name.text()?.to_owned(), name))).transpose()?;
        if let (Some((_, name)), [_, _, ..]) = (&name, &all[..]) {
            return Err(name.mistake(format!(
                "the requests of the {} classes of {} are named after their classes; remove `name`, or choose one class: class = \"{}\"",
                all.len(),
                catalogue.file(),
                all[0].0.class().unwrap_or_default()
            )));
        }
        let method = table.get("method").map(|method| Ok((method.text()?, method))).transpose()?;
        if let Some((name, method)) = &method {
            method.checked(check_method(name))?;
        }
        let method = method.map_or("GET", |(name, _)| name);
        let body = self.body(&table)?;
        let request = |(one_of, weight): (OneOf, f64)| {
            let request = Request { weight, body: body.clone(), ..Request::of_files(method.to_owned(), one_of) };
            let request = name.iter().fold(request, |request, (name, _)| request.named(name.clone()));
            self.besides(&table, request)
        };
        all.into_iter().map(request).collect()
    }

    /// The catalogue that `value` names; read once.
    fn catalogue(&self, value: &Value<'_>) -> Result<Arc<Catalogue>, Mistake> {
        let file = value.text()?;
        if let Some(known) = self.catalogues.borrow().get(file) {
            return Ok(known.clone());
        }
        let text = self.text(file).map_err(|why| value.mistake(format!("cannot read `{file}`: {why}")))?;
        let catalogue = Arc::new(value.checked(Catalogue::parse(&text, file))?);
        self.catalogues.borrow_mut().insert(file.to_owned(), catalogue.clone());
        Ok(catalogue)
    }
}

/// The files of the class that `class` names; all files without `class`.
fn chosen(table: &Table<'_>, catalogue: &Arc<Catalogue>) -> Result<Option<OneOf>, Mistake> {
    let Some(class) = table.get("class") else { return Ok(None) };
    let name = class.text()?;
    let Some(names) = catalogue.classes() else {
        return Err(class.mistake(format!("{} has no column `class`", catalogue.file())));
    };
    let one_of = OneOf::each(catalogue).find(|one_of| one_of.class() == Some(name));
    one_of.map(Some).ok_or_else(|| choice(&class, name, &names))
}
