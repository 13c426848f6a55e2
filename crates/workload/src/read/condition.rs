//! Reading the conditions of a flow: `if`, `while`, `until` and `switch`.

use super::Reader;
use super::script::{status_ranges, text_condition};
use crate::condition::{Condition, Subject};
use crate::script::TextCondition;
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;
use offered_schedule::flow::{self, Rules};

impl Reader<'_> {
    /// The conditions of a step; the targets of `switch` are read by [`cases`](Self::cases).
    pub(super) fn rules(&self, table: &Table<'_>, repeat: u16) -> Result<Rules, Mistake> {
        let of = |key: &str| table.get(key).map(|value| self.condition(&value.table(&shape::CONDITION)?)).transpose();
        let only_if = of("if")?;
        let until = match (of("until")?, table.get("while")) {
            (Some(_), Some(value)) => return Err(value.mistake("cannot be combined with until; remove one")),
            (None, Some(value)) => {
                let condition = self.condition(&value.table(&shape::CONDITION)?)?;
                let mut all = self.conditions.borrow_mut();
                let own = &mut all[usize::from(condition.number)];
                own.negated = !own.negated;
                Some(flow::Condition { probability: condition.probability.map(|holds| 1.0 - holds), ..condition })
            }
            (until, None) => until,
        };
        if let (Some(value), true) = (table.get("until").or(table.get("while")), repeat < 2) {
            return Err(value.mistake("needs the maximum number of repetitions: repeat = 10"));
        }
        Ok(Rules { only_if, until, switch: Vec::new(), on_failure: table.named("on_failure")? })
    }

    /// `switch = [{ status = 404, next = "leave" }]`: conditions, each with the value of its `next`.
    pub(super) fn cases<'v>(&self, value: &Value<'v>) -> Result<Vec<(flow::Condition, Value<'v>)>, Mistake> {
        let case = |item: &Value<'v>| {
            let table = item.table(&shape::CASE)?;
            Ok((self.condition(&table)?, table.need("next", "\"home\"")?))
        };
        value.list()?.iter().map(case).collect()
    }

    /// Adds the condition of a table to those of the workload.
    fn condition(&self, table: &Table<'_>) -> Result<flow::Condition, Mistake> {
        let Condition { subject, negated } = parts(table)?;
        let probability = table.get("probability").map(|value| match value.number()? {
            probability if (0.0..=1.0).contains(&probability) => Ok(probability),
            other => Err(value.mistake(format!("a probability is from 0 to 1, not {other}"))),
        });
        let probability = probability.transpose()?;
        Ok(flow::Condition { number: self.add_condition(table, subject, negated)?, probability })
    }

    /// Adds a condition, or the value of a weight, to those of the workload; returns its number.
    pub(super) fn add_condition(&self, table: &Table<'_>, subject: Subject, negated: bool) -> Result<u16, Mistake> {
        let mut all = self.conditions.borrow_mut();
        let number = u16::try_from(all.len()).map_err(|_| table.mistake("more than 65535 conditions"))?;
        all.push(Condition { subject, negated });
        Ok(number)
    }
}

/// The condition of a table, and whether it is negated.
fn parts(table: &Table<'_>) -> Result<Condition, Mistake> {
    let (kind, value) = table.one_of(&shape::CONDITIONED, "value = \"{{role}}\"")?;
    let (text, number) = (text_condition(table, &["is", "contains", "matches"])?, table.get("number"));
    if kind != "value" && (text.is_some() || number.is_some()) {
        return Err(table.mistake(format!("is, contains, matches and number need value, not {kind}")));
    }
    let mut negated = table.get("not").map_or(Ok(false), |value| value.truth())?;
    let several = || match value.list()? {
        list if list.len() < 2 => Err(value.mistake("combines at least two conditions")),
        list => list.iter().map(|item| parts(&item.table(&shape::CONDITION_PART)?)).collect(),
    };
    let subject = match kind {
        "value" => {
            let value = Template::new(value.text()?);
            match (text, number) {
                (Some(_), Some(number)) => {
                    return Err(number.mistake("cannot be combined with is, contains or matches; remove one"));
                }
                (None, Some(number)) => Subject::Number(value, number.checked(number.shown().parse())?),
                (Some((_, condition)), None) => Subject::Value(value, condition),
                (None, None) => Subject::Value(value, TextCondition::There),
            }
        }
        "status" => Subject::Status(status_ranges(&value)?),
        "check" => Subject::Check(value.text()?.to_owned()),
        "all" => Subject::All(several()?),
        "any" => Subject::Any(several()?),
        _ => {
            negated ^= !value.truth()?;
            Subject::Ok
        }
    };
    Ok(Condition { subject, negated })
}
