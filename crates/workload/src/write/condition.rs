//! Writes the conditions of a step.

use super::pairs::{Pairs, lines, list, template};
use super::request::text_condition;
use crate::condition::{Condition, Subject};
use crate::defaults::statuses;
use crate::toml_text::toml_text;
use offered_base::time::written_number;
use offered_schedule::flow::{self, Block, LEAVE, Rules, Way};

/// Adds the conditions of a step; `name` is the name of a step.
pub(super) fn of_rules(keys: Pairs, rules: &Rules, conditions: &[Condition], name: &dyn Fn(u16) -> String) -> Pairs {
    let keys = keys.maybe(rules.only_if, |keys, only_if| keys.raw("if", condition(only_if, conditions).table()));
    let keys = keys.maybe(rules.until, |keys, until| keys.raw("until", condition(until, conditions).table()));
    let case = |(held, to): &(flow::Condition, Option<u16>)| {
        condition(*held, conditions).text("next", to.map_or(LEAVE.to_owned(), name)).table()
    };
    let keys = keys.when(!rules.switch.is_empty(), |keys| keys.raw("switch", lines(&rules.switch, case)));
    keys.maybe(rules.on_failure, |keys, on_failure| keys.text("on_failure", on_failure))
}

/// The weight of a branch.
pub(super) fn weight(way: Way, conditions: &[Condition]) -> String {
    let expected = written_number(way.weight);
    match way.value.map(|number| &conditions[usize::from(number)].subject) {
        Some(Subject::Weight(value)) => {
            Pairs::default().raw("value", template(value)).raw("expected", expected).table()
        }
        _ => expected,
    }
}

/// Adds the conditions of a block.
pub(super) fn of_block(keys: Pairs, block: &Block, conditions: &[Condition]) -> Pairs {
    let Block { repeat, only_if, until, .. } = block;
    let keys = keys.when(*repeat != 1, |keys| keys.raw("repeat", repeat));
    of_rules(keys, &Rules { only_if: *only_if, until: *until, ..Rules::default() }, conditions, &|_| String::new())
}

fn condition(held: flow::Condition, conditions: &[Condition]) -> Pairs {
    let keys = examined(&conditions[usize::from(held.number)]);
    keys.maybe(held.probability, |keys, probability| keys.raw("probability", written_number(probability)))
}

/// The keys of a condition.
fn examined(Condition { subject, negated }: &Condition) -> Pairs {
    let keys = Pairs::default();
    let parts = |parts: &[Condition]| list(parts, |part| examined(part).table());
    let keys = match subject {
        Subject::Value(value, wanted) => text_condition(keys.raw("value", template(value)), wanted),
        Subject::Number(value, range) => keys.raw("value", template(value)).text("number", range),
        Subject::Status(ranges) => keys.raw("status", list(ranges, |range| toml_text(statuses(*range)))),
        Subject::Check(name) => keys.text("check", name),
        Subject::Ok => keys.raw("ok", true),
        Subject::Weight(value) => keys.raw("value", template(value)),
        Subject::All(all) => keys.raw("all", parts(all)),
        Subject::Any(any) => keys.raw("any", parts(any)),
    };
    keys.when(*negated, |keys| keys.raw("not", true))
}
