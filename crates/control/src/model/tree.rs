//! Values in the shape of the model.

use super::schema::Schema;
use super::value::Value;
use std::collections::BTreeMap;

/// A node with values.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Children by name.
    Container(BTreeMap<&'static str, Node>),
    /// Entries by key.
    List(BTreeMap<String, Node>),
    /// A value.
    Leaf(Value),
}

impl Node {
    /// A container without children.
    pub fn container() -> Node {
        Node::Container(BTreeMap::new())
    }

    /// The child of that name, made if there is none; a leaf is replaced.
    pub fn child(&mut self, name: &'static str, is_list: bool) -> &mut Node {
        if !matches!(self, Node::Container(_)) {
            *self = Node::container();
        }
        let Node::Container(children) = self else { unreachable!("made one above") };
        let empty = || if is_list { Node::List(BTreeMap::new()) } else { Node::container() };
        children.entry(name).or_insert_with(empty)
    }

    /// The entry of that key, made if there is none.
    pub fn entry(&mut self, key: String) -> &mut Node {
        if !matches!(self, Node::List(_)) {
            *self = Node::List(BTreeMap::new());
        }
        let Node::List(entries) = self else { unreachable!("made one above") };
        entries.entry(key).or_insert_with(Node::container)
    }

    /// Sets a leaf of a container.
    pub fn set(&mut self, name: &'static str, value: Value) {
        if let Node::Container(children) = self {
            children.insert(name, Node::Leaf(value));
        }
    }

    /// Sets a leaf that may have no value.
    pub fn set_some(&mut self, name: &'static str, value: Option<Value>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }
}

/// A step of a path: a name, and the key where the name is that of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// The node's name.
    pub name: &'static str,
    /// Which entry.
    pub key: Option<(&'static str, String)>,
}

/// Which leaves are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// Those that can be set.
    Config,
    /// The others.
    State,
}

impl Selection {
    /// Whether it has such leaves.
    pub fn has(self, config: bool) -> bool {
        match self {
            Selection::All => true,
            Selection::Config => config,
            Selection::State => !config,
        }
    }
}

/// Visits the leaves below a node with their paths, in order.
pub fn leaves<'a>(
    node: &'a Node,
    schema: &Schema,
    selection: Selection,
    path: &mut Vec<Step>,
    visit: &mut impl FnMut(&[Step], &'a Value),
) {
    match (node, schema) {
        (Node::Leaf(value), Schema::Leaf(_, config)) if selection.has(*config) => visit(path, value),
        (Node::Container(children), _) => {
            for (name, child) in children {
                let Some((name, schema)) = schema.child(name) else { continue };
                if let (Node::List(entries), Some(key)) = (child, schema.key()) {
                    for (of, entry) in entries {
                        path.push(Step { name, key: Some((key, of.clone())) });
                        leaves(entry, schema, selection, path, visit);
                        path.pop();
                    }
                } else {
                    path.push(Step { name, key: None });
                    leaves(child, schema, selection, path, visit);
                    path.pop();
                }
            }
        }
        _ => {}
    }
}
