//! Catalogues: lists of many files of a site. Each request for a catalogue requests one file, chosen by weight.
//!
//! A catalogue is a CSV file with column names in the first line: `path`, and optionally `weight` (default 1), `service` (the work of the
//! file for the modelled server) and `class` (a label for separate figures; default: one class). The chosen file is a
//! function of (seed, session, step). An alias table (Walker 1977, built as by Vose 1991) finds it in constant time.
//! A file takes the memory of its path and at most 36 bytes.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use offered_base::random::{Purpose, Seed};
use offered_base::time::Nanos;
use offered_base::{InvalidValue, nearest};
use offered_distributions::Distribution;

const COLUMNS: [&str; 4] = ["path", "weight", "service", "class"];
/// Labels of events are no larger.
const MOST_CLASSES: usize = u16::MAX as usize;

/// The files of a site.
#[derive(PartialEq)]
pub struct Catalogue {
    /// The name of the file from which it was read.
    file: String,
    /// All paths one after another, and where each ends.
    paths: String,
    ends: Vec<usize>,
    /// The work of each file; empty if the catalogue has no such column.
    work: Vec<Nanos>,
    classes: Vec<Class>,
    is_classed: bool,
}

/// The file name and the number of files; a million files are too long for a debug text.
impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Catalogue({}, {} files)", self.file, self.len())
    }
}

/// The files of a class with a weight above zero.
#[derive(PartialEq)]
struct Class {
    name: String,
    /// The weights together.
    weight: f64,
    rows: Vec<u32>,
    chances: Chances,
    /// The distribution of their work; `None`: the catalogue has no work.
    distribution: Option<Distribution>,
}

/// An alias table: place i is taken with its chance, or else another in its stead. Empty where all are as likely.
#[derive(Default, PartialEq)]
struct Chances(Vec<(f64, u32)>);

impl Chances {
    /// Files in proportion to `weights`, which are all above zero.
    fn new(weights: &[f64]) -> Self {
        if weights.windows(2).all(|pair| pair[0] == pair[1]) {
            return Self::default();
        }
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut table: Vec<(f64, u32)> = (0u32..).zip(weights).map(|(place, weight)| (weight / mean, place)).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|place| table[*place as usize].0 < 1.0);
        // Entries that remain at the end are their own alias, as all entries are initially.
        while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
            let lacks = 1.0 - table[poor as usize].0;
            table[poor as usize].1 = rich;
            table[rich as usize].0 -= lacks;
            if table[rich as usize].0 < 1.0 { small.push(rich) } else { large.push(rich) }
        }
        Self(table)
    }

    /// One of `n` places.
    fn draw(&self, n: usize, seed: Seed, session: u64, step: u32) -> usize {
        let mut stream = seed.at(Purpose::File, session, step);
        let place = stream.below(n as u64) as usize;
        match self.0.get(place) {
            Some((chance, other)) if stream.uniform() >= *chance => *other as usize,
            _ => place,
        }
    }
}

impl Catalogue {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// The first invalid line, as `file:line: what`; a catalogue without files, or with a class whose weights are all zero.
    pub fn parse(text: &str, file: &str) -> Result<Self, InvalidValue> {
        let at = |line: u64, why: String| InvalidValue::new(format!("{file}:{line}: {why}"));
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).from_reader(text.trim_start_matches('\u{feff}').as_bytes());
        let columns = Columns::of(reader.headers().map_err(|why| at(1, why.to_string()))?).map_err(|why| at(1, why))?;
        let mut reading = Reading::default();
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|why| at(reader.position().line(), why.to_string()))? {
            let line = record.position().map_or(0, csv::Position::line);
            reading.row(&columns, &record, line).map_err(|why| at(line, why))?;
        }
        reading.finish(file, &columns)
    }

    /// The name of the file from which it was read.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Number of files, at least one.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Always false: a catalogue has files.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether the catalogue has the work of each file.
    pub fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// The names of the classes, in the order of the catalogue; `None` if it has no such column.
    pub fn classes(&self) -> Option<Vec<&str>> {
        self.is_classed.then(|| self.classes.iter().map(|class| class.name.as_str()).collect())
    }

    /// The share of a class, by its number, in all requests for the catalogue.
    pub(crate) fn share(&self, class: u16) -> f64 {
        let total: f64 = self.classes.iter().map(|class| class.weight).sum();
        self.classes[usize::from(class)].weight / total
    }

    fn file_at(&self, row: u32) -> File<'_> {
        File { path: self.path(row), work: self.work.get(row as usize).copied() }
    }

    fn path(&self, row: u32) -> &str {
        let row = row as usize;
        &self.paths[if row == 0 { 0 } else { self.ends[row - 1] }..self.ends[row]]
    }
}

