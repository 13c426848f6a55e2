//! Escapes unreadable characters in the texts of a document that come from outside (names, labels, reasons).

use std::borrow::Cow;

use offered_base::visible_lines;

use crate::chart::{Axis, Chart, Scale, Shape};
use crate::document::{Block, Card, Cell, Document, Judgement, Section, Table};

impl Document {
    /// A document with readable texts: unreadable characters in names from outside are shown as escapes.
    pub fn new(mut title: String, mut sections: Vec<Section>, source: &'static str) -> Self {
        readable(&mut title);
        sections.iter_mut().for_each(make_readable);
        Self { title, subtitle: String::new(), conclusion: String::new(), sections, source }
    }

    /// The document with a subtitle (one line with the tested target or workload) and the conclusion in a few words.
    #[must_use]
    pub fn with_subtitle(self, mut subtitle: String, mut conclusion: String) -> Self {
        [&mut subtitle, &mut conclusion].into_iter().for_each(readable);
        Self { subtitle, conclusion, ..self }
    }
}

/// Makes all texts of a section readable.
fn make_readable(section: &mut Section) {
    readable(&mut section.title);
    for block in &mut section.blocks {
        match block {
            Block::Card(card) => make_card_readable(card),
            Block::Paragraph(text) => readable(text),
            Block::Warnings(warnings) => {
                for warning in warnings {
                    [&mut warning.message, &mut warning.fix].into_iter().for_each(readable);
                }
            }
            Block::Table(table) => make_table_readable(table),
            Block::Chart(chart) => make_chart_readable(chart),
        }
    }
}

fn make_card_readable(card: &mut Card) {
    for Judgement { text, fixes, .. } in &mut card.judgements {
        readable(text);
        fixes.iter_mut().for_each(readable);
    }
    card.tiles.iter_mut().for_each(|tile| readable(&mut tile.note));
}

fn make_table_readable(table: &mut Table) {
    readable(&mut table.caption);
    for cell in table.rows.iter_mut().flatten() {
        match cell {
            Cell::Text(text) | Cell::Link(text, _) => readable(text),
            Cell::Status(_, Cow::Owned(text)) => readable(text),
            _ => {}
        }
    }
}

fn make_chart_readable(chart: &mut Chart) {
    [&mut chart.title, &mut chart.caption].into_iter().for_each(readable);
    for Axis { title, scale } in [&mut chart.x, &mut chart.y] {
        readable(title);
        if let Scale::Names(names) = scale {
            names.iter_mut().for_each(readable);
        }
    }
    for series in &mut chart.series {
        readable(&mut series.name);
        if let Shape::Heat(heat) = &mut series.shape {
            readable(&mut heat.title);
        }
    }
}

/// Makes a text readable.
fn readable(text: &mut String) {
    if let Cow::Owned(safe) = visible_lines(text) {
        *text = safe;
    }
}
