//! Reading a form of a page, with the entries that a browser would submit (WHATWG HTML, section 4.10.21.4).

use encoding_rs::{Encoding, UTF_8};
use scraper::{ElementRef, Html, Selector};

use super::{ParsedResponse, selector};
use crate::script::origin::Location;
use crate::script::served_form::{Control, Enctype, Form};

/// Maximum number of forms that a reason names.
const FORMS: usize = 5;

/// Finds a form, by itself or by one of its buttons.
#[derive(Debug)]
pub(in crate::script) struct FormQuery(Selector);

impl FormQuery {
    /// # Errors
    /// The selector is invalid.
    pub(in crate::script) fn new(text: &str) -> Result<Self, String> {
        selector(text).map(Self)
    }

    /// The form of a response, as it was served.
    ///
    /// # Errors
    /// The response has no such form, or could not be examined.
    pub(in crate::script) fn read(&self, response: &ParsedResponse<'_>) -> Result<Form, String> {
        let html = response.html.html(response);
        let html = html.ok_or_else(|| response.incomplete().unwrap_or("the response cannot be read").to_owned())?;
        let none = || format!("no element of the page matches the selector; the page has {}", forms(html));
        let found = elements(html).find(|element| self.0.matches(element)).ok_or_else(none)?;
        let (form, button) = match is(found, "form") {
            true => (found, None),
            false => (owner(html, found).ok_or("the element of the page is not in a form")?, Some(found)),
        };
        let mut owned: Vec<ElementRef<'_>> = elements(html)
            .filter(|element| is_control(*element))
            // The owner of each may be the last element of the page.
            .take_while(|_| response.has_time())
            .filter(|element| owner(html, *element).is_some_and(|owner| owner.id() == form.id()))
            .collect();
        if owned.is_empty() {
            owned = after(html, form);
        }
        let submits = |element: &&ElementRef<'_>| is_submit_button(**element) && !is_disabled(**element);
        let button = button.or_else(|| owned.iter().find(submits).copied());
        let button = button.filter(|button| is_submit_button(*button));
        // A button can override what its form says.
        let said = |name: &str| {
            let of_button = button.and_then(|button| button.attr(&format!("form{name}")));
            of_button.or_else(|| form.attr(name)).unwrap_or_default().trim().to_owned()
        };
        if said("method").eq_ignore_ascii_case("dialog") {
            return Err("the method of the form is `dialog`: a browser closes a dialog and sends nothing".to_owned());
        }
        let mut charsets = form.attr("accept-charset").unwrap_or_default().split_ascii_whitespace();
        let charset = charsets.find_map(|name| Encoding::for_label(name.as_bytes()));
        let encoding = charset.or_else(|| response.encoding()).unwrap_or(UTF_8).output_encoding();
        let controls = controls(&owned, button, encoding, response);
        if let Some(reason) = response.incomplete() {
            return Err(reason.to_owned());
        }
        let base = elements(html).find(|element| is(*element, "base") && element.attr("href").is_some());
        Ok(Form {
            is_post: said("method").eq_ignore_ascii_case("post"),
            action: said("action"),
            base: base.and_then(|base| base.attr("href")).map(|href| href.trim().to_owned()),
            enctype: match said("enctype").to_ascii_lowercase().as_str() {
                "multipart/form-data" => Enctype::Multipart,
                "text/plain" => Enctype::PlainText,
                _ => Enctype::UrlEncoded,
            },
            encoding,
            controls,
            page: Location { target: response.received.target, path: response.received.path.to_owned() },
        })
    }
}

/// The forms of a page, as selectors of different ones.
fn forms(html: &Html) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace(['"', '\\'], "?"));
    let selector = |form: ElementRef<'_>| {
        let given = |name: &str| form.attr(name).filter(|text| !text.is_empty());
        if let Some(id) = given("id") {
            return format!("form[id={}]", quoted(id));
        }
        // The query of an action may differ between pages.
        let action = given("action").and_then(|action| action.split('?').next()).unwrap_or_default();
        given("name")
            .map_or_else(|| format!("form[action^={}]", quoted(action)), |name| format!("form[name={}]", quoted(name)))
    };
    let mut all: Vec<String> = elements(html).filter(|element| is(*element, "form")).map(selector).collect();
    all.sort();
    all.dedup();
    let more = if all.len() > FORMS { ", ..." } else { "" };
    all.truncate(FORMS);
    if all.is_empty() { "no form".to_owned() } else { format!("{}{more}", all.join(", ")) }
}

fn elements(html: &Html) -> impl Iterator<Item = ElementRef<'_>> {
    html.tree.nodes().filter_map(ElementRef::wrap)
}

