//! The text of a workload with another server.

use offered_base::InvalidValue;
use offered_distributions::Distribution;
use toml_edit::{DocumentMut, Item, Table, Value};

use super::input::Candidate;
use crate::Error;

/// `text` with this server. Requests get their own service time where they differ.
pub(super) fn with_server(
    text: &str,
    candidate: &Candidate,
    labels: &[String],
    service: &[Distribution],
) -> Result<String, Error> {
    let mut document: DocumentMut = text.parse().map_err(|_| InvalidValue::new("the recorded workload is not TOML"))?;
    // The server replaces a network.
    for table in ["station", "region"] {
        document.remove(table);
    }
    let mut server = Table::new();
    if candidate.servers > 1 {
        server.insert("servers", Item::Value(i64::from(candidate.servers).into()));
    }
    server.insert("discipline", Item::Value(candidate.discipline.to_string().into()));
    let first = service.first().ok_or_else(|| InvalidValue::new("the workload has no requests"))?;
    server.insert("service", Item::Value(value(first)));
    if let Some(rates) = candidate.rates {
        let coefficients = [("contention", rates.contention), ("coherency", rates.coherency)];
        let coefficients = coefficients.into_iter().filter(|(_, value)| *value > 0.0);
        server.insert("rates", Item::Value(Value::InlineTable(coefficients.collect())));
    }
    document.insert("server", Item::Table(server));
    let requests = document.get_mut("request").and_then(Item::as_array_of_tables_mut);
    let alike = service.iter().all(|other| other == first);
    match requests {
        Some(requests) if alike => requests.iter_mut().for_each(|request| drop(request.remove("service"))),
        Some(requests) if requests.len() == labels.len() => {
            for (request, service) in requests.iter_mut().zip(service) {
                request.insert("service", Item::Value(value(service)));
            }
        }
        None if alike => {}
        _ => {
            return Err(InvalidValue::new(
                "the requests of this workload have different service times; give each its own [[request]]",
            )
            .into());
        }
    }
    Ok(document.to_string())
}

fn value(distribution: &Distribution) -> Value {
    distribution.to_string().parse().expect("a distribution is written as TOML")
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_workload::Policy;

    #[test]
    fn a_server_replaces_a_network_with_its_regions() {
        let text = "duration = \"1s\"\n[[station]]\nname = \"app\"\nservice = { exponential = \"5ms\" }\n\
                    [[region]]\nname = \"pool\"\nstations = [\"app\"]\ncapacity = 2\n";
        let candidate = Candidate { discipline: Policy::Fcfs, servers: 2, rates: None };
        let service = [Distribution::constant(0.01).unwrap()];
        let text = with_server(text, &candidate, &["/".to_owned()], &service).unwrap();
        assert!(text.contains("[server]\nservers = 2") && !text.contains("app"), "{text}");
    }
}