/// The files of one class of a catalogue; a request chooses one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOf {
    catalogue: Arc<Catalogue>,
    class: u16,
}

/// A file of a catalogue.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Path and query of the file.
    pub path: &'a str,
    /// The work for the modelled server; `None`: the catalogue has no work.
    pub work: Option<Nanos>,
}

impl OneOf {
    /// The files of each class, in the order of the catalogue.
    pub fn each(catalogue: &Arc<Catalogue>) -> impl Iterator<Item = Self> + '_ {
        (0..catalogue.classes.len() as u16).map(|class| Self { catalogue: catalogue.clone(), class })
    }

    /// The catalogue that lists these files.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The name of the class of these files; `None` if the catalogue has no classes.
    pub fn class(&self) -> Option<&str> {
        self.catalogue.is_classed.then_some(&self.own().name)
    }

    /// The number of the class, in the order of [`OneOf::each`].
    pub fn number(&self) -> u16 {
        self.class
    }

    /// The weighted distribution of the work of these files; `None`: the catalogue has no work.
    pub fn distribution(&self) -> Option<&Distribution> {
        self.own().distribution.as_ref()
    }

    /// The file for step `step` of `session`.
    pub fn drawn(&self, seed: Seed, session: u64, step: u32) -> File<'_> {
        let Class { rows, chances, .. } = self.own();
        self.catalogue.file_at(rows[chances.draw(rows.len(), seed, session, step)])
    }

    fn own(&self) -> &Class {
        &self.catalogue.classes[usize::from(self.class)]
    }
}

/// The files of a catalogue by their paths.
#[derive(Debug)]
pub struct Index {
    catalogue: Arc<Catalogue>,
    /// Rows and their classes, in the order of their paths.
    rows: Vec<(u32, u16)>,
}

impl Index {
    /// All files with a weight above zero.
    pub fn new(catalogue: &Arc<Catalogue>) -> Self {
        let numbered = (0u16..).zip(&catalogue.classes);
        let mut rows: Vec<(u32, u16)> =
            numbered.flat_map(|(number, class)| class.rows.iter().map(move |row| (*row, number))).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| catalogue.path(*one).cmp(catalogue.path(*other)));
        Self { catalogue: catalogue.clone(), rows }
    }

    /// The catalogue.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The file at `path`, with the number of its class.
    pub fn find(&self, path: &str) -> Option<(u16, File<'_>)> {
        let place = self.rows.binary_search_by(|(row, _)| self.catalogue.path(*row).cmp(path)).ok()?;
        let (row, class) = self.rows[place];
        Some((class, self.catalogue.file_at(row)))
    }
}

/// The positions of the columns in a row.
struct Columns {
    path: usize,
    weight: Option<usize>,
    service: Option<usize>,
    class: Option<usize>,
    number: usize,
}

impl Columns {
    fn of(names: &csv::StringRecord) -> Result<Self, String> {
        let known = COLUMNS.join(", ");
        let names: Vec<&str> = names.iter().map(str::trim).collect();
        if let Some(name) = names.iter().find(|name| !COLUMNS.contains(name)) {
            let hint = nearest(name, &COLUMNS);
            return Err(format!("unknown column `{name}`{hint}; the first line names the columns, which are {known}"));
        }
        let place = |wanted: &str| names.iter().position(|name| *name == wanted);
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| place(name) != Some(*at)) {
            return Err(format!("a second column `{}`", twice.1));
        }
        let path = place("path")
            .ok_or_else(|| format!("no column `path`; the first line names the columns, which are {known}"))?;
        Ok(Self {
            path,
            weight: place("weight"),
            service: place("service"),
            class: place("class"),
            number: names.len(),
        })
    }
}

