//! Include controllers: inserts the content of other files.
//!
//! Source: `IncludeController.getProperBranch`, which takes the first enabled test fragment of the file.

use super::tree::{self, Element};

/// Maximum nesting depth and maximum number of included files.
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 100;

/// Reads an included file by the name in the plan.
type IncludeReader<'f> = Option<&'f dyn Fn(&str) -> Result<String, String>>;

/// Inserts the included elements under every include controller of `tree`. If a file cannot be read, the reason becomes
/// the attribute `unread` of the controller.
pub(super) fn expand(tree: &mut Element, read_file: IncludeReader) {
    include(tree, read_file, MAX_DEPTH, &mut MAX_FILES.clone());
}

fn include(element: &mut Element, read_file: IncludeReader, depth: usize, left: &mut usize) {
    for at in 0..element.children.len() {
        let child = &element.children[at];
        if child.tag != "IncludeController" || child.attribute("enabled") == "false" {
            include(&mut element.children[at], read_file, depth, left);
            continue;
        }
        let (name, line) = (child.text_of("IncludeController.includepath").to_owned(), child.line);
        let read = match read_file {
            _ if name.trim().is_empty() => Err("names no file; nothing is included".to_owned()),
            _ if depth == 0 || *left == 0 => Err(unread(&name, "files include one another")),
            Some(read_file) => {
                let read = read_file(&name).and_then(|text| fragment(&text, &name, line));
                read.map_err(|why| unread(&name, &why))
            }
            None => Err(unread(&name, "reading other files is not possible here")),
        };
        *left = left.saturating_sub(1);
        match read {
            Ok(mut branch) => {
                include(&mut branch, read_file, depth - 1, left);
                match element.children.get_mut(at + 1).filter(|next| next.tag == "hashTree") {
                    Some(tree) => tree.children = branch.children,
                    None => element.children.insert(at + 1, branch),
                }
            }
            Err(why) => element.children[at].attributes.push(("unread".to_owned(), why)),
        }
    }
}

/// The note with the reason why the file `name` is not included.
fn unread(name: &str, why: &str) -> String {
    format!("includes `{name}`, which could not be read: {why}; put that file into the directory of the plan")
}

/// The content of the first test fragment of a file, with all line numbers set to `line`.
fn fragment(text: &str, file: &str, line: usize) -> Result<Element, String> {
    let mut tree = tree::read(text, file).map_err(|error| error.to_string())?;
    let plan = tree.children.iter_mut().find(|child| child.tag == "hashTree").ok_or("the file is not a test plan")?;
    let under =
        plan.children.iter_mut().find(|child| child.tag == "hashTree").ok_or("the test plan in the file is empty")?;
    let enabled = |child: &Element| child.tag == "TestFragmentController" && child.attribute("enabled") != "false";
    let at = under.children.iter().position(enabled).ok_or("the file has no test fragment")?;
    let mut branch = match under.children.get_mut(at + 1).filter(|next| next.tag == "hashTree") {
        Some(branch) => std::mem::take(branch),
        None => Element { tag: "hashTree".to_owned(), ..Element::default() },
    };
    set_line(&mut branch, line);
    Ok(branch)
}

fn set_line(element: &mut Element, line: usize) {
    element.line = line;
    element.children.iter_mut().for_each(|child| set_line(child, line));
}
