//! Finds the request of a workload by its path: the class of a job, and its work.

use std::collections::HashMap;

use offered_base::{InvalidValue, Nanos};
use offered_distributions::Distribution;
use offered_workload::Request;
use offered_workload::Workload;
use offered_workload::catalogue::Index;
use offered_workload::engine::Engine;

/// The paths that a server knows.
#[derive(Debug, Default)]
pub struct Routes {
    /// Index of a request by its method and its path without the query.
    literal: HashMap<String, u16>,
    catalogues: Vec<CatalogueRoutes>,
    /// Service distribution of each request that has its own.
    distributions: Vec<Option<Distribution>>,
    /// The engine behind the API of a language model.
    pub(crate) engine: Option<Engine>,
}

/// The files of a catalogue that are requested by one method.
#[derive(Debug)]
struct CatalogueRoutes {
    method: String,
    index: Index,
    /// Request index by catalogue class.
    labels: HashMap<u16, u16>,
}

/// The route of a known path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Index of the request in the workload.
    pub(crate) class: u16,
    /// Work of the file, if the catalogue gives it.
    pub(crate) work: Option<Nanos>,
}

impl Routes {
    /// Routes of all requests of a workload.
    ///
    /// # Errors
    /// The path of a request varies, or two requests have the same path.
    pub fn new(workload: &Workload) -> Result<Self, InvalidValue> {
        let mut routes = Self::default();
        for (label, request) in (0u16..).zip(workload.requests()) {
            let taken = match request.one_of() {
                Some(_) => routes.list(label, request),
                None => routes.literal.insert(format!("{} {}", request.method(), path(request)?), label),
            };
            if let Some(other) = taken {
                let (one, other) = (&workload.requests()[usize::from(other)], request);
                return Err(InvalidValue::new(format!(
                    "the requests `{}` and `{}` have the same path, but `serve` identifies requests by their paths; change one of them",
                    one.name(),
                    other.name()
                )));
            }
            routes.distributions.push(request.service().cloned());
        }
        Ok(routes)
    }

    /// The API of a language model that this engine serves.
    pub fn of_engine(engine: Engine) -> Self {
        Self { engine: Some(engine), ..Self::default() }
    }

    /// Adds the files of a request's catalogue. Returns the index of another request with the same files.
    fn list(&mut self, label: u16, request: &Request) -> Option<u16> {
        let one_of = request.one_of()?;
        let (catalogue, method) = (one_of.catalogue(), request.method());
        let of = |listed: &CatalogueRoutes| {
            listed.method == method && std::sync::Arc::ptr_eq(listed.index.catalogue(), catalogue)
        };
        let place = self.catalogues.iter().position(of).unwrap_or_else(|| {
            let (method, index) = (method.to_owned(), Index::new(catalogue));
            self.catalogues.push(CatalogueRoutes { method, index, labels: HashMap::new() });
            self.catalogues.len() - 1
        });
        self.catalogues[place].labels.insert(one_of.number(), label)
    }

    /// Finds the route of a method and target; `None` for an unknown path.
    pub(crate) fn find(&self, method: &str, target: &str) -> Option<Route> {
        if self.distributions.is_empty() {
            return None;
        }
        let listed = self.catalogues.iter().filter(|listed| listed.method == method).find_map(|listed| {
            let (class, file) = listed.index.find(target)?;
            Some(Route { class: *listed.labels.get(&class)?, work: file.work })
        });
        let path = target.split('?').next().unwrap_or_default();
        listed.or_else(|| Some(Route { class: *self.literal.get(&format!("{method} {path}"))?, work: None }))
    }

    /// Class of jobs with unknown paths: after all others.
    pub(crate) fn default_class(&self) -> u16 {
        self.distributions.len() as u16
    }

    /// Service distribution of a class that has its own.
    pub(crate) fn distribution(&self, class: u16) -> Option<&Distribution> {
        self.distributions.get(usize::from(class))?.as_ref()
    }
}

/// The path of a request, without its query. It must be constant.
fn path(request: &Request) -> Result<&str, InvalidValue> {
    let text = request.path().as_str();
    match text.split_once('?').map_or(text, |(path, _)| path) {
        path if request.path().text().is_some() || !path.contains('{') => Ok(path),
        path => Err(InvalidValue::new(format!(
            "the path `{path}` of request `{}` varies, but `serve` identifies requests by their paths; move the variable part into the query (after `?`)",
            request.name()
        ))),
    }
}
