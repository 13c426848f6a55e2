//! The share of a worker that a cluster engine has started, from the environment.

use offered_base::Share;

/// A cluster engine that starts and numbers workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A Kubernetes Indexed Job. It gives numbers from 0, and no count.
    Kubernetes,
    /// A Slurm job array. It gives numbers with any start and step, and their count.
    Slurm,
    /// A Nomad batch job. It gives numbers from 0, and no count.
    Nomad,
    /// Processes started by Open MPI, which gives numbers from 0, and their count.
    OpenMpi,
}

impl Engine {
    const ALL: [Self; 4] = [Self::Kubernetes, Self::Slurm, Self::Nomad, Self::OpenMpi];

    /// The environment variable that holds the number.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Kubernetes => "JOB_COMPLETION_INDEX",
            Self::Slurm => "SLURM_ARRAY_TASK_ID",
            Self::Nomad => "NOMAD_ALLOC_INDEX",
            Self::OpenMpi => "OMPI_COMM_WORLD_RANK",
        }
    }
}

/// Reasons why the environment does not determine a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// No engine has numbered this worker.
    #[error(
        "the number of this worker is unknown: none of JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID, NOMAD_ALLOC_INDEX and OMPI_COMM_WORLD_RANK is set; write the share, for example 2/8"
    )]
    NoEngine,
    /// Variables of several engines are set.
    #[error("{} and {} are both set; unset one", one.variable(), other.variable())]
    SeveralEngines {
        /// One engine.
        one: Engine,
        /// Another engine.
        other: Engine,
    },
    /// The engine does not give the number of workers.
    #[error("{} gives the number of this worker, but the total number of workers is unknown; write the share, for example 2/8", engine.variable())]
    NoCount {
        /// The engine.
        engine: Engine,
    },
    /// A variable has an invalid value.
    #[error("{variable}={value} is {problem}")]
    InvalidVariable {
        /// The name of the environment variable.
        variable: &'static str,
        /// The value of the environment variable.
        value: String,
        /// The reason why the value is invalid.
        problem: String,
    },
}

/// The share of this process, as assigned by the engine that started it. `variable` reads the environment. `count` is the number of workers, if
/// known; it overrides the count of the engine.
///
/// # Errors
/// See [`ShareError`].
pub fn share_from_environment(
    count: Option<u64>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Share, ShareError> {
    let mut engines = Engine::ALL.into_iter().filter(|engine| variable(engine.variable()).is_some());
    let engine = engines.next().ok_or(ShareError::NoEngine)?;
    if let Some(other) = engines.next() {
        return Err(ShareError::SeveralEngines { one: engine, other });
    }
    let number = |name: &'static str| {
        let read = |value: String| {
            let wrong = |_| ShareError::InvalidVariable {
                variable: name,
                value: value.clone(),
                problem: "not a number".to_owned(),
            };
            value.trim().parse::<u64>().map_err(wrong)
        };
        variable(name).map(read).transpose()
    };
    let assigned = number(engine.variable())?.unwrap_or(0);
    let (index, of) = match engine {
        Engine::Kubernetes | Engine::Nomad => (assigned, None),
        Engine::OpenMpi => (assigned, number("OMPI_COMM_WORLD_SIZE")?),
        Engine::Slurm => {
            let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            let (of, last) = (number("SLURM_ARRAY_TASK_COUNT")?, number("SLURM_ARRAY_TASK_MAX")?);
            let away = assigned.saturating_sub(first);
            // In `--array=1,3,7` a task cannot know its position.
            let even = last.zip(of).is_none_or(|(last, of)| last.saturating_sub(first) / step + 1 == of);
            if !away.is_multiple_of(step) || !even {
                let problem = "a task of an array without a regular step".to_owned();
                return Err(ShareError::InvalidVariable {
                    variable: engine.variable(),
                    value: assigned.to_string(),
                    problem,
                });
            }
            (away / step, of)
        }
    };
    let count = count.or(of).ok_or(ShareError::NoCount { engine })?;
    Share::new(index, count).map_err(|_| ShareError::InvalidVariable {
        variable: engine.variable(),
        value: assigned.to_string(),
        problem: format!("beyond the last of {count} workers"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: Option<u64>, environment: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| Some(environment.iter().find(|(known, _)| *known == name)?.1.to_owned());
        share_from_environment(count, variable).map(|share| share.to_string()).map_err(|why| why.to_string())
    }

    #[test]
    fn the_numbering_of_each_engine_is_understood() {
        assert_eq!(of(Some(8), &[("JOB_COMPLETION_INDEX", "0")]).unwrap(), "1/8");
        assert_eq!(of(Some(3), &[("NOMAD_ALLOC_INDEX", "2")]).unwrap(), "3/3");
        assert_eq!(of(None, &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")]).unwrap(), "2/4");
        let array = |id| {
            let assigned = [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_MIN", "1"),
                ("SLURM_ARRAY_TASK_MAX", "7"),
                ("SLURM_ARRAY_TASK_STEP", "2"),
                ("SLURM_ARRAY_TASK_COUNT", "4"),
            ];
            of(None, &assigned)
        };
        assert_eq!(array("5").unwrap(), "3/4");
        assert!(array("4").unwrap_err().contains("without a regular step"));
    }

    #[test]
    fn missing_and_invalid_numbers_are_refused() {
        assert!(of(Some(8), &[]).unwrap_err().contains("the number of this worker is unknown"));
        assert!(
            of(None, &[("JOB_COMPLETION_INDEX", "0")]).unwrap_err().contains("the total number of workers is unknown")
        );
        assert!(of(Some(2), &[("JOB_COMPLETION_INDEX", "2")]).unwrap_err().contains("beyond the last of 2 workers"));
        assert!(
            of(Some(2), &[("NOMAD_ALLOC_INDEX", "x")]).unwrap_err().contains("NOMAD_ALLOC_INDEX=x is not a number")
        );
        let two = [("NOMAD_ALLOC_INDEX", "1"), ("JOB_COMPLETION_INDEX", "1")];
        assert!(of(Some(2), &two).unwrap_err().contains("both set"));
        let list = [
            ("SLURM_ARRAY_TASK_ID", "7"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_MAX", "7"),
            ("SLURM_ARRAY_TASK_STEP", "1"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
        ];
        assert!(of(None, &list).unwrap_err().contains("without a regular step"));
    }
}
