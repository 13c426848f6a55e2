//! Options of the analysis: filters and identification of users.

use regex::bytes::Regex;

use crate::entry::Entry;
use crate::format::FormatChoice;

/// Options of the analysis.
#[derive(Clone, Debug)]
pub struct Options {
    /// Log format, and the field that identifies users.
    pub choice: FormatChoice,
    /// Whether users are identified by client and user agent (many users behind one address).
    pub by_agent: bool,
    /// Filters that exclude lines.
    pub filters: Filters,
    /// Maximum number of clients; if there are more, a sample is analysed.
    pub max_clients: usize,
    /// Rules for labels; `None` if labels are not counted.
    pub labels: Option<crate::labels::LabelRules>,
    /// Source of the squared coefficient of variation of service times.
    pub service_source: ServiceSource,
    /// Number of reader threads, at least 1.
    pub threads: usize,
}

offered_base::named! {
    /// Source of the squared coefficient of variation of service times.
    #[derive(Default)]
    pub enum ServiceSource {
        /// Logged durations, including queueing (as in the paper).
        #[default]
        Durations = "durations",
        /// Response sizes. Sizes of static files are nearly proportional to the work, sizes of dynamic pages may not
        /// be.
        Bytes = "bytes",
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            choice: FormatChoice::default(),
            by_agent: false,
            filters: Filters::default(),
            max_clients: 20_000_000,
            labels: None,
            service_source: ServiceSource::default(),
            threads: 1,
        }
    }
}

/// Filters that exclude lines from the analysis.
#[derive(Clone, Debug)]
pub struct Filters {
    /// Exclude page assets, by file extension.
    pub pages_only: bool,
    /// File extensions of page assets.
    pub assets: Extensions,
    /// Exclude robots, by user agent.
    pub no_robots: bool,
    /// Include only these statuses.
    pub status: Option<StatusFilter>,
    /// Include only matching paths.
    pub path: Option<Regex>,
}

impl Default for Filters {
    fn default() -> Self {
        Self {
            pages_only: false,
            assets: ASSET_EXTENSIONS.parse().expect("the list below is well formed"),
            no_robots: false,
            status: None,
            path: None,
        }
    }
}

/// Default file extensions of page assets. `.bmp` is not included because it is usually a download.
pub const ASSET_EXTENSIONS: &str = "gif,jpg,jpeg,jpe,png,apng,xbm,ico,svg,svgz,webp,avif,css,js,mjs,woff,woff2,ttf,otf,eot,\
mpg,mpeg,mp3,mp4,m4a,m4v,avi,mov,webm,ogg,oga,ogv,wav,au,swf,class";

/// Reason why a line is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// The status is not included.
    Status = 0,
    /// The path does not match.
    Path = 1,
    /// A robot sent the request.
    Robot = 2,
    /// The request is for a page asset.
    Asset = 3,
}

impl Exclusion {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Status, Self::Path, Self::Robot, Self::Asset];
}

impl Filters {
    /// Reason why `entry` is excluded, page assets aside; `None` if it is included.
    #[inline]
    pub(crate) fn drops(&self, entry: &Entry<'_>, robots: &mut crate::robots::Robots) -> Option<Exclusion> {
        if self.status.as_ref().is_some_and(|kept| !kept.has(entry.status)) {
            return Some(Exclusion::Status);
        }
        if self.path.as_ref().is_some_and(|kept| !kept.is_match(entry.target)) {
            return Some(Exclusion::Path);
        }
        (self.no_robots && robots.has(entry.agent)).then_some(Exclusion::Robot)
    }
}

/// A set of file extensions of at most eight letters, case-insensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extensions(Vec<u64>);

impl std::str::FromStr for Extensions {
    type Err = offered_base::InvalidValue;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |name: &str| {
            offered_base::InvalidValue::new(format!(
                "invalid file extension `{name}`; expected a list such as gif,jpg,css"
            ))
        };
        let names = text.split(',').map(|name| name.trim().trim_start_matches('.'));
        let mut packed =
            names.map(|name| pack(name.as_bytes()).ok_or_else(|| wrong(name))).collect::<Result<Vec<_>, _>>()?;
        packed.sort_unstable();
        Ok(Self(packed))
    }
}

impl Extensions {
    /// Whether the path of `target` has one of the extensions.
    #[inline]
    pub fn has(&self, target: &[u8]) -> bool {
        let path = &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())];
        let Some(dot) = memchr::memrchr2(b'.', b'/', path).filter(|at| path[*at] == b'.') else { return false };
        pack(&path[dot + 1..]).is_some_and(|packed| self.0.binary_search(&packed).is_ok())
    }
}

/// Packs up to eight bytes in lower case into one number.
#[inline]
fn pack(name: &[u8]) -> Option<u64> {
    if name.is_empty() || name.len() > 8 {
        return None;
    }
    Some(name.iter().fold(0, |packed, byte| packed << 8 | u64::from(byte.to_ascii_lowercase())))
}

/// Ranges of statuses, such as `2xx,304`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusFilter(Vec<std::ops::RangeInclusive<u16>>);

impl StatusFilter {
    fn has(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

impl std::str::FromStr for StatusFilter {
    type Err = offered_base::InvalidValue;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let one = |item: &str| {
            let item = item.trim();
            let class = item.strip_suffix("xx").or(item.strip_suffix("XX")).and_then(|class| class.parse::<u16>().ok());
            match (class, item.parse::<u16>()) {
                (Some(class @ 1..=5), _) => Ok(class * 100..=class * 100 + 99),
                (None, Ok(status @ 100..=999)) => Ok(status..=status),
                (Some(_), _) => {
                    Err(offered_base::InvalidValue::new(format!("invalid status class `{item}`; expected 1xx to 5xx")))
                }
                _ => Err(offered_base::InvalidValue::new(format!(
                    "invalid status `{item}`; expected for example 2xx,3xx or 200,304"
                ))),
            }
        };
        text.split(',').map(one).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_assets_are_detected_by_extension() {
        let parts = Filters::default().assets;
        for target in ["/a.gif", "/a.GIF?x=.html", "/x/y.z.css", "/a.woff2"] {
            assert!(parts.has(target.as_bytes()), "{target}");
        }
        for target in ["/", "/a", "/a.html", "/a.gif/", "/gif", "/a?b=c.gif", "/a.bmp", "/a.gi\u{e9}", "."] {
            assert!(!parts.has(target.as_bytes()), "{target}");
        }
    }

    #[test]
    fn status_filters_accept_classes_and_numbers() {
        let kept: StatusFilter = "2xx, 304".parse().unwrap();
        assert!(kept.has(200) && kept.has(299) && kept.has(304) && !kept.has(302) && !kept.has(0));
        for text in ["", "2x", "0xx", "20", "abc"] {
            assert!(text.parse::<StatusFilter>().unwrap_err().to_string().contains("invalid status"), "{text}");
        }
    }
}
