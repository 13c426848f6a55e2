//! The share of a worker that an engine has started: engines tell it in the environment.

use offered_model::Share;

/// What starts workers and numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// An Indexed Job of Kubernetes: numbers from 0, and no count.
    Kubernetes,
    /// An array of Slurm: numbers from any on, with any step, and their count.
    Slurm,
    /// A batch job of Nomad: numbers from 0, and no count.
    Nomad,
    /// Processes that Open MPI has started: numbers from 0, and their count.
    OpenMpi,
}

impl Engine {
    const ALL: [Self; 4] = [Self::Kubernetes, Self::Slurm, Self::Nomad, Self::OpenMpi];

    /// The variable in which it tells the number.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Kubernetes => "JOB_COMPLETION_INDEX",
            Self::Slurm => "SLURM_ARRAY_TASK_ID",
            Self::Nomad => "NOMAD_ALLOC_INDEX",
            Self::OpenMpi => "OMPI_COMM_WORLD_RANK",
        }
    }
}

/// Why the environment does not tell a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoShare {
    /// No engine has numbered this process.
    #[error(
        "no engine has numbered this worker: none of JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID, NOMAD_ALLOC_INDEX and \
         OMPI_COMM_WORLD_RANK is set"
    )]
    NoEngine,
    /// More than one has.
    #[error("{} and {} are both set, so which number is meant is not known", one.variable(), other.variable())]
    Several {
        /// One of them.
        one: Engine,
        /// Another.
        other: Engine,
    },
    /// The engine does not say how many there are.
    #[error("{} says which worker this is, and nothing says of how many", engine.variable())]
    NoCount {
        /// The engine.
        engine: Engine,
    },
    /// A variable is not what it should be.
    #[error("{variable}={value} is {what}")]
    Wrong {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        what: String,
    },
}

/// The share of this process as the engine says that has started it, by `variable`, which looks into the environment. `count` is how
/// many workers there are, where that is known; it goes before what the engine says.
///
/// # Errors
/// See [`NoShare`].
pub fn share(count: Option<u64>, variable: impl Fn(&str) -> Option<String>) -> Result<Share, NoShare> {
    let mut engines = Engine::ALL.into_iter().filter(|engine| variable(engine.variable()).is_some());
    let engine = engines.next().ok_or(NoShare::NoEngine)?;
    if let Some(other) = engines.next() {
        return Err(NoShare::Several { one: engine, other });
    }
    let number = |name: &'static str| {
        let read = |value: String| {
            let wrong = |_| NoShare::Wrong { variable: name, value: value.clone(), what: "not a number".to_owned() };
            value.trim().parse::<u64>().map_err(wrong)
        };
        variable(name).map(read).transpose()
    };
    let told = number(engine.variable())?.unwrap_or(0);
    let (index, of) = match engine {
        Engine::Kubernetes | Engine::Nomad => (told, None),
        Engine::OpenMpi => (told, number("OMPI_COMM_WORLD_SIZE")?),
        Engine::Slurm => {
            let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            let (of, last) = (number("SLURM_ARRAY_TASK_COUNT")?, number("SLURM_ARRAY_TASK_MAX")?);
            let away = told.saturating_sub(first);
            // Of `--array=1,3,7` nobody tells a task which one it is.
            let even = last.zip(of).is_none_or(|(last, of)| last.saturating_sub(first) / step + 1 == of);
            if !away.is_multiple_of(step) || !even {
                let what = "one of an array without a regular step".to_owned();
                return Err(NoShare::Wrong { variable: engine.variable(), value: told.to_string(), what });
            }
            (away / step, of)
        }
    };
    let count = count.or(of).ok_or(NoShare::NoCount { engine })?;
    Share::new(index, count).map_err(|_| NoShare::Wrong {
        variable: engine.variable(),
        value: told.to_string(),
        what: format!("past the last of {count} workers"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: Option<u64>, environment: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| Some(environment.iter().find(|(known, _)| *known == name)?.1.to_owned());
        share(count, variable).map(|share| share.to_string()).map_err(|why| why.to_string())
    }

    #[test]
    fn each_engine_numbers_its_workers_its_own_way() {
        assert_eq!(of(Some(8), &[("JOB_COMPLETION_INDEX", "0")]).unwrap(), "1/8");
        assert_eq!(of(Some(3), &[("NOMAD_ALLOC_INDEX", "2")]).unwrap(), "3/3");
        assert_eq!(of(None, &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")]).unwrap(), "2/4");
        let array = |id| {
            let told = [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_MIN", "1"),
                ("SLURM_ARRAY_TASK_MAX", "7"),
                ("SLURM_ARRAY_TASK_STEP", "2"),
                ("SLURM_ARRAY_TASK_COUNT", "4"),
            ];
            of(None, &told)
        };
        assert_eq!(array("5").unwrap(), "3/4");
        assert!(array("4").unwrap_err().contains("without a regular step"));
    }

    #[test]
    fn a_number_that_is_none_or_that_nobody_tells_is_refused() {
        assert!(of(Some(8), &[]).unwrap_err().contains("no engine has numbered this worker"));
        assert!(of(None, &[("JOB_COMPLETION_INDEX", "0")]).unwrap_err().contains("nothing says of how many"));
        assert!(of(Some(2), &[("JOB_COMPLETION_INDEX", "2")]).unwrap_err().contains("past the last of 2 workers"));
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
