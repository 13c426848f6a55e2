//! Requests that submit a form of an earlier page as it was served.

use std::collections::HashSet;

use offered_base::InvalidValue;
use offered_schedule::flow::Flows;

use super::check::check_part;
use super::names::path_without;
use super::script::{Content, Part};
use super::{Request, Workload};
use crate::template::Template;

/// A form of an earlier response, with the fields that a user fills in.
#[derive(Clone, Debug, PartialEq)]
pub struct Submit {
    /// CSS selector of the form, or of one of its buttons. Of a form the first button submits it, as when a person presses Enter.
    pub selector: String,
    /// The request whose response has the form; `None`: those that come directly before it in the flows.
    pub page: Option<String>,
    /// New values of fields that the form has, by name.
    pub fields: Vec<(String, Field)>,
    /// Fields that the form does not have, such as those that scripts of the page add.
    pub added: Vec<(String, Field)>,
}

/// What a user does with a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Gives it these values; several for a list or a group of boxes.
    Texts(Vec<Template>),
    /// Chooses a file.
    File(Part),
    /// Checks it, or includes it with its value (`true`); unchecks it, or leaves it out (`false`).
    Included(bool),
}

impl Submit {
    /// The templates of its fields.
    pub(crate) fn templates(&self) -> impl Iterator<Item = (&str, &Template)> {
        self.fields.iter().chain(&self.added).flat_map(|(name, field)| {
            let (texts, file) = match field {
                Field::Texts(texts) => (&texts[..], None),
                Field::File(Part { content: Ok(Content::Text(text)), .. }) => (&[][..], Some(text)),
                Field::File(_) | Field::Included(_) => (&[][..], None),
            };
            texts.iter().chain(file).map(move |text| (name.as_str(), text))
        })
    }

    /// Checks its names and files.
    ///
    /// # Errors
    /// An empty selector, a field that is set twice, or a file with an invalid name.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        if self.selector.trim().is_empty() {
            return Err(InvalidValue::new("must be the CSS selector of a form or its button, such as \"#edit\""));
        }
        let mut names = HashSet::new();
        for (name, field) in self.fields.iter().chain(&self.added) {
            if !names.insert(name) {
                return Err(InvalidValue::new(format!("the field `{name}` is set twice; remove one")));
            }
            if let Field::File(part) = field {
                check_part(part)?;
            }
        }
        match self.added.iter().find(|(_, field)| matches!(field, Field::Included(_))) {
            Some((name, _)) => Err(InvalidValue::new(format!("the added field `{name}` needs a value"))),
            None => Ok(()),
        }
    }
}

impl Workload {
    /// The requests whose responses have the form that request `number` submits; empty if it submits none.
    pub fn form_pages(&self, number: usize) -> Vec<usize> {
        // The workload was checked.
        pages(self.requests(), self.flows().map(|flows| &**flows), number).unwrap_or_default()
    }
}

/// The requests whose responses have the form that request `number` submits.
///
/// # Errors
/// There is no such request, or a session may send `number` before it.
pub(crate) fn pages(requests: &[Request], flows: Option<&Flows>, number: usize) -> Result<Vec<usize>, String> {
    let Some(submit) = &requests[number].submit else { return Ok(Vec::new()) };
    let flows = flows.ok_or("submits a form of an earlier page; write a [[flow]] with that page before it")?;
    if let Some(page) = &submit.page {
        let known: Vec<&str> = requests.iter().map(Request::name).collect();
        let found = known.iter().position(|name| name == page);
        let page =
            found.ok_or_else(|| format!("no request is named `{page}`{}", offered_base::nearest(page, &known)))?;
        return match path_without(flows, number, &[page]) {
            None => Ok(vec![page]),
            Some(way) => Err(format!("a session reaches it without `{}`: {}", known[page], described(flows, &way))),
        };
    }
    let sends = |step: u16| usize::from(flows.steps()[usize::from(step)].request);
    if let Some(flow) = flows.begins().find(|flow| sends(flow.start) == number) {
        return Err(format!(
            "flow `{}` begins with it, before any page; put the page with the form before it",
            flow.name
        ));
    }
    let mut before: Vec<usize> = Vec::new();
    for (at, step) in (0u16..).zip(flows.steps()) {
        let leads = flows.followers(at).iter().flatten().any(|to| sends(*to) == number);
        let repeats = step.repeat > 1 && usize::from(step.request) == number;
        if (leads || repeats) && !before.contains(&usize::from(step.request)) {
            before.push(step.request.into());
        }
    }
    Ok(before)
}

/// A path through the flows, for messages.
fn described(flows: &Flows, way: &[u16]) -> String {
    way.iter().map(|step| &*flows.steps()[usize::from(*step)].name).collect::<Vec<_>>().join(" -> ")
}

#[cfg(test)]
mod tests {
    use crate::Workload;
    use crate::write::tests::read;

    const START: &str = "duration = \"1s\"\narrivals.closed.users = 1\n[[request]]\nname = \"page\"\nget = \"/\"\n\
                         [[request]]\nname = \"other\"\nget = \"/o\"\n[[request]]\nname = \"save\"\n";

    fn flow(steps: &str) -> String {
        let steps: Vec<String> = steps.split(' ').map(|step| format!("{{ request = \"{step}\" }}")).collect();
        format!("\n[[flow]]\nname = \"f\"\nstep = [{}]\n", steps.join(", "))
    }

    #[test]
    fn the_page_of_a_form_is_the_request_before_it_or_a_named_one() {
        let of = |submit: &str, steps: &str| read(&format!("{START}{submit}{}", flow(steps)));
        let before = of("submit = \"form\"", "other page save");
        assert_eq!((before.form_pages(2), before.form_pages(0)), (vec![0], vec![]));
        assert!(before.is_scripted());
        let named = of("submit = { form = \"#a\", page = \"page\" }", "page other save");
        assert_eq!(named.form_pages(2), [0]);
    }

    #[test]
    fn all_kinds_of_fields_are_written_as_they_are_read() {
        let submit = "submit = { form = \"#a\", page = \"page\", fields = { a = \"x {{session}}\", \"b[]\" = [\"1\", \"2\"], c = true, d = false, \
                      e = { file = \"picture.png\", type = \"image/png\" }, f = 7 }, add = { g = \"y\" } }\nheaders = { X = \"1\" }";
        let workload = read(&format!("{START}{submit}{}", flow("page other save")));
        assert_eq!(read(&workload.to_string()), workload);
        assert_eq!(workload.requests()[2].name(), "save");
    }

    #[test]
    fn a_form_without_a_page_is_an_error() {
        for (submit, steps, reason) in [
            ("submit = \"form\"", "save page other", "begins with it"),
            ("submit = { form = \"f\", page = \"pge\" }", "page other save", "did you mean `page`"),
            ("submit = { form = \"f\", page = \"page\" }", "other save page", "without `page`: other -> save"),
            ("submit = { form = \"f\", add = { a = true } }", "page other save", "needs a value"),
            ("submit = { form = \"f\", fields = { a = \"1\" }, add = { a = \"1\" } }", "page other save", "set twice"),
            ("submit = \"\"", "page other save", "CSS selector"),
            ("submit = \"form\"\npost = \"/\"", "page other save", "cannot be combined with submit"),
            ("submit = \"form\"\nbody = \"x\"", "page other save", "cannot be combined with submit"),
        ] {
            let text = format!("{START}{submit}{}", flow(steps));
            let message = Workload::parse(&text, "w", &|_| Err(String::new())).unwrap_err().to_string();
            assert!(message.contains(reason), "{submit}: {message}");
        }
    }
}
