//! Requests of a file, each once.

use std::collections::HashMap;

use crate::plan::Request;
use crate::unique_names::UniqueNames;

/// Different requests with different names.
#[derive(Default)]
pub(crate) struct DistinctRequests {
    /// The requests without their names.
    all: Vec<Request>,
    names: Vec<String>,
    in_use: UniqueNames,
    /// The positions of the requests that wanted a name.
    by_wanted: HashMap<String, Vec<usize>>,
}

impl DistinctRequests {
    /// Returns the name of the request that is equal and wanted the same name; adds `request` if there is none.
    pub(crate) fn find_or_add(&mut self, mut request: Request) -> String {
        let wanted = std::mem::take(&mut request.name);
        let known = self.by_wanted.get(&wanted).into_iter().flatten().find(|at| self.all[**at] == request);
        let at = known.copied().unwrap_or_else(|| {
            self.names.push(self.in_use.take(&wanted));
            self.all.push(request);
            let added = self.all.len() - 1;
            self.by_wanted.entry(wanted).or_default().push(added);
            added
        });
        self.names[at].clone()
    }

    /// The requests with their names, in the order in which they were added.
    pub(crate) fn into_requests(self) -> Vec<Request> {
        self.all.into_iter().zip(self.names).map(|(request, name)| Request { name, ..request }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_requests_with_the_same_name_become_one() {
        let named = |name: &str, method: &str| Request {
            name: name.to_owned(),
            ..Request::new(method, crate::text::Text::default())
        };
        let mut requests = DistinctRequests::default();
        let added = [("a", "get"), ("a", "put"), ("a", "get"), ("b", "get"), ("a", "put")];
        let names = added.map(|(name, method)| requests.find_or_add(named(name, method)));
        assert_eq!(names, ["a", "a (2)", "a", "b", "a (2)"]);
        let expected = [named("a", "get"), named("a (2)", "put"), named("b", "get")];
        assert_eq!(requests.into_requests(), expected);
    }
}
