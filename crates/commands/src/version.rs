//! `offered --version`: the build of the program.

use offered_events::document::Schema;
use offered_experiment::document::version::Version;

use crate::output::{json, out};

/// Prints name and version, or the document `offered.version/1`.
pub(crate) fn print(as_json: bool) {
    let version = env!("CARGO_PKG_VERSION");
    if !as_json {
        out!("offered {version}");
        return;
    }
    let features = [("kubernetes", cfg!(feature = "kubernetes")), ("objects", cfg!(feature = "objects"))];
    json(&Version {
        schema: Schema::new(),
        version: version.to_owned(),
        commit: option_env!("OFFERED_COMMIT").map(str::to_owned),
        target: env!("OFFERED_TARGET").to_owned(),
        features: features.into_iter().filter(|(_, is_in)| *is_in).map(|(name, _)| name.to_owned()).collect(),
    });
}
