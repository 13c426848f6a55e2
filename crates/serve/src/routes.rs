//! The requests of a workload by their paths: of which class a job is, and how much work it brings.

use std::collections::HashMap;

use offered_model::catalogue::Index;
use offered_model::workload::Request;
use offered_model::{Law, Nanos, Workload, Wrong};

/// What a server knows of the requests that it will be asked.
#[derive(Debug, Default)]
pub struct Routes {
    /// The number of a request by its method and its path without a query.
    literal: HashMap<String, u16>,
    catalogues: Vec<Listed>,
    /// The law of the work of each request that has one of its own.
    laws: Vec<Option<Law>>,
}

/// The files of a catalogue that are asked for by one method.
#[derive(Debug)]
struct Listed {
    method: String,
    index: Index,
    /// The request for each class.
    labels: HashMap<u16, u16>,
}

/// What is known of a request by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Which request of the workload it is.
    pub(crate) class: u16,
    /// The work of the file that it asks for.
    pub(crate) work: Option<Nanos>,
}

impl Routes {
    /// Of all requests of this workload.
    ///
    /// # Errors
    /// A request whose path is not the same for all launches, or that another has too.
    pub fn new(workload: &Workload) -> Result<Self, Wrong> {
        let mut routes = Self::default();
        for (label, request) in (0u16..).zip(workload.requests()) {
            let taken = match request.one_of() {
                Some(_) => routes.list(label, request),
                None => routes.literal.insert(format!("{} {}", request.method(), path(request)?), label),
            };
            if let Some(other) = taken {
                let (one, other) = (&workload.requests()[usize::from(other)], request);
                return Err(Wrong::new(format!(
                    "the requests `{}` and `{}` have one path, and serve tells requests apart by their paths; give one of them another",
                    one.name(),
                    other.name()
                )));
            }
            routes.laws.push(request.service().cloned());
        }
        Ok(routes)
    }

    /// Adds the files that a request asks for; the request that asks for the same.
    fn list(&mut self, label: u16, request: &Request) -> Option<u16> {
        let one_of = request.one_of()?;
        let (catalogue, method) = (one_of.catalogue(), request.method());
        let of =
            |listed: &Listed| listed.method == method && std::sync::Arc::ptr_eq(listed.index.catalogue(), catalogue);
        let place = self.catalogues.iter().position(of).unwrap_or_else(|| {
            let (method, index) = (method.to_owned(), Index::new(catalogue));
            self.catalogues.push(Listed { method, index, labels: HashMap::new() });
            self.catalogues.len() - 1
        });
        self.catalogues[place].labels.insert(one_of.number(), label)
    }

    /// What is known of a request by its method and target.
    pub(crate) fn find(&self, method: &str, target: &str) -> Option<Route> {
        if self.laws.is_empty() {
            return None;
        }
        let listed = self.catalogues.iter().filter(|listed| listed.method == method).find_map(|listed| {
            let (class, file) = listed.index.find(target)?;
            Some(Route { class: *listed.labels.get(&class)?, work: file.work })
        });
        let path = target.split('?').next().unwrap_or_default();
        listed.or_else(|| Some(Route { class: *self.literal.get(&format!("{method} {path}"))?, work: None }))
    }

    /// The class of jobs of which nothing is known: after all others.
    pub(crate) fn others(&self) -> u16 {
        self.laws.len() as u16
    }

    /// The law of the work of a class, where it has its own.
    pub(crate) fn law(&self, class: u16) -> Option<&Law> {
        self.laws.get(usize::from(class))?.as_ref()
    }
}

/// The path of a request, which is the same for all its launches.
fn path(request: &Request) -> Result<&str, Wrong> {
    let text = request.path().as_str();
    match text.split_once('?').map_or(text, |(path, _)| path) {
        path if request.path().text().is_some() || !path.contains('{') => Ok(path),
        path => Err(Wrong::new(format!(
            "the path `{path}` of request `{}` differs from launch to launch, and serve tells requests apart by their paths; say it behind a ?",
            request.name()
        ))),
    }
}
