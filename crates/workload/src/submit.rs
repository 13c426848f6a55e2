//! Requests that submit a form of an earlier page.

use super::script::{Content, Part};
use crate::template::Template;

/// A form of an earlier response, with the fields that a user fills in.
#[derive(Clone, Debug, PartialEq)]
pub struct Submit {
    /// CSS selector of the form, or of one of its buttons. If it selects a form, the first button submits it, as when a
    /// person presses Enter.
    pub selector: String,
    /// The request whose response has the form; `None`: the requests directly before this one in the flows.
    pub page: Option<String>,
    /// New values of fields that the form has, by name.
    pub fields: Vec<(String, Field)>,
    /// Fields that the form does not have, such as those that scripts of the page add.
    pub added: Vec<(String, Field)>,
}

/// What a user does with a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Enters these values; several values for a list or a group of boxes.
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
            ("submit = \"form\"", "save page other", "begins with this request"),
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
