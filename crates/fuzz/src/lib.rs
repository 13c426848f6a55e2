//! Functions of the fuzz targets: each reads bytes from outside with one of the project's readers. It must return, must
//! not panic, and must hold what its documentation says.
//!
//! `fuzz/` contains the targets, which need a nightly compiler, and `fuzz/corpus` the inputs that cover most of the
//! code. The test of this crate runs all of these inputs with any compiler.

mod files;
mod framed;
mod http;
mod plans;
mod texts;

/// Processes the input of a target.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: [(&str, Target); 20] = [
    ("api_descriptions", plans::api_descriptions),
    ("catalogues", texts::catalogues),
    ("chunked", texts::chunked),
    ("commands", plans::commands),
    ("detected_formats", files::detected_formats),
    ("gatling_binary", files::gatling_binary),
    ("http1_responses", http::responses),
    ("http2_frames", framed::http2),
    ("json", files::json),
    ("logs", texts::logs),
    ("parquet", files::parquet),
    ("plans", plans::plans),
    ("recordings", plans::recordings),
    ("report", files::report),
    ("run_directories", files::run_directories),
    ("scrapes", texts::scrapes),
    ("tables", files::tables),
    ("templates", texts::templates),
    ("websocket_frames", framed::websocket),
    ("xml", files::xml),
];

/// Runs the target of this name on `bytes`.
///
/// # Panics
/// There is no such target, or the target has found a defect.
pub fn run(target: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(name, _)| *name == target);
    found.unwrap_or_else(|| panic!("there is no target {target}")).1(bytes);
}
