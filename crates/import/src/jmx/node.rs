//! Test elements of a plan. In the file, each element is followed by a `hashTree` with its children.

use super::tree::Element;

/// An enabled test element with its children.
#[derive(Debug)]
pub(super) struct Node<'e> {
    pub(super) element: &'e Element,
    pub(super) children: Vec<Node<'e>>,
}

impl<'e> Node<'e> {
    /// The nodes of a `hashTree`, without disabled elements and their children.
    pub(super) fn from_hash_tree(tree: &'e Element) -> Vec<Self> {
        let mut nodes = Vec::new();
        let mut elements = tree.children.iter().peekable();
        while let Some(element) = elements.next() {
            let under = elements.next_if(|next| next.tag == "hashTree");
            if element.tag != "hashTree" && element.attribute("enabled") != "false" {
                nodes.push(Self { element, children: under.map_or_else(Vec::new, Self::from_hash_tree) });
            }
        }
        nodes
    }

    /// Class name without the package.
    pub(super) fn class(&self) -> &'e str {
        self.element.class()
    }

    /// Name in the plan.
    pub(super) fn name(&self) -> &'e str {
        self.element.attribute("testname")
    }
}
