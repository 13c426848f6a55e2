//! Variables that combine other values: `full = "{{first}} smith"`.

use std::collections::{HashMap, HashSet};

use super::script::{Source, Variable};
use crate::template::{Name, Piece, Template};

impl Source {
    /// The source of a text in a workload file: a constant, or a text with placeholders.
    pub fn of_text(text: &str) -> Self {
        let template = Template::new(text);
        match template.text() {
            Some(text) => Self::Constant(Ok(text.to_owned())),
            None => Self::Composed(template),
        }
    }

    /// The names that a text with placeholders contains.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        let template = if let Self::Composed(template) = self { Some(template) } else { None };
        template.into_iter().flat_map(Template::names)
    }
}

/// `name` and all names that its value is composed of, each once.
pub(crate) fn expanded<'a>(name: &'a Name, variables: &'a [Variable]) -> Vec<&'a Name> {
    let (mut all, mut next) = (vec![name], 0);
    while let Some(name) = all.get(next).copied() {
        let variable = variables.iter().find(|variable| *variable.name == *name.variable);
        for inner in variable.into_iter().flat_map(|variable| variable.source.names()) {
            if !all.contains(&inner) {
                all.push(inner);
            }
        }
        next += 1;
    }
    all
}

/// Checks that no variable contains itself, directly or through others.
///
/// # Errors
/// The cycle, as `a -> b -> a`.
pub(crate) fn check_cycles(variables: &[Variable]) -> Result<(), String> {
    let by_name: HashMap<&str, &Variable> =
        variables.iter().map(|variable| (variable.name.as_str(), variable)).collect();
    let mut finished: HashSet<&str> = HashSet::new();
    for variable in variables {
        // The path to the variable that is visited, each with the names that were not followed yet.
        let mut path = vec![(variable.name.as_str(), variable.source.names())];
        while let Some((name, names)) = path.last_mut() {
            let Some(inner) = names.next() else {
                finished.insert(*name);
                path.pop();
                continue;
            };
            let inner: &str = &inner.variable;
            if let Some(start) = path.iter().position(|(name, _)| *name == inner) {
                let names = path[start..].iter().map(|(name, _)| *name).chain([inner]);
                return Err(format!(
                    "the value of `{inner}` contains itself: {}; remove one of these placeholders",
                    names.collect::<Vec<_>>().join(" -> ")
                ));
            }
            if let Some(variable) = by_name.get(inner).filter(|_| !finished.contains(inner)) {
                path.push((inner, variable.source.names()));
            }
        }
    }
    Ok(())
}

/// The values of the variables that are the same for all sessions; those in `overridden` may have other values at run time.
pub(crate) fn constants(variables: &[Variable], overridden: &HashSet<String>) -> HashMap<String, String> {
    let mut known: HashMap<String, String> = HashMap::new();
    let candidates: Vec<&Variable> = variables.iter().filter(|variable| !overridden.contains(&variable.name)).collect();
    loop {
        let before = known.len();
        for Variable { name, source, .. } in &candidates {
            let value = match source {
                _ if known.contains_key(name) => continue,
                Source::Constant(Ok(value)) => Some(value.clone()),
                Source::Composed(template) => composed(template, &known),
                _ => None,
            };
            known.extend(value.map(|value| (name.clone(), value)));
        }
        // A variable may be defined before those that it contains.
        if known.len() == before {
            return known;
        }
    }
}

/// The text of a template; `None` if a value is not known.
fn composed(template: &Template, known: &HashMap<String, String>) -> Option<String> {
    let value = |piece: &Piece| match piece {
        Piece::Text(text) => Some(text.to_string()),
        Piece::Value(Name { variable, column: None, .. }) => known.get(&**variable).cloned(),
        _ => None,
    };
    template.pieces().iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;
    use crate::write::tests::read;

    const START: &str = "duration = \"1s\"\narrivals.closed.users = 1\n";

    fn mistake(text: &str) -> String {
        Workload::parse(&format!("{START}{text}"), "w", &|_| Err(String::new())).unwrap_err().to_string()
    }

    #[test]
    fn constants_of_constants_are_filled_in_before_the_run() {
        let text = "[variables]\nurl = \"{{base}}/a?b={{'{{'}}\"\nbase = \"/{{shop}}\"\nshop = \"north\"\n[[request]]\nget = \"{{url}}\"\n";
        let workload = read(&format!("{START}{text}"));
        assert_eq!(workload.requests()[0].path().as_str(), "/north/a?b=%7B%7B");
        assert!(!workload.is_scripted());
        assert!(workload.to_string().contains("url = \"{{base}}/a?b={{'{{'}}\""), "{workload}");
    }

    #[test]
    fn a_literal_pair_of_braces_is_written_so_that_it_is_read_again() {
        let text = "[variables]\na = \"{{'{{'}}b}}\"\n[[request]]\npost = \"/\"\nbody = \"{{a}}\"\n";
        let workload = read(&format!("{START}{text}"));
        assert_eq!(workload.variables()[0].source, Source::Constant(Ok("{{b}}".to_owned())));
        assert_eq!(workload.requests()[0].body().text().and_then(Template::text), Some("{{b}}"));
    }

    #[test]
    fn cycles_and_undefined_names_are_errors() {
        assert!(mistake("[variables]\na = \"x{{b}}\"\nb = \"{{c}}\"\nc = \"{{a}}\"\n").contains("a -> b -> c -> a"));
        assert!(mistake("[variables]\na = \"{{a}}\"\n").contains("contains itself: a -> a"));
        let undefined = mistake("[variables]\nfirst = \"ann\"\nfull = \"{{frist}} smith\"\n");
        assert!(undefined.starts_with("w:3: variables") && undefined.contains("did you mean `first`"), "{undefined}");
    }

    #[test]
    fn a_value_of_a_response_must_be_there_before_it_is_composed() {
        let request = "[[request]]\nname = \"b\"\nget = \"/{{path}}\"\n[[request]]\nname = \"a\"\nget = \"/\"\n\
                       extract = [{ name = \"id\", regex = 'x' }]\n[variables]\npath = \"items/{{id}}\"\n";
        let steps = |first: &str, second: &str| {
            format!("[[flow]]\nname = \"f\"\nstep = [{{ request = \"{first}\" }}, {{ request = \"{second}\" }}]\n")
        };
        assert!(mistake(&format!("{request}{}", steps("b", "a"))).contains("reaches this request without it"));
        read(&format!("{START}{request}{}", steps("a", "b")));
    }
}
