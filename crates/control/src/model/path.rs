//! gNMI paths: read, checked against the model, and found in a tree, wildcards included.

use super::schema::{ROOT, Schema};
use super::tree::{Node, Step};
use super::{Answer, MODEL};
use crate::proto::gnmi::{Path, PathElem};
use std::collections::BTreeSet;
use tonic::Status;

/// Elements of a path at most; the model is not this deep.
const MAX_ELEMENTS: usize = 16;
/// Bytes of a key: a name of NDN packets in its URI form.
const MAX_KEY: usize = 32 << 10;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A node of this name, or of any; of a list, the entry with this key, or all.
    One { name: Option<String>, key: Option<String> },
    /// Any number of nodes.
    Any,
}

/// A path that may have wildcards, of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
    text: String,
}

/// The path as people write it.
pub fn text(path: &[Step]) -> String {
    let mut text = String::new();
    for Step { name, key } in path {
        text.push('/');
        text.push_str(name);
        if let Some((key, value)) = key {
            text.push_str(&format!("[{key}={}]", value.replace('\\', "\\\\").replace(']', "\\]")));
        }
    }
    if text.is_empty() { "/".into() } else { text }
}

/// The path as gNMI's message.
pub fn message(path: &[Step]) -> Path {
    let elem = path.iter().map(|Step { name, key }| PathElem {
        name: (*name).to_owned(),
        key: key.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
    });
    Path { elem: elem.collect(), ..Path::default() }
}

fn read(prefix: Option<&Path>, path: &Path) -> Answer<Vec<Part>> {
    let mut parts = Vec::new();
    let both = prefix.into_iter().chain([path]);
    for path in both.clone() {
        // Clients that write both forms mean the same by both.
        #[allow(deprecated, reason = "to say that it is")]
        if !path.element.is_empty() && path.elem.is_empty() {
            return Err(Status::invalid_argument("Path.element is not supported: use Path.elem"));
        }
        // gNMI 0.10.0, 2.2.2.1: an origin that is not given is `openconfig`; some clients always write that.
        if !["", "openconfig", MODEL.0, MODEL.1].contains(&path.origin.as_str()) {
            return Err(Status::invalid_argument(format!("unknown origin {:?}: leave it out", path.origin)));
        }
    }
    for PathElem { name, key } in both.flat_map(|path| &path.elem) {
        if parts.len() >= MAX_ELEMENTS {
            return Err(Status::invalid_argument(format!("the path has more than {MAX_ELEMENTS} elements")));
        }
        // A name may be qualified by its module.
        let name = name.strip_prefix(MODEL.0).and_then(|rest| rest.strip_prefix(':')).unwrap_or(name);
        if key.len() > 1 {
            return Err(Status::invalid_argument(format!("{name}: lists of this model have one key")));
        }
        if let Some((_, value)) = key.iter().find(|(_, value)| value.len() > MAX_KEY) {
            let length = value.len();
            return Err(Status::invalid_argument(format!("{name}: a key of {length} bytes is too long")));
        }
        if name == "..." {
            parts.push(Part::Any);
            continue;
        }
        let wanted = key.iter().next().map(|(key, value)| (key.clone(), value.clone()));
        let name = (name != "*").then(|| name.to_owned());
        if let (Some(name), Some((key, _))) = (&name, &wanted) {
            check_key(name, key)?;
        }
        let key = wanted.map(|(_, value)| value).filter(|value| value != "*");
        parts.push(Part::One { name, key });
    }
    Ok(parts)
}

/// Names of lists are used once in the model.
fn check_key(name: &str, key: &str) -> Answer<()> {
    fn list(schema: &Schema, name: &str) -> Option<&'static str> {
        schema
            .children()
            .iter()
            .find_map(|(known, child)| child.key().filter(|_| *known == name).or_else(|| list(child, name)))
    }
    match list(&ROOT, name) {
        Some(known) if known == key => Ok(()),
        Some(known) => Err(Status::invalid_argument(format!("{name}: the key is {known}, not {key}"))),
        None => Err(Status::invalid_argument(format!("{name} is not a list and has no key"))),
    }
}

/// Whether some path of the model fits.
fn possible(parts: &[Part], schema: &Schema) -> bool {
    let Some((first, rest)) = parts.split_first() else { return true };
    match first {
        Part::Any => possible(rest, schema) || schema.children().iter().any(|(_, child)| possible(parts, child)),
        Part::One { name, .. } => schema
            .children()
            .iter()
            .filter(|(known, _)| name.as_ref().is_none_or(|name| name == known))
            .any(|(_, child)| possible(rest, child)),
    }
}

