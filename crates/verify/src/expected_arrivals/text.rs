//! Parses expected arrivals from the text of a command line.

use std::str::FromStr;

use offered_base::InvalidValue;
use offered_distributions::Distribution;

use super::ExpectedArrivals;

/// `poisson`, `poisson-fixed-count`, `constant`, `gamma:COV` (gamma-distributed gaps with that CoV), `closed:USERS:THINK` (a distribution, as in
/// `closed:200:uniform:0s,12.5s`), `partly-open`, and `other` for anything else.
impl FromStr for ExpectedArrivals {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = |why: &str| {
            InvalidValue::new(format!(
                "`{text}` {why}; write poisson, poisson-fixed-count, constant, gamma:1.5, closed:200:uniform:0s,12.5s, \
                 partly-open or other"
            ))
        };
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        match (name, rest) {
            ("poisson", None) => Ok(Self::Poisson),
            ("poisson-fixed-count", None) => Ok(Self::FixedCount),
            ("constant", None) => Ok(Self::Constant),
            ("partly-open", None) => Ok(Self::PartlyOpen(Box::new(Self::Poisson))),
            ("other", None) => Ok(Self::Other { what: "unspecified arrivals".into(), system: None }),
            ("gamma", Some(cov)) => match cov.parse::<f64>() {
                Ok(cov) if cov.is_finite() && cov > 0.0 => Ok(Self::Renewal { cov }),
                _ => Err(wrong("needs a CoV above zero")),
            },
            ("closed", Some(rest)) => {
                let (users, think) = rest
                    .split_once(':')
                    .ok_or_else(|| wrong("needs a number of users and a think-time distribution"))?;
                match users.parse() {
                    Ok(users) if users > 0 => Ok(Self::Closed { users, think: think.parse::<Distribution>()? }),
                    _ => Err(wrong("needs a number of users above zero")),
                }
            }
            _ => Err(wrong("is not a known kind of arrivals")),
        }
    }
}
