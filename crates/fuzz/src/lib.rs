//! What every fuzz target does with bytes that come from outside: read them as this or that. It must come to an end, not panic, and
//! keep what each function says.
//!
//! `fuzz/` holds the targets themselves, which need a nightly compiler, and `fuzz/corpus` the inputs that reach most of the code; the
//! test of this crate goes through all of them with any compiler.

mod answers;
mod files;
mod http;
mod plans;
mod texts;

/// What a target does with its bytes.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: [(&str, Target); 20] = [
    ("catalogues", texts::catalogues),
    ("chunked", texts::chunked),
    ("commands", plans::commands),
    ("descriptions", plans::descriptions),
    ("gatling_binary", files::gatling_binary),
    ("http1_answers", http::answers),
    ("http2_frames", answers::http2),
    ("json", files::json),
    ("logs", texts::logs),
    ("parquet", files::parquet),
    ("plans", plans::plans),
    ("recordings", plans::recordings),
    ("report", files::report),
    ("run_directories", files::run_directories),
    ("scrapes", texts::scrapes),
    ("sniffed", files::sniffed),
    ("tables", files::tables),
    ("templates", texts::templates),
    ("websocket_frames", answers::websocket),
    ("xml", files::xml),
];

/// Does what the target of this name does.
///
/// # Panics
/// There is no such target, or it has found something.
pub fn run(target: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(name, _)| *name == target);
    found.unwrap_or_else(|| panic!("there is no target {target}")).1(bytes);
}
