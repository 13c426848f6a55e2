//! Phases: the rate at which sessions arrive (`phases.ts`).

use offered_base::Nanos;
use offered_schedule::arrivals::Process;

use super::config::{Config, as_list};
use super::values::Values;
use crate::data::Data;
use crate::plan::RateProfile;

/// The arrivals of a script.
pub(super) struct Load {
    pub(super) rate: RateProfile,
    pub(super) process: Process,
    pub(super) duration: Nanos,
}

/// Reads the phases; notes what differs.
pub(super) fn load(config: Config, values: &mut Values) -> Load {
    let (mut pieces, mut modes): (Vec<(f64, f64, f64)>, Vec<Process>) = (Vec::new(), Vec::new());
    let mut ramps = false;
    for (number, phase) in as_list(config.get("phases")).into_iter().enumerate() {
        let element = match phase.get("name").text() {
            "" => format!("phase {}", number + 1),
            name => format!("phase `{name}`"),
        };
        let mut number = |key: &str| {
            let value = phase.get(key);
            let read = value.number().or_else(|| values.literal(&value.plain())?.parse().ok());
            if value.is() && read.is_none() {
                values.note(&element, format!("`{key}` is `{}`, which is not a number", value.plain()));
            }
            read.map(|number: f64| number.max(0.0))
        };
        let (rate, ramp, count) = (number("arrivalRate"), number("rampTo"), number("arrivalCount"));
        let most = number("maxVusers");
        let mut seconds = |key: &str| time(phase.get(key), values);
        let (pause, over) = (seconds("pause"), seconds("duration"));
        if let Some(most) = most {
            values
                .note(&element, format!("drops new sessions while {most} are in progress; here no session is dropped"));
        }
        let over = over.unwrap_or(1.0);
        pieces.push(match (pause, count, rate, ramp) {
            (Some(pause), ..) => (0.0, 0.0, pause),
            (None, Some(count), ..) => (count / over, count / over, over),
            (None, None, Some(from), Some(to)) => (from, to, over),
            (None, None, rate, _) => (rate.unwrap_or(0.0), rate.unwrap_or(0.0), over),
        });
        ramps |= ramp.is_some() && pause.is_none();
        if pause.is_none() && rate.is_some_and(|rate| rate > 0.0) {
            let poisson = phase.get("mode").text() == "poisson";
            modes.push(if poisson { Process::Poisson } else { Process::Constant });
        }
    }
    if ramps {
        values.note(
            "config",
            "a ramp of Artillery starts a whole number of sessions in each second, and so slightly fewer; here the rate changes linearly"
                .to_owned(),
        );
    }
    if modes.windows(2).any(|pair| pair[0] != pair[1]) {
        values.note("config", "some phases are uniform and some Poisson; here all are Poisson".to_owned());
        modes = vec![Process::Poisson];
    }
    let process = modes.into_iter().next().unwrap_or(Process::Constant);
    if pieces.iter().all(|(from, to, over)| *over <= 0.0 || from + to == 0.0) {
        values.note(
            "config",
            "specifies no phase with a rate: here one session starts per second for 10 minutes".to_owned(),
        );
        pieces = vec![(1.0, 1.0, 600.0)];
    }
    let (rate, duration) = RateProfile::of_pieces(pieces);
    Load { rate, process, duration }
}

/// A time in seconds: a number of seconds, or a text such as `2m` or `500ms`.
pub(super) fn time(data: &Data, values: &mut Values) -> Option<f64> {
    if let Some(number) = data.number() {
        return Some(number.max(0.0));
    }
    let text = values.literal(&data.plain())?;
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    // The units of the package `ms`.
    let unit = match unit.trim() {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 1e-3,
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}
