//! What `plan` answers: the documents of [`document::plan`](crate::document::plan), computed. The formulas are in `offered_plan`.

pub mod compare;
pub mod emulate;
pub mod solve;
pub mod table;
