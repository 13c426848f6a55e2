//! Reads the run times of a log in the Standard Workload Format, as an empirical distribution.

use std::io::BufRead;

use super::Job;
use offered_base::InvalidValue;

/// The run times of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// Run times above zero, seconds, in the order of the file.
    pub seconds: Vec<f64>,
    /// Number of jobs with a zero or unknown run time.
    pub without: u64,
    /// Invalid lines, as `file:line: reason`.
    pub broken: Vec<String>,
}

impl RunTimes {
    /// Reads a log. `name` appears in error messages.
    ///
    /// # Errors
    /// The file cannot be read to its end, or it contains no job with a run time.
    pub fn read(name: &str, mut log: impl BufRead) -> Result<Self, InvalidValue> {
        let mut swf = Self::default();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            match log.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => swf.line(name, number, &String::from_utf8_lossy(&line)),
                Err(error) => return Err(InvalidValue::new(format!("{name}:{number}: read error: {error}"))),
            }
        }
        if swf.seconds.is_empty() {
            let first = swf.broken.first().map_or(String::new(), |first| format!("; {first}"));
            return Err(InvalidValue::new(format!(
                "{name} has no job with a run time; is it in the Standard Workload Format?{first}"
            )));
        }
        Ok(swf)
    }

    fn line(&mut self, name: &str, number: u64, line: &str) {
        match Job::parse(line) {
            Ok(None) => {}
            Ok(Some(Job { run: Some(run), .. })) if run > 0.0 => self.seconds.push(run),
            Ok(Some(_)) => self.without += 1,
            Err(why) => self.broken.push(format!("{name}:{number}: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JOB: &str = "1 0 -1 1451 128 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1";

    fn read(text: &str) -> Result<RunTimes, InvalidValue> {
        RunTimes::read("log.swf", text.as_bytes())
    }

    #[test]
    fn broken_lines_are_counted_and_named() {
        let text = format!(
            "; Version: 2.2\n{JOB}\n\n{}\n{}\n{}\n{}\nx\n{JOB}",
            JOB.replace("1451", "0"),
            JOB.replace("1451", "-1"),
            JOB.replace("1451", "-7"),
            JOB.replace("1451", "soon"),
        );
        let swf = read(&text).unwrap();
        assert_eq!((swf.seconds, swf.without), (vec![1451.0, 1451.0], 2));
        assert_eq!(
            swf.broken,
            [
                "log.swf:6: the run time is neither a time nor -1",
                "log.swf:7: the run time is not a number",
                "log.swf:8: a job has 18 fields"
            ]
        );
        assert!(read("hello\n").unwrap_err().to_string().contains("log.swf:1: a job has 18 fields"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9 .;x\n-]{0,200}") {
            let lines = text.lines().count() as u64;
            if let Ok(swf) = read(&text) {
                prop_assert!(swf.seconds.len() as u64 + swf.without + swf.broken.len() as u64 <= lines);
            }
        }
    }
}
