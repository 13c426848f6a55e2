//! What the user asked for: which lines count, and who is a user.

use regex::bytes::Regex;

use crate::entry::Entry;
use crate::format::Choice;

/// All that decides what a log says.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format, and the field that tells users apart, where that is not the client.
    pub choice: Choice,
    /// Whether the user agent tells users apart besides the client (many people behind one address).
    pub by_agent: bool,
    /// Which lines are left out.
    pub filters: Filters,
    /// Clients beyond so many are counted but not followed.
    pub most_clients: usize,
    /// How URLs are grouped; `None`: they are not counted.
    pub labels: Option<crate::labels::Rules>,
    /// What the C2 of service times is taken from.
    pub service_from: ServiceFrom,
    /// How many threads read; at least 1.
    pub threads: usize,
}

offered_model::named! {
    /// What tells how the work of requests varies.
    #[derive(Default)]
    pub enum ServiceFrom {
        /// How long they took, where the log has it. That is what the paper means, queueing included.
        #[default]
        Durations = "durations",
        /// How large the answers are. Sizes of static files are nearly proportional to the work they make, those of computed pages
        /// need not be.
        Bytes = "bytes",
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            choice: Choice::default(),
            by_agent: false,
            filters: Filters::default(),
            most_clients: 20_000_000,
            labels: None,
            service_from: ServiceFrom::default(),
            threads: 1,
        }
    }
}

/// A regular expression on bytes, for paths.
///
/// # Errors
/// A text that is none.
pub fn pattern(text: &str) -> Result<Regex, offered_model::Wrong> {
    Regex::new(text).map_err(|why| {
        let why = why.to_string();
        let last = why.lines().last().unwrap_or("").to_owned();
        offered_model::Wrong::new(format!("`{}` is no regular expression: {last}", text.escape_debug()))
    })
}

/// Which lines are left out of the analysis.
#[derive(Clone, Debug)]
pub struct Filters {
    /// Leave out what pages are made of, by the extension of the path.
    pub pages_only: bool,
    /// Those extensions.
    pub parts: Extensions,
    /// Leave out robots, by their user agent.
    pub no_robots: bool,
    /// Keep only these statuses.
    pub status: Option<Statuses>,
    /// Keep only paths that match.
    pub path: Option<Regex>,
}

impl Default for Filters {
    fn default() -> Self {
        Self {
            pages_only: false,
            parts: PARTS.parse().expect("the list below is well formed"),
            no_robots: false,
            status: None,
            path: None,
        }
    }
}

/// What pages are made of, unless the user says otherwise. A `.bmp` is not among them: on the web it is a download.
pub const PARTS: &str = "gif,jpg,jpeg,jpe,png,apng,xbm,ico,svg,svgz,webp,avif,css,js,mjs,woff,woff2,ttf,otf,eot,\
mpg,mpeg,mp3,mp4,m4a,m4v,avi,mov,webm,ogg,oga,ogv,wav,au,swf,class";

/// Why a line that could be read is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// Not one of the statuses.
    Status = 0,
    /// Its path does not match.
    Path = 1,
    /// A robot's.
    Robot = 2,
    /// A part of a page.
    Part = 3,
}

impl Dropped {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Status, Self::Path, Self::Robot, Self::Part];
}

impl Filters {
    /// Why `entry` is left out, whatever its path's extension; `None` when it counts.
    #[inline]
    pub(crate) fn drops(&self, entry: &Entry<'_>, robots: &mut crate::robots::Robots) -> Option<Dropped> {
        if self.status.as_ref().is_some_and(|kept| !kept.has(entry.status)) {
            return Some(Dropped::Status);
        }
        if self.path.as_ref().is_some_and(|kept| !kept.is_match(entry.target)) {
            return Some(Dropped::Path);
        }
        (self.no_robots && robots.has(entry.agent)).then_some(Dropped::Robot)
    }
}

/// A set of file-name extensions of at most eight letters, capitals or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extensions(Vec<u64>);

impl std::str::FromStr for Extensions {
    type Err = offered_model::Wrong;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |name: &str| {
            offered_model::Wrong::new(format!("`{name}` is no extension; write a list such as gif,jpg,css"))
        };
        let names = text.split(',').map(|name| name.trim().trim_start_matches('.'));
        let mut packed =
            names.map(|name| pack(name.as_bytes()).ok_or_else(|| wrong(name))).collect::<Result<Vec<_>, _>>()?;
        packed.sort_unstable();
        Ok(Self(packed))
    }
}

impl Extensions {
    /// Whether the path of `target` ends in one of them.
    #[inline]
    pub fn has(&self, target: &[u8]) -> bool {
        let path = &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())];
        let Some(dot) = memchr::memrchr2(b'.', b'/', path).filter(|at| path[*at] == b'.') else { return false };
        pack(&path[dot + 1..]).is_some_and(|packed| self.0.binary_search(&packed).is_ok())
    }
}

/// Up to eight bytes in lower case as one number.
#[inline]
fn pack(name: &[u8]) -> Option<u64> {
    if name.is_empty() || name.len() > 8 {
        return None;
    }
    Some(name.iter().fold(0, |packed, byte| packed << 8 | u64::from(byte.to_ascii_lowercase())))
}

/// Ranges of statuses: `2xx,304`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<std::ops::RangeInclusive<u16>>);

impl Statuses {
    fn has(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

impl std::str::FromStr for Statuses {
    type Err = offered_model::Wrong;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let one = |item: &str| {
            let item = item.trim();
            let class = item.strip_suffix("xx").or(item.strip_suffix("XX")).and_then(|class| class.parse::<u16>().ok());
            match (class, item.parse::<u16>()) {
                (Some(class @ 1..=5), _) => Ok(class * 100..=class * 100 + 99),
                (None, Ok(status @ 100..=999)) => Ok(status..=status),
                (Some(_), _) => {
                    Err(offered_model::Wrong::new(format!("no status is `{item}`: they go from 1xx to 5xx")))
                }
                _ => Err(offered_model::Wrong::new(format!(
                    "`{item}` is no status; write for example 2xx,3xx or 200,304"
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
    fn parts_of_pages_are_known_by_their_extension() {
        let parts = Filters::default().parts;
        for target in ["/a.gif", "/a.GIF?x=.html", "/x/y.z.css", "/a.woff2"] {
            assert!(parts.has(target.as_bytes()), "{target}");
        }
        for target in ["/", "/a", "/a.html", "/a.gif/", "/gif", "/a?b=c.gif", "/a.bmp", "/a.gi\u{e9}", "."] {
            assert!(!parts.has(target.as_bytes()), "{target}");
        }
    }

    #[test]
    fn statuses_are_classes_or_numbers() {
        let kept: Statuses = "2xx, 304".parse().unwrap();
        assert!(kept.has(200) && kept.has(299) && kept.has(304) && !kept.has(302) && !kept.has(0));
        for text in ["", "2x", "0xx", "20", "abc"] {
            assert!(text.parse::<Statuses>().unwrap_err().to_string().contains("no status"), "{text}");
        }
    }
}
