//! The rules of Kubernetes for names, labels, annotations, tolerations and quantities.

use std::str::FromStr;

use serde_json::{Value, json};

/// The prefix of the labels by which the pods of a run are selected.
const OWN_PREFIX: &str = "app.kubernetes.io/";
/// The effects of a taint.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
/// The suffixes of a quantity, with the binary ones.
const SUFFIXES: [&str; 12] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "k", "M", "G", "T", "P", "E"];

/// Whether this is a DNS label (RFC 1123) but for its length.
pub(super) fn is_label(name: &str) -> bool {
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    outer(name.chars().next()) && outer(name.chars().last()) && name.chars().all(inner)
}

/// Whether this is a DNS subdomain (RFC 1123).
pub(super) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label) && name.len() <= 253
}

/// Whether this is a key of a label or an annotation: `name`, or `prefix/name` with a DNS subdomain before the slash.
fn is_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_subdomain) && !name.is_empty() && is_value(name)
}

/// Whether this is the value of a label.
fn is_value(value: &str) -> bool {
    let outer = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    outer(value.chars().next()) && outer(value.chars().last()) && value.chars().all(inner) && value.len() <= 63
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`; write KEY=VALUE"))?;
    if !is_key(key) {
        return Err(format!(
            "`{key}` is not a key: use letters and digits, with -, _ and . between them, at most 63 characters, after \
             an optional prefix (example.com/team)"
        ));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Parses an annotation, `KEY=VALUE`.
///
/// # Errors
/// The key breaks the rules.
pub fn annotation(text: &str) -> Result<(String, String), String> {
    pair(text)
}

/// Parses a label, `KEY=VALUE`, of an object or of a node. The labels `app.kubernetes.io/name` and `app.kubernetes.io/instance` select the
/// pods of a run and cannot be set.
///
/// # Errors
/// The key or the value breaks the rules, or the label is one of ours.
pub fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = pair(text)?;
    if !is_value(&value) {
        return Err(format!(
            "`{value}` is not a valid label value: use letters and digits, with -, _ and . between them, at most 63 \
             characters; for any other text, use an annotation"
        ));
    }
    if key.strip_prefix(OWN_PREFIX).is_some_and(|name| ["name", "instance"].contains(&name)) {
        return Err(format!("offered sets the label `{key}` itself, to find the pods of the run; use another key"));
    }
    Ok((key, value))
}

/// Checks the size of a volume, a quantity such as `10Gi`.
///
/// # Errors
/// The text is not a quantity, or it is zero.
pub fn storage_size(text: &str) -> Result<String, String> {
    let number = SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)).unwrap_or(text);
    let is_plain = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    match number.parse::<f64>() {
        Ok(size) if is_plain && size > 0.0 => Ok(text.to_owned()),
        _ => Err(format!("`{text}` is not a size; write for example 10Gi")),
    }
}

/// A taint that the workers tolerate. Parsed from `KEY=VALUE:EFFECT`; value and effect are optional, and a missing one
/// matches all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    key: String,
    value: Option<String>,
    effect: Option<String>,
}

impl Toleration {
    /// The object of the API.
    pub(super) fn to_json(&self) -> Value {
        let operator = if self.value.is_some() { "Equal" } else { "Exists" };
        let mut toleration = json!({ "key": self.key, "operator": operator });
        for (name, part) in [("value", &self.value), ("effect", &self.effect)] {
            if let Some(part) = part {
                toleration[name] = part.as_str().into();
            }
        }
        toleration
    }
}

impl FromStr for Toleration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (taint, effect) = text.split_once(':').map_or((text, None), |(taint, effect)| (taint, Some(effect)));
        let (key, value) = taint.split_once('=').map_or((taint, None), |(key, value)| (key, Some(value)));
        if let Some(effect) = effect.filter(|effect| !EFFECTS.contains(effect)) {
            return Err(format!("`{effect}` is not an effect of a taint; use one of {}", EFFECTS.join(", ")));
        }
        if !is_key(key) || !value.is_none_or(is_value) {
            return Err(format!(
                "`{text}` is not a taint; write KEY, KEY=VALUE or KEY=VALUE:EFFECT, as `kubectl taint`"
            ));
        }
        Ok(Self { key: key.to_owned(), value: value.map(str::to_owned), effect: effect.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_annotations_follow_the_rules_of_the_api() {
        for good in ["team=load", "example.com/team=a.b_c-D", "a=", "A1=x"] {
            assert!(label(good).is_ok(), "{good}: {:?}", label(good));
        }
        for (bad, reason) in [
            ("team", "has no `=`"),
            ("=x", "not a key"),
            ("-a=x", "not a key"),
            ("Example.com/team=x", "not a key"),
            ("a/b/c=x", "not a key"),
            ("team=a b", "not a valid label value"),
            ("team=-a", "not a valid label value"),
            ("app.kubernetes.io/instance=x", "sets the label"),
        ] {
            assert!(label(bad).unwrap_err().contains(reason), "{bad}: {:?}", label(bad));
        }
        let long = format!("{}=x", "a".repeat(64));
        assert!(label(&long).is_err() && label(&long[1..]).is_ok());
        assert_eq!(annotation("note=any text = here"), Ok(("note".to_owned(), "any text = here".to_owned())));
    }

    #[test]
    fn a_toleration_is_written_like_a_taint() {
        let json = |text: &str| text.parse::<Toleration>().map(|toleration| toleration.to_json());
        let whole = json!({ "key": "dedicated", "operator": "Equal", "value": "load", "effect": "NoSchedule" });
        assert_eq!(json("dedicated=load:NoSchedule"), Ok(whole));
        assert_eq!(json("gpu:NoExecute"), Ok(json!({ "key": "gpu", "operator": "Exists", "effect": "NoExecute" })));
        assert_eq!(json("gpu"), Ok(json!({ "key": "gpu", "operator": "Exists" })));
        assert!(json("gpu:Never").unwrap_err().contains("NoSchedule, PreferNoSchedule, NoExecute"));
        assert!(json("a b").unwrap_err().contains("not a taint"));
        assert!(json("").unwrap_err().contains("not a taint"));
    }

    #[test]
    fn sizes_are_quantities() {
        for good in ["10Gi", "1.5G", "1073741824"] {
            assert_eq!(storage_size(good).as_deref(), Ok(good));
        }
        for bad in ["", "Gi", "10GB", "ten", "0", "-1Gi", "inf", "1e400"] {
            assert!(storage_size(bad).is_err(), "{bad}");
        }
    }
}
