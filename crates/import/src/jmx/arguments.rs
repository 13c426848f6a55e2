//! Arguments of HTTP samplers: query parameters and form fields.
//!
//! Source: `HTTPHC4Impl.createUrlEncodedFormEntity`, `HTTPSamplerBase.getQueryString` and `HTTPArgument` of `JMeter`.
//! In a form, arguments without "URL Encode?" are decoded and encoded again; in a query they are sent unchanged.

use offered_workload::script::Body;

use super::Reader;
use super::node::Node;
use super::tree::Element;
use crate::address::{form_decode, form_encode, percent_encode};
use crate::body;
use crate::text::Text;

const FORM: &str = "application/x-www-form-urlencoded";

/// An argument of a sampler.
pub(super) struct Argument {
    pub(super) name: Text,
    pub(super) value: Text,
    /// Whether `JMeter` encodes name and value ("URL Encode?").
    encode: bool,
    /// Whether name and value are separated by `=` in a query.
    equals: bool,
}

impl Argument {
    /// Whether `JMeter` skips the argument in a form.
    pub(super) fn has_blank_name(&self) -> bool {
        self.name.as_literal().is_some_and(|name| name.trim().is_empty())
    }

    /// The value as part of a body of values only.
    pub(super) fn value_as_body(&self) -> Text {
        if self.encode { self.value.map_literals(form_encode) } else { self.value.clone() }
    }

    fn texts(&self) -> [&Text; 2] {
        [&self.name, &self.value]
    }

    /// Whether a run-time value is part of an argument without "URL Encode?".
    fn is_unencoded_at_run_time(&self) -> bool {
        !self.encode && self.texts().iter().any(|text| text.as_literal().is_none())
    }

    /// Name and value of a form field before it is encoded.
    fn decoded(&self) -> [Text; 2] {
        self.texts().map(|text| {
            if self.encode {
                text.clone()
            } else {
                text.map_literals(|text| form_decode(text).unwrap_or_else(|| text.to_owned()))
            }
        })
    }
}

impl<'e> Reader<'e, '_> {
    /// The arguments with their variables resolved.
    pub(super) fn arguments(&mut self, node: &Node<'e>, elements: &[&'e Element]) -> Vec<Argument> {
        let mut arguments = Vec::new();
        for element in elements {
            let name = match element.text_of("Argument.name") {
                "" => element.attribute("name"),
                name => name,
            };
            arguments.push(Argument {
                name: self.resolve(node, name),
                value: self.resolve(node, element.text_of("Argument.value")),
                encode: element.text_of("HTTPArgument.always_encode") == "true",
                equals: element.text_of("Argument.metadata") == "=",
            });
        }
        arguments
    }

    /// The form body of a sampler; arguments without a name are skipped.
    pub(super) fn form(
        &mut self,
        node: &Node<'e>,
        arguments: &[Argument],
        charset: &str,
        headers: &mut Vec<(String, Text)>,
    ) -> Body {
        let arguments: Vec<&Argument> = arguments.iter().filter(|argument| !argument.has_blank_name()).collect();
        if arguments.iter().any(|argument| argument.is_unencoded_at_run_time()) {
            self.note(
                node,
                "has form fields without \"URL Encode?\" whose values are only known at run time: JMeter decodes and encodes them, here they are only encoded, so `%` and `+` in a value are sent differently",
            );
        }
        let invalid = |text: &Text| text.literal_parts().any(|part| form_decode(part).is_none());
        if arguments.iter().any(|argument| !argument.encode && argument.texts().into_iter().any(invalid)) {
            self.note(
                node,
                "has form fields without \"URL Encode?\" that are not valid URL encoding, so JMeter does not send the request; here they are encoded",
            );
        }
        body::set_default_type(headers, &format!("{FORM}; charset={charset}"));
        let typed = !headers.iter().any(|(name, value)| is_form_header(name, value));
        let fields: Vec<[Text; 2]> = arguments.iter().map(|argument| argument.decoded()).collect();
        // A form table of a workload does not support variables in names.
        if fields.is_empty() {
            return Body::None;
        }
        if !typed && fields.iter().all(|[name, _]| name.as_literal().is_some()) {
            let fields: Vec<_> = fields.into_iter().map(|[name, value]| (name.to_display(), value)).collect();
            return body::form(&fields, headers);
        }
        if typed && fields.iter().flatten().any(|text| text.as_literal().is_none()) {
            self.note(
                node,
                "sends form fields with another Content-Type: JMeter URL-encodes values of variables, here they are escaped for the Content-Type",
            );
        }
        let mut text = Text::default();
        for (at, [name, value]) in fields.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { "&" });
            text.push(&name.map_literals(form_encode));
            text.push_str("=");
            text.push(&value.map_literals(form_encode));
        }
        // Unlike `body::text`, values of variables are encoded for the form.
        Body::Text(text.template())
    }

    /// The query of a sampler; arguments without a name are skipped. `None` if there are no others.
    pub(super) fn query(&mut self, node: &Node<'e>, arguments: &[Argument]) -> Option<Text> {
        let arguments: Vec<&Argument> = arguments.iter().filter(|argument| !argument.name.is_empty()).collect();
        if arguments.iter().any(|argument| argument.is_unencoded_at_run_time()) {
            self.note(
                node,
                "has query parameters without \"URL Encode?\" whose values are only known at run time: JMeter sends them unchanged, here they are encoded",
            );
        }
        let mut text = Text::default();
        for (at, argument) in arguments.iter().enumerate() {
            let encode = if argument.encode { form_encode } else { percent_encode };
            text.push_str(if at == 0 { "" } else { "&" });
            text.push(&argument.name.map_literals(encode));
            text.push_str(if argument.equals { "=" } else { "" });
            text.push(&argument.value.map_literals(encode));
        }
        (!arguments.is_empty()).then_some(text)
    }
}

fn is_form_header(name: &str, value: &Text) -> bool {
    name.eq_ignore_ascii_case("content-type") && value.leading_literal().starts_with(FORM)
}
