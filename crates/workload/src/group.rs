//! Groups: the part of a visit from one step of a flow to another, such as a checkout.

use std::collections::HashSet;

use offered_base::{InvalidValue, nearest};
use offered_schedule::Flows;

/// A group: from the first request of a step to the last response of the same or another step of the same flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The unique name.
    pub name: String,
    /// The number of the first step in [`Flows::steps`].
    pub from: u16,
    /// The number of the last step.
    pub to: u16,
}

impl Group {
    /// The group between the steps of these names of the flow, which may be left out if only one flow has both steps.
    ///
    /// # Errors
    /// There are no such steps, or several.
    pub(crate) fn find(
        name: &str,
        flow: Option<&str>,
        [from, to]: [&str; 2],
        flows: &Flows,
    ) -> Result<Self, InvalidValue> {
        let names: Vec<&str> = flows.flows().iter().map(|flow| flow.name.as_str()).collect();
        if let Some(flow) = flow.filter(|flow| !names.contains(flow)) {
            let hint = nearest(flow, &names);
            return Err(InvalidValue::new(format!("no flow `{flow}`{hint}; the flows are {}", names.join(", "))));
        }
        let steps = flows.steps();
        let step = |of: usize, name: &str| {
            steps.iter().position(|step| usize::from(step.flow) == of && step.name == name).map(|step| step as u16)
        };
        let wanted = names.iter().enumerate().filter(|(_, name)| flow.is_none_or(|flow| flow == **name));
        let mut found = wanted.filter_map(|(of, _)| Some((step(of, from)?, step(of, to)?)));
        match (found.next(), found.next()) {
            (Some((from, to)), None) => Ok(Self { name: name.to_owned(), from, to }),
            (Some((first, _)), Some(_)) => {
                let flow = names[usize::from(steps[usize::from(first)].flow)];
                Err(InvalidValue::new(format!("several flows have steps `{from}` and `{to}`; add flow = \"{flow}\"")))
            }
            _ => {
                let all = flows.step_names();
                Err(InvalidValue::new(format!(
                    "no flow has steps `{from}` and `{to}`; the steps are {}",
                    all.join(", ")
                )))
            }
        }
    }
}

/// Checks that names are unique and that all groups have steps of one flow.
///
/// # Errors
/// The number of a wrong group, and what is wrong.
pub(crate) fn check(groups: &[Group], flows: Option<&Flows>) -> Result<(), (usize, String)> {
    let mut names = HashSet::new();
    for (number, Group { name, from, to }) in groups.iter().enumerate() {
        let Some(flows) = flows else { return Err((number, "a group needs a [[flow]] with its steps".to_owned())) };
        let flow = |step: u16| flows.steps().get(usize::from(step)).map(|step| step.flow);
        if name.is_empty() || name.contains(['{', '}']) || !names.insert(name) {
            return Err((
                number,
                format!(
                    "`{name}` is not a valid name of a group, or two groups have this name; give each group its own name"
                ),
            ));
        }
        if flow(*from).is_none() || flow(*from) != flow(*to) {
            return Err((number, format!("the steps of group `{name}` are not in one flow")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Workload;

    const FLOWS: &str = "duration = \"10s\"\ntarget.url = \"http://h/\"\narrivals.partly_open.rate = \"1/s\"\n\
        request = [{ name = \"a\", get = \"/a\" }, { name = \"b\", get = \"/b\" }]\n\
        [[flow]]\nname = \"one\"\nstep = [{ request = \"a\" }, { request = \"b\" }]\n\
        [[flow]]\nname = \"two\"\nstep = [{ request = \"b\" }, { request = \"a\" }, { request = \"b\", name = \"last\" }]\n";

    fn parse(groups: &str) -> Result<Workload, String> {
        let text = format!("{FLOWS}{groups}");
        Workload::parse(&text, "w.toml", &|_| Err(String::new())).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn groups_are_read_and_written() {
        let text = "[[group]]\nname = \"g\"\nflow = \"two\"\nfrom = \"a\"\nto = \"last\"\n\n[[group]]\nname = \"h\"\nflow = \"one\"\nfrom = \"a\"\nto = \"a\"\n";
        let workload = parse(text).unwrap();
        assert_eq!(workload.groups().iter().map(|group| (group.from, group.to)).collect::<Vec<_>>(), [(3, 4), (0, 0)]);
        assert!(workload.to_string().contains(text), "{workload}");
        assert_eq!(Workload::parse(&workload.to_string(), "w.toml", &|_| Err(String::new())).unwrap(), workload);
        // Only one flow has both steps.
        assert_eq!(parse("[[group]]\nname = \"g\"\nfrom = \"a\"\nto = \"last\"\n").unwrap().groups()[0].from, 3);
    }

    #[test]
    fn wrong_groups_are_errors_with_the_next_step() {
        for (group, why) in [
            ("from = \"a\"\nto = \"b\"", "several flows have steps `a` and `b`; add flow = \"one\""),
            ("flow = \"tow\"\nfrom = \"a\"\nto = \"b\"", "no flow `tow`"),
            ("from = \"c\"\nto = \"b\"", "no flow has steps `c` and `b`; the steps are one/a, one/b, two/b"),
            (
                "from = \"a\"\nto = \"last\"\n[[group]]\nname = \"g\"\nfrom = \"a\"\nto = \"last\"",
                "two groups have this name",
            ),
            ("from = \"a\"", "to"),
        ] {
            let error = parse(&format!("[[group]]\nname = \"g\"\n{group}\n")).unwrap_err();
            assert!(error.contains(why), "{group}: {error}");
        }
        let error =
            parse("[[group]]\nname = \"g\"\nfrom = \"a\"\nto = \"last\"\n[thresholds]\n\"group.p95{x}\" = \"< 1s\"\n");
        assert!(error.unwrap_err().contains("`x` is not one of g"));
    }
}
