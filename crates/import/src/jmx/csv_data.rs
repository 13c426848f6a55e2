//! CSV data sets: rows of a file as values of variables (`JMeter`'s `CSVDataSet.java`).

use offered_workload::script::{AtEnd, CsvFormat, Order, Per};

use super::node::Node;
use super::variables::Variables;
use crate::plan::{ValueSource, Variable};
use crate::text::{self, Text};

/// Settings of a data set, as far as its classes differ.
struct DataSet {
    separator: u8,
    order: Order,
    at_end: AtEnd,
    /// Whether quotes always enclose values and are never part of values.
    reads_quotes: bool,
    /// What happens at a blank line.
    at_blank_line: &'static str,
}

impl Variables<'_> {
    /// Translates a CSV data set; returns whether it defines variables. The file is examined if it can be read.
    pub(super) fn csv_data_set(&mut self, node: &Node, per: Per) -> bool {
        let set = DataSet {
            separator: self.separator(node),
            order: Order::Sequential,
            at_end: self.note_sharing(node),
            reads_quotes: node.element.text_of("quotedData").trim() == "true",
            at_blank_line: "sets the variables to <EOF>",
        };
        self.data_set(node, per, &set)
    }

    /// Translates a random CSV data set of the `BlazeMeter` plugins (`RandomCSVDataSetConfig.java`, `RandomCSVReader.java`): a permutation
    /// of the rows, and another one in each pass. Threads with *Independent list per thread* share one reader, too: `threadStarted`.
    pub(super) fn random_csv_data_set(&mut self, node: &Node, per: Per) -> bool {
        let yes = |name: &str| node.element.text_of(name).trim() == "true";
        let separator = match node.element.text_of("delimiter") {
            "\\t" => b'\t',
            text => text.bytes().next().filter(u8::is_ascii).unwrap_or(b','),
        };
        self.note_groups(node);
        let set = DataSet {
            separator,
            order: if yes("randomOrder") { Order::Shuffled } else { Order::Sequential },
            at_end: if yes("rewindOnTheEndOfList") { AtEnd::Repeat } else { AtEnd::Stop },
            reads_quotes: true,
            at_blank_line: "keeps the values of the row before",
        };
        self.data_set(node, per, &set)
    }

    fn data_set(&mut self, node: &Node, per: Per, set: &DataSet) -> bool {
        let property = |name: &str| node.element.text_of(name).trim();
        let yes = |name: &str| property(name) == "true";
        let path = self.resolve(property("filename")).0.to_display();
        let file = text::file_name(&path);
        let content = self.outside.read_include.filter(|_| !path.is_empty()).and_then(|read| read(&path).ok());
        let mut format = CsvFormat { separator: set.separator, ..CsvFormat::default() };
        let mut names: Vec<String> = property("variableNames").split(',').map(|name| name.trim().to_owned()).collect();
        names.retain(|name| !name.is_empty());
        let in_file = names.is_empty();
        if in_file {
            // JMeter always reads the names with quotes.
            names = content.as_deref().map_or_else(Vec::new, |content| {
                rows(content, CsvFormat { quotes: true, ..format }).next().unwrap_or_default()
            });
            for name in &mut names {
                *name = name.trim().trim_start_matches('\u{feff}').to_owned();
            }
        }
        if path.is_empty() {
            self.note(node, "names no file; left out".to_owned());
            return false;
        }
        if names.is_empty() {
            self.note(node, format!("names its variables in the first line of `{path}`, which cannot be read here; put the file into the directory of the plan and import again"));
            return false;
        }
        format.skip_lines = u64::from(in_file || yes("ignoreFirstLine"));
        if let Some(content) = &content {
            // Otherwise a quote is a character like others.
            format.quotes = set.reads_quotes || !content.contains('"');
            let rows = rows(content, format).skip(format.skip_lines as usize);
            let lengths: Vec<usize> = rows.map(|row| row.len()).collect();
            format.ragged = lengths.iter().any(|length| *length != names.len());
            if lengths.iter().any(|length| *length < names.len()) {
                self.note(node, format!("has rows with fewer than {} values; for a missing value, JMeter keeps the earlier one; here the value is empty", names.len()));
            }
            if content.trim_end().lines().any(str::is_empty) {
                self.note(
                    node,
                    format!("has blank lines, for which JMeter {}; here they are skipped", set.at_blank_line),
                );
            }
        }
        let columns: Vec<String> = names.iter().map(|name| text::variable_name(name)).collect();
        let feeder = self.new_name(file.rsplit_once('.').map_or(file, |(stem, _)| stem));
        for (name, column) in names.iter().zip(&columns) {
            self.runtime.insert(name.clone(), Text::variable(&format!("{feeder}.{column}")));
        }
        self.definitions.push(Variable {
            name: feeder,
            value: ValueSource::File { file: path, columns, order: set.order, format, at_end: set.at_end },
            per,
        });
        true
    }

    /// The character between two values.
    fn separator(&mut self, node: &Node) -> u8 {
        match node.element.text_of("delimiter") {
            "" => b',',
            "\\t" => b'\t',
            one if one.len() == 1 => one.as_bytes()[0],
            other => {
                let message = format!("uses the separator `{other}`; offered needs one character: convert the file");
                self.note(node, message);
                b','
            }
        }
    }

    /// Adds a note that several groups share the rows.
    fn note_groups(&mut self, node: &Node) {
        if self.groups > 1 {
            let message = "all thread groups share its rows; here each workload starts with the first row";
            self.note(node, message.to_owned());
        }
    }

    /// Adds a note about the users who share the rows. Returns what happens after the last row.
    fn note_sharing(&mut self, node: &Node) -> AtEnd {
        let property = |name: &str| node.element.text_of(name).trim();
        match property("shareMode") {
            "shareMode.thread" => {
                self.note(node, "each thread reads the file from its start; here all users share its rows".to_owned());
            }
            "" | "shareMode.all" => self.note_groups(node),
            _ => {}
        }
        if property("recycle") != "false" {
            return AtEnd::Repeat;
        }
        if property("stopThread") != "true" {
            self.note(node, "continues with <EOF> after the last row; here the run stops".to_owned());
        }
        AtEnd::Stop
    }
}

/// The rows of a file, including its first line.
fn rows(content: &str, format: CsvFormat) -> impl Iterator<Item = Vec<String>> {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(format.separator)
        .quoting(format.quotes)
        .from_reader(content.as_bytes());
    reader.into_records().map_while(Result::ok).map(|row| row.iter().map(str::to_owned).collect())
}