/// A catalogue under construction.
#[derive(Default)]
struct Reading {
    paths: String,
    ends: Vec<usize>,
    work: Vec<Nanos>,
    lines: Vec<u64>,
    /// For each class its name, rows and weights.
    classes: Vec<(String, Vec<u32>, Vec<f64>)>,
    numbers: HashMap<String, usize>,
}

impl Reading {
    fn row(&mut self, columns: &Columns, cells: &csv::StringRecord, line: u64) -> Result<(), String> {
        if cells.len() != columns.number {
            return Err(format!("{} values for {} columns", cells.len(), columns.number));
        }
        let cell = |column: usize| cells[column].trim();
        let path = cell(columns.path);
        if !path.starts_with('/') || path.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(format!(
                "`{path}` is not a path: a path starts with / and has no spaces, for example /a/picture.png"
            ));
        }
        let weight = columns.weight.map_or(Ok(1.0), |column| match cell(column).parse::<f64>() {
            Ok(weight) if weight >= 0.0 && weight.is_finite() => Ok(weight),
            _ => Err(format!("the weight `{}` is not a number of zero or more", cell(column))),
        })?;
        let work = columns.service.map(|column| {
            let given = cell(column);
            given
                .parse::<Nanos>()
                .map_err(|_| format!("the service `{given}` is not a time with its unit, such as 12.5ms"))
        });
        let class = columns.class.map_or("", cell);
        if columns.class.is_some() && class.is_empty() {
            return Err("the class is empty; give every file a class, or remove the column".to_owned());
        }
        let row = u32::try_from(self.ends.len()).map_err(|_| "more than 4294967295 files".to_owned())?;
        self.paths.push_str(path);
        self.ends.push(self.paths.len());
        self.work.extend(work.transpose()?);
        self.lines.push(line);
        let number = match self.numbers.get(class) {
            Some(number) => *number,
            None if self.classes.len() == MOST_CLASSES => {
                return Err(format!(
                    "more than {MOST_CLASSES} classes; each has its own figures, so write fewer classes"
                ));
            }
            None => {
                self.numbers.insert(class.to_owned(), self.classes.len());
                self.classes.push((class.to_owned(), Vec::new(), Vec::new()));
                self.classes.len() - 1
            }
        };
        if weight > 0.0 {
            self.classes[number].1.push(row);
            self.classes[number].2.push(weight);
        }
        Ok(())
    }

    fn finish(self, file: &str, columns: &Columns) -> Result<Catalogue, InvalidValue> {
        let Self { paths, ends, work, lines, classes, numbers: _ } = self;
        if ends.is_empty() {
            return Err(InvalidValue::new(format!("{file}: the catalogue has no files")));
        }
        let mut catalogue = Catalogue {
            file: file.to_owned(),
            paths,
            ends,
            work,
            classes: Vec::new(),
            is_classed: columns.class.is_some(),
        };
        let mut seen = HashSet::with_capacity(catalogue.len());
        if let Some(row) = (0..catalogue.len()).find(|row| !seen.insert(catalogue.path(*row as u32))) {
            let path = catalogue.path(row as u32);
            return Err(InvalidValue::new(format!(
                "{file}:{}: duplicate path `{path}`; list each file once",
                lines[row]
            )));
        }
        drop(seen);
        for (name, rows, weights) in classes {
            let weight: f64 = weights.iter().sum();
            if rows.is_empty() || !weight.is_finite() {
                let what = if name.is_empty() { "the catalogue".to_owned() } else { format!("the class `{name}`") };
                return Err(InvalidValue::new(format!(
                    "{file}: the weights of {what} are all zero, or their sum is infinite"
                )));
            }
            let distribution = catalogue.has_work().then(|| {
                let seconds = |row: &u32| catalogue.work[*row as usize].as_secs_f64();
                Distribution::weighted(weights.iter().copied().zip(rows.iter().map(seconds)).collect())
            });
            let distribution = distribution.transpose().map_err(|why| InvalidValue::new(format!("{file}: {why}")))?;
            catalogue.classes.push(Class { name, weight, chances: Chances::new(&weights), rows, distribution });
        }
        Ok(catalogue)
    }
}

#[cfg(test)]
mod tests;
