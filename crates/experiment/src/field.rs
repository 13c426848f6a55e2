//! A field of a workload file that is varied, and the units of its values.

use std::cmp::Ordering;
use std::fmt;

use offered_base::{Nanos, Rate};
use serde::{Deserialize, Serialize};

/// A field that is varied. Documents contain its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(inline, with = "String"))]
pub enum Field {
    /// Number of users N of a closed system.
    Users,
    /// The arrival rate.
    Rate,
    /// The mean think time.
    Think,
    /// The mean number of requests of a session.
    SessionLength,
    /// The scheduling discipline of the server.
    Discipline,
    /// Squared coefficient of variation of the service time.
    Scv,
    /// The load of a simulation; not a field of the file.
    Load,
    /// The seed of all random streams.
    Seed,
    /// Any other field, by its path such as `server.servers`. [`Field::from`] recognises the names of the others.
    At(String),
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    One,
    /// Per second.
    PerSecond,
    /// Milliseconds.
    Millis,
}

/// A value with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The value in its unit.
    pub value: f64,
    /// The unit.
    pub unit: Unit,
}

/// As written in a workload file.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::One => "",
            Unit::PerSecond => "/s",
            Unit::Millis => "ms",
        };
        write!(f, "{}{unit}", self.value)
    }
}

impl Field {
    /// The fields with a short name.
    const NAMED: [Self; 8] = [
        Self::Users,
        Self::Rate,
        Self::Think,
        Self::SessionLength,
        Self::Discipline,
        Self::Scv,
        Self::Load,
        Self::Seed,
    ];

    /// The short name, or the path.
    pub fn name(&self) -> &str {
        match self {
            Self::Users => "users",
            Self::Rate => "rate",
            Self::Think => "think",
            Self::SessionLength => "session_length",
            Self::Discipline => "discipline",
            Self::Scv => "scv",
            Self::Load => "load",
            Self::Seed => "seed",
            Self::At(path) => path,
        }
    }

    /// Whether the values of this field are integers.
    pub fn is_whole(&self) -> bool {
        *self == Self::Users
    }

    /// Parses a value: `25`, `6000/m`, `5ms`. A rate without unit is per second. `None` if the value is not a number.
    pub fn number(&self, value: &str) -> Option<Number> {
        let number = |value, unit| Number { value, unit };
        let bare =
            || value.parse().ok().map(|x| number(x, if *self == Self::Rate { Unit::PerSecond } else { Unit::One }));
        let rate = || value.parse().ok().map(|rate: Rate| number(rate.per_sec(), Unit::PerSecond));
        let time = || value.parse().ok().map(|time: Nanos| number(time.as_millis_f64(), Unit::Millis));
        bare().or_else(rate).or_else(time)
    }

    /// Parses a value that increases with the load: a number or a rate, but not a time.
    pub(crate) fn load_number(&self, value: &str) -> Option<Number> {
        self.number(value).filter(|number| number.unit != Unit::Millis)
    }
}

impl From<&str> for Field {
    fn from(name: &str) -> Self {
        let named = Self::NAMED.into_iter().find(|field| field.name() == name);
        named.unwrap_or_else(|| Self::At(name.to_owned()))
    }
}

impl From<String> for Field {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Field> for String {
    fn from(field: Field) -> Self {
        field.name().to_owned()
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Ordered by name, as in documents.
impl Ord for Field {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for Field {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_round_trip() {
        for field in Field::NAMED {
            assert!(!matches!(Field::from(field.name()), Field::At(_)), "{field}");
            assert_eq!(Field::from(String::from(field.clone())), field);
        }
        assert_eq!(Field::from("request.0.weight"), Field::At("request.0.weight".to_owned()));
    }

    #[test]
    fn values_are_converted_to_one_unit() {
        let number = |field: &str, value: &str| Field::from(field).number(value).map(|x| x.to_string());
        for (field, value, says) in [
            ("rate", "50", Some("50/s")),
            ("rate", "6000/m", Some("100/s")),
            ("users", "25", Some("25")),
            ("think", "5ms", Some("5ms")),
            ("think", "1s", Some("1000ms")),
            ("server.servers", "4", Some("4")),
            ("discipline", "ps", None),
        ] {
            assert_eq!(number(field, value).as_deref(), says, "{field}={value}");
        }
    }
}
