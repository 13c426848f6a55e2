//! Unique names.

/// Returns `wanted`, or `wanted (2)`, `wanted (3)`, ... if it is `taken`. Avoids names that are reserved in workloads.
pub(crate) fn unique_name(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let wanted = if wanted == "leave" { "leave it" } else { wanted };
    if !taken(wanted) {
        return wanted.to_owned();
    }
    let mut numbered = (2..u32::MAX).map(|n| format!("{wanted} ({n})"));
    numbered.find(|name| !taken(name)).expect("some number is free")
}
