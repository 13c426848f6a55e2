//! The commands, environment variables and files that a workload uses on the machine that runs it.

use std::path::PathBuf;

use super::observe::Scrape;
use super::{Descriptors, Target, Workload};

/// An environment variable that a workload reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnvironmentVariable {
    /// The name.
    pub name: String,
    /// Whether the run also works without it.
    pub optional: bool,
}

impl Workload {
    /// The target, and the targets of scrapes.
    fn all_targets(&self) -> impl Iterator<Item = &Target> {
        self.targets().chain(self.observe().scrapes.iter().map(Scrape::target))
    }

    /// The commands that a run starts on this machine (`policies.hook`, `target.hook`), each as program and arguments.
    pub fn commands(&self) -> Vec<&[String]> {
        let policies = self.policies().map(|policies| &policies.hook[..]);
        policies.into_iter().chain(self.all_targets().map(Target::hook)).filter(|hook| !hook.is_empty()).collect()
    }

    /// The environment variables that it reads, by name.
    pub fn environment(&self) -> Vec<EnvironmentVariable> {
        let named = self.variables().iter().filter_map(|variable| variable.env.clone());
        let named = named.map(|name| EnvironmentVariable { name, optional: false });
        let asks = |target: &Target| target.url().login.as_ref().is_some_and(|login| login.password.is_none());
        let password = self.all_targets().any(asks).then(|| "PGPASSWORD".to_owned());
        let mut all: Vec<_> = named.chain(password.map(|name| EnvironmentVariable { name, optional: true })).collect();
        all.sort();
        all.dedup_by(|later, first| later.name == first.name);
        all
    }

    /// The files that connections need, read before the first request: certificates, keys and descriptions of messages.
    pub fn connection_files(&self) -> Vec<PathBuf> {
        let of = |target: &Target| {
            let tls = target.tls();
            let identity =
                tls.identity.iter().flat_map(|identity| [identity.certificate.clone(), identity.key.clone()]);
            let descriptors = match target.descriptors() {
                Some(Descriptors::File(file)) => Some(file.clone()),
                _ => None,
            };
            tls.roots.iter().cloned().chain(identity).chain(descriptors).collect::<Vec<PathBuf>>()
        };
        self.all_targets().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::tests::read;

    #[test]
    fn commands_variables_and_files_of_all_targets_are_listed() {
        let workload = read(
            "duration = \"74s\"\nskip_first = \"10s\"\narrivals.open.rate = \"1/s\"\n\
             [policies]\nnames = [\"a\", \"b\"]\nblock = \"8s\"\nhook = [\"./switch\", \"{{policy}}\"]\n\
             [target]\nurl = \"https://h/\"\ntls = { roots = \"ca.pem\", certificate = \"/etc/own.pem\", key = \"own.key\" }\n\
             headers = { X = \"{{b}}{{a}}\" }\n[variables]\nb = { env = \"B\" }\na = { env = \"A\" }\n\
             [[observe.scrape]]\nname = \"db\"\ntarget.url = \"postgres://me@db/shop\"\nsql = \"select 1\"\n",
        );
        assert_eq!(workload.commands(), [["./switch", "{{policy}}"]]);
        let named = workload.environment().into_iter().map(|variable| (variable.name, variable.optional));
        let expected = [("A", false), ("B", false), ("PGPASSWORD", true)];
        assert_eq!(named.collect::<Vec<_>>(), expected.map(|(name, optional)| (name.to_owned(), optional)));
        assert_eq!(workload.connection_files(), ["plans/ca.pem", "/etc/own.pem", "plans/own.key"].map(PathBuf::from));
    }
}
