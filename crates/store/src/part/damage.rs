//! Errors of damaged files.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::{ParquetError, Result};

/// The error that says `what` is wrong with a file.
pub(super) fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("{what}; restore it from a copy"))
}

/// Calls `read`. The `parquet` crate panics on some damaged files, such as a dictionary page of the wrong type. Here this becomes an error
/// that says `what` is wrong.
pub(crate) fn catch_panic<T>(what: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(damaged(what)))
}