impl Pattern {
    /// Reads a path below a prefix.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if the model has no such path.
    pub fn read(prefix: Option<&Path>, path: &Path) -> Answer<Pattern> {
        let parts = read(prefix, path)?;
        let text = parts.iter().fold(String::new(), |mut text, part| {
            text.push('/');
            match part {
                Part::Any => text.push_str("..."),
                Part::One { name, key } => {
                    text.push_str(name.as_deref().unwrap_or("*"));
                    text.extend(key.iter().map(|key| format!("[{key}]")));
                }
            }
            text
        });
        let pattern = Pattern { parts, text };
        if !possible(&pattern.parts, &ROOT) {
            let near = pattern.nearest();
            return Err(Status::invalid_argument(format!("no path {} in {}; {near}", pattern.text, MODEL.0)));
        }
        Ok(pattern)
    }

    /// What there is where the path leaves the model.
    fn nearest(&self) -> String {
        let (mut schema, mut at) = (&ROOT, String::new());
        for part in &self.parts {
            let Part::One { name: Some(name), .. } = part else { break };
            let Some((known, child)) = schema.child(name) else { break };
            at = format!("{at}/{known}");
            schema = child;
        }
        let names: Vec<&str> = schema.children().iter().map(|(name, _)| *name).collect();
        match names.is_empty() {
            true => format!("{at} is a leaf"),
            false => format!("{} has {}", if at.is_empty() { "/" } else { &at }, names.join(", ")),
        }
    }

    /// The path as people write it, without names of keys.
    pub fn text(&self) -> &str {
        if self.text.is_empty() { "/" } else { &self.text }
    }

    /// Whether it may stand for several nodes.
    pub fn is_wild(&self) -> bool {
        let mut schema = &ROOT;
        for part in &self.parts {
            let Part::One { name: Some(name), key } = part else { return true };
            let Some((_, child)) = schema.child(name) else { return true };
            if child.key().is_some() && key.is_none() {
                return true;
            }
            schema = child;
        }
        false
    }

    /// The path with its node of the model, if it stands for one place, whether something is there or not.
    pub fn exact(&self) -> Option<(Vec<Step>, &'static Schema)> {
        let (mut schema, mut steps): (&'static Schema, _) = (&ROOT, Vec::new());
        for part in &self.parts {
            let Part::One { name: Some(name), key } = part else { return None };
            let (name, child) = schema.child(name)?;
            let key = match (child.key(), key) {
                (Some(of), Some(key)) => Some((of, key.clone())),
                (Some(_), None) => return None,
                (None, _) => None,
            };
            steps.push(Step { name, key });
            schema = child;
        }
        Some((steps, schema))
    }

    /// Visits the nodes that it stands for, each once, with their paths and places in the model.
    pub fn find<'a>(&self, root: &'a Node, visit: &mut impl FnMut(&[Step], &'a Node, &'static Schema)) {
        let mut search = Search { seen: self.parts.contains(&Part::Any).then(BTreeSet::new), visit };
        search.walk(&self.parts, root, &ROOT, &mut Vec::new());
    }
}

struct Search<'v, F> {
    /// Places where the visitor was, if it could come twice.
    seen: Option<BTreeSet<Vec<Step>>>,
    visit: &'v mut F,
}

impl<'a, F: FnMut(&[Step], &'a Node, &'static Schema)> Search<'_, F> {
    fn walk(&mut self, parts: &[Part], node: &'a Node, schema: &'static Schema, path: &mut Vec<Step>) {
        let Some((first, rest)) = parts.split_first() else {
            if self.seen.as_mut().is_none_or(|seen| seen.insert(path.clone())) {
                (self.visit)(path, node, schema);
            }
            return;
        };
        let (name, key, again) = match first {
            Part::Any => {
                self.walk(rest, node, schema, path);
                (&None, &None, true)
            }
            Part::One { name, key } => (name, key, false),
        };
        let next = if again { parts } else { rest };
        let Node::Container(children) = node else { return };
        for (child_name, child) in children {
            if name.as_ref().is_some_and(|name| name != child_name) {
                continue;
            }
            let Some((step, below)) = schema.child(child_name) else { continue };
            match (child, below.key()) {
                (Node::List(entries), Some(of)) => {
                    for (value, entry) in entries {
                        if key.as_ref().is_none_or(|key| key == value) {
                            path.push(Step { name: step, key: Some((of, value.clone())) });
                            self.walk(next, entry, below, path);
                            path.pop();
                        }
                    }
                }
                _ => {
                    path.push(Step { name: step, key: None });
                    self.walk(next, child, below, path);
                    path.pop();
                }
            }
        }
    }
}
