//! The page of a report in a real browser.

#[path = "../report/hostile.rs"]
mod hostile;

use crate::chromium::Chromium;
use crate::harness::Tested;
use crate::process::{offered, soon};

tests![a_browser_draws_every_chart_without_external_resources];

fn a_browser_draws_every_chart_without_external_resources() -> Tested {
    let mut browser = Chromium::start()?;
    let folder = tempfile::tempdir().unwrap();
    let file = hostile::hostile(folder.path());
    let file = file.file_name().unwrap().to_str().unwrap();
    let made = offered(&["report", file, file, "-o", "page.html"]).current_dir(folder.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    browser.open(&format!("file://{}", folder.path().join("page.html").display()));
    let loaded = "document.readyState === 'complete' && document.getElementById('unfold') !== null";
    assert!(soon(|| (browser.value(loaded) == true).then_some(())).is_some(), "the page is loaded");
    // There is no time limit: a chart is complete when it has a frame and axes.
    let drawn = "new Promise(done => { const look = () => { \
         const [all, drawn] = ['.plot[data-from]', '.js-plotly-plot .xy .gridlayer'].map(s => document.querySelectorAll(s).length); \
         all > 0 && all === drawn && document.readyState === 'complete' ? done(drawn) : setTimeout(look, 50); }; look(); })";
    // Charts in folded sections are drawn when they are opened.
    let open = "[...document.querySelectorAll('.js-plotly-plot')].every(plot => !plot.closest('details:not([open])'))";
    assert_eq!(browser.value(open), true, "no folded chart is drawn");
    browser.value("document.getElementById('unfold').click()");
    let drawn = browser.value(drawn);
    assert!(drawn.as_u64() > Some(20), "{drawn} charts are drawn");
    let follows = "document.querySelectorAll('details').forEach(fold => { fold.open = false; }), \
         document.querySelector('a[href=\"#run-2\"]').click(), document.getElementById('run-2').open";
    assert_eq!(browser.value(follows), true, "a link opens what it leads to");
    assert_eq!(browser.console(), &[] as &[String], "the console is silent");
    assert_eq!(browser.value("document.title"), "2 runs - offered", "no script of a label set the title");
    let elements = "document.querySelectorAll('body img, a[href^=\"javascript\"], [onmouseover], [onerror]').length";
    assert_eq!(browser.value(elements), 0, "no label became an element");
    assert!(browser.text("summary-1").contains("<img src=x onerror"), "labels are to be seen as text");
    Ok(())
}