/// The elements of the subtree, without its root, in tree order.
fn inside(element: ElementRef<'_>) -> impl Iterator<Item = ElementRef<'_>> {
    element.descendants().skip(1).filter_map(ElementRef::wrap)
}

fn is(element: ElementRef<'_>, name: &str) -> bool {
    element.value().name() == name
}

fn has(element: ElementRef<'_>, attribute: &str) -> bool {
    element.attr(attribute).is_some()
}

fn is_control(element: ElementRef<'_>) -> bool {
    ["button", "input", "select", "textarea"].contains(&element.value().name())
}

fn ancestors(element: ElementRef<'_>) -> impl Iterator<Item = ElementRef<'_>> {
    element.ancestors().filter_map(ElementRef::wrap)
}

/// The form that a control belongs to: the one that its `form` attribute names, or its closest ancestor.
fn owner<'h>(html: &'h Html, element: ElementRef<'h>) -> Option<ElementRef<'h>> {
    if !is_control(element) {
        return None;
    }
    match element.attr("form") {
        Some(id) => elements(html).find(|element| element.attr("id") == Some(id)).filter(|form| is(*form, "form")),
        None => ancestors(element).find(|element| is(*element, "form")),
    }
}

/// The controls after a form without content, up to the next form. In a table, the parser ends a form at once; browsers
/// still assign the controls that follow to it.
fn after<'h>(html: &'h Html, form: ElementRef<'h>) -> Vec<ElementRef<'h>> {
    let rest = elements(html).skip_while(|element| element.id() != form.id()).skip(1);
    let rest = rest.take_while(|element| !is(*element, "form"));
    rest.filter(|element| is_control(*element)).collect()
}

/// The type of an `input` or `button`, in lower case.
fn kind(element: ElementRef<'_>) -> String {
    let usual = if is(element, "button") { "submit" } else { "text" };
    element.attr("type").unwrap_or(usual).to_ascii_lowercase()
}

fn is_submit_button(element: ElementRef<'_>) -> bool {
    match element.value().name() {
        "button" => !["button", "reset"].contains(&kind(element).as_str()),
        "input" => ["submit", "image"].contains(&kind(element).as_str()),
        _ => false,
    }
}

/// Whether a control is disabled, by itself or by a `fieldset`. (A `fieldset` does not disable the controls in its
/// first legend.)
fn is_disabled(element: ElementRef<'_>) -> bool {
    let mut below = element;
    has(element, "disabled")
        || ancestors(element).any(|ancestor| {
            let inner = std::mem::replace(&mut below, ancestor);
            let first_legend = || ancestor.child_elements().find(|child| is(*child, "legend"));
            is(ancestor, "fieldset")
                && has(ancestor, "disabled")
                && first_legend().is_none_or(|legend| legend.id() != inner.id())
        })
}

/// The controls of a form that was submitted by `button`. Incomplete if the time limit is reached.
fn controls(
    owned: &[ElementRef<'_>],
    button: Option<ElementRef<'_>>,
    encoding: &'static Encoding,
    response: &ParsedResponse<'_>,
) -> Vec<Control> {
    let mut controls = Vec::new();
    for &element in owned.iter().take_while(|_| response.has_time()) {
        if ancestors(element).any(|ancestor| is(ancestor, "datalist")) {
            continue;
        }
        let name = element.attr("name").unwrap_or_default();
        let is_enabled = !is_disabled(element);
        let is_button = button.is_some_and(|button| button.id() == element.id());
        let value = element.attr("value");
        let mut add = |name: &str, value: &str, is_included: bool| {
            let is_file = is(element, "input") && kind(element) == "file";
            let is_included = is_included && is_enabled;
            controls.push(Control { name: name.into(), value: value.into(), is_file, is_included });
        };
        match (element.value().name(), kind(element).as_str()) {
            ("input", "image") => {
                let dot = if name.is_empty() { "" } else { "." };
                add(&format!("{name}{dot}x"), "0", is_button);
                add(&format!("{name}{dot}y"), "0", is_button);
            }
            _ if name.is_empty() => continue,
            ("button", _) | ("input", "submit" | "button" | "reset") => add(name, value.unwrap_or_default(), is_button),
            ("select", _) => options(element, |value, is_selected| add(name, value, is_selected)),
            ("textarea", _) => add(name, &element.text().collect::<String>(), true),
            ("input", "checkbox") => add(name, value.unwrap_or("on"), has(element, "checked")),
            ("input", "radio") => {
                let is_same = |other: &&ElementRef<'_>| {
                    is(**other, "input") && kind(**other) == "radio" && other.attr("name") == Some(name)
                };
                let checked = owned.iter().filter(is_same).rfind(|other| has(**other, "checked"));
                add(name, value.unwrap_or("on"), checked.is_some_and(|checked| checked.id() == element.id()));
            }
            ("input", "file") => add(name, "", true),
            ("input", "hidden") if name.eq_ignore_ascii_case("_charset_") => add(name, encoding.name(), true),
            ("input", "hidden") => add(name, value.unwrap_or_default(), true),
            ("input", kind) => {
                let value: String = value.unwrap_or_default().chars().filter(|c| !['\r', '\n'].contains(c)).collect();
                add(name, if ["email", "url"].contains(&kind) { value.trim() } else { &value }, true);
            }
            _ => {}
        }
        if let Some(direction) = element.attr("dirname").filter(|direction| !direction.is_empty()) {
            add(direction, "ltr", true);
        }
    }
    controls
}

/// Passes the value of each option of a list to `add`, and whether it is selected.
fn options(select: ElementRef<'_>, mut add: impl FnMut(&str, bool)) {
    let all: Vec<ElementRef<'_>> = inside(select).filter(|element| is(*element, "option")).collect();
    let is_enabled = |option: &&ElementRef<'_>| {
        !has(**option, "disabled")
            && !ancestors(**option).any(|ancestor| is(ancestor, "optgroup") && has(ancestor, "disabled"))
    };
    let is_multiple = has(select, "multiple");
    let is_dropdown = !is_multiple && select.attr("size").is_none_or(|size| size.trim() == "1");
    // Of a list with one choice: the last selected option, and in a dropdown the first enabled one if none is selected.
    let last = all.iter().rfind(|option| has(**option, "selected"));
    let chosen = last.or_else(|| all.iter().find(is_enabled).filter(|_| is_dropdown)).map(|option| option.id());
    if all.is_empty() {
        add("", false);
    }
    for option in &all {
        let text = || option.text().collect::<String>().split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let value = option.attr("value").map_or_else(text, str::to_owned);
        let is_selected = if is_multiple { has(*option, "selected") } else { chosen == Some(option.id()) };
        add(&value, is_selected && is_enabled(&option));
    }
}
