//! The Standard Workload Format: job logs of supercomputers (Chapin et al. 1999; Parallel Workloads Archive, version
//! 2.2).
//!
//! Each line is a job with 18 numbers, -1 if unknown; `;` starts a comment. A job that was interrupted and resumed has
//! a line for the whole job, and one line for each part with status 2, 3 or 4; the parts are ignored.

mod run_times;

pub use run_times::RunTimes;

/// A job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job<'a> {
    /// Fields as written; index 0 is the first field of the definition.
    pub fields: [&'a str; 18],
    /// Submit time in seconds since the start of the log, at least 0; `None` if unknown.
    pub submit: Option<f64>,
    /// Run time in seconds, at least 0 (many logs write 0 below half a second); `None` if unknown.
    pub run: Option<f64>,
}

impl<'a> Job<'a> {
    /// Parses a line; `None` for comments, empty lines and parts of interrupted jobs.
    ///
    /// # Errors
    /// A short reason why the line is not a job.
    pub fn parse(line: &'a str) -> Result<Option<Self>, &'static str> {
        let line = line.split(';').next().unwrap_or("");
        let mut words = line.split_ascii_whitespace();
        let mut fields = [""; 18];
        let mut there = 0;
        for (field, word) in fields.iter_mut().zip(&mut words) {
            *field = word;
            there += 1;
        }
        if there == 0 {
            return Ok(None);
        }
        if there < 18 || words.next().is_some() {
            return Err("a job has 18 fields");
        }
        if matches!(fields[10], "2" | "3" | "4") {
            return Ok(None);
        }
        let time = |text: &str, not_a_number, not_a_time| match text.parse::<f64>() {
            Ok(-1.0) => Ok(None),
            Ok(time) if time >= 0.0 && time.is_finite() => Ok(Some(time)),
            Ok(_) => Err(not_a_time),
            Err(_) => Err(not_a_number),
        };
        let submit = time(fields[1], "the submit time is not a number", "the submit time is neither a time nor -1")?;
        let run = time(fields[3], "the run time is not a number", "the run time is neither a time nor -1")?;
        Ok(Some(Self { fields, submit, run }))
    }

    /// Number of allocated processors, or of requested processors if unknown.
    pub fn processors(&self) -> Option<&'a str> {
        [self.fields[4], self.fields[7]].into_iter().find(|field| field.bytes().all(|b| b.is_ascii_digit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_as_jobs() {
        let job = Job::parse("  4 6269.5 -1 10927 -1 -1 -1 128 -1 -1 1 2 1 -1 -1 -1 -1 -1 ; a note").unwrap().unwrap();
        assert_eq!(
            (job.submit, job.run, job.processors(), job.fields[11]),
            (Some(6269.5), Some(10927.0), Some("128"), "2")
        );
        let unknown = Job::parse("5 -1 -1 -1 -1 -1 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1").unwrap().unwrap();
        assert_eq!((unknown.submit, unknown.run, unknown.processors()), (None, None, None));
    }

    #[test]
    fn comments_and_parts_of_jobs_are_skipped_and_other_lines_rejected() {
        for line in ["", "; Version: 2.2", "4 0 1 10 8 -1 -1 -1 -1 -1 2 2 1 -1 -1 -1 -1 -1"] {
            assert_eq!(Job::parse(line), Ok(None), "{line}");
        }
        for (line, why) in [
            ("hello", "a job has 18 fields"),
            ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", "a job has 18 fields"),
            ("1 -7 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "the submit time is neither a time nor -1"),
            ("1 2 3 soon 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "the run time is not a number"),
            ("1 2 3 inf 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "the run time is neither a time nor -1"),
        ] {
            assert_eq!(Job::parse(line), Err(why), "{line}");
        }
    }
}
