//! Every command: its output, its files and its errors.

mod applications;
mod calibrate;
mod capacity;
mod catalogue;
mod compare;
mod completions;
mod documents;
mod fit;
mod import;
mod init;
mod kubernetes;
mod language_models;
mod limits;
mod logs;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(unix)]
mod mutants;
mod pipes;
mod plan;
mod result_files;
mod retries;
mod schema;
mod simulate;
mod situations;
mod studies;
mod think_time;
mod ticks;
mod trust;
mod twin;
