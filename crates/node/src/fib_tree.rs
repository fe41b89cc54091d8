//! Longest-prefix match over names of byte-string components, for drivers that intern real names.
//!
//! A hash table of (parent, component) → node, so a lookup costs one probe per component until the name leaves the
//! tree. Nodes exist only for registered prefixes and their ancestors, and their number is bounded.

use crate::keyed::HashKey;
use hashbrown::HashTable;
use ndnweir_core::ids::PrefixId;
use std::hash::Hasher;

/// Bytes of one component that a tree accepts, NDN's packet limit.
const MAX_COMPONENT: usize = 8800;
const ROOT: u32 = 0;

#[derive(Clone, Debug)]
struct TreeNode {
    parent: u32,
    component: Box<[u8]>,
    prefix: Option<PrefixId>,
    children: u32,
    hash: u64,
}

/// Why a prefix cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FibError {
    /// The tree has as many nodes as it may.
    #[error("the table of prefixes is full")]
    Full,
    /// A component is longer than a packet.
    #[error("a name component is longer than a packet")]
    ComponentTooLong,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct FibTree {
    nodes: Vec<TreeNode>,
    free: Vec<u32>,
    children: HashTable<u32>,
    limit: usize,
    key: HashKey,
}

fn hash(key: HashKey, parent: u32, component: &[u8]) -> u64 {
    let mut hasher = key.names();
    hasher.write_u32(parent);
    hasher.write(component);
    hasher.finish()
}

impl FibTree {
    /// A tree of at most `limit` nodes: components of all registered prefixes, shared ones counted once.
    pub fn new(limit: usize) -> FibTree {
        FibTree::keyed(limit, HashKey::FIXED)
    }

    /// As [`FibTree::new`], hashed with a key of its own.
    pub fn keyed(limit: usize, key: HashKey) -> FibTree {
        let root = TreeNode { parent: ROOT, component: Box::default(), prefix: None, children: 0, hash: 0 };
        let (free, children, limit) = (Vec::new(), HashTable::new(), limit.min(u32::MAX as usize));
        FibTree { nodes: vec![root], free, children, limit, key }
    }

    /// Nodes in use, the root excluded.
    pub fn len(&self) -> usize {
        self.nodes.len() - 1 - self.free.len()
    }

    /// Whether no prefix but perhaps the empty one is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn child(&self, parent: u32, component: &[u8]) -> Option<u32> {
        let hash = hash(self.key, parent, component);
        let is = |&id: &u32| {
            let node = &self.nodes[id as usize];
            node.hash == hash && node.parent == parent && *node.component == *component
        };
        self.children.find(hash, is).copied()
    }

    /// The node of a name, and how many of its components the tree has.
    fn walk<C: AsRef<[u8]>>(&self, name: &[C]) -> (u32, usize) {
        let mut at = ROOT;
        for (depth, component) in name.iter().enumerate() {
            match self.child(at, component.as_ref()) {
                Some(child) => at = child,
                None => return (at, depth),
            }
        }
        (at, name.len())
    }

    /// Registers a prefix; returns the number it had.
    ///
    /// # Errors
    /// If the tree is full or a component too long; the tree is then as before.
    pub fn insert<C: AsRef<[u8]>>(&mut self, name: &[C], prefix: PrefixId) -> Result<Option<PrefixId>, FibError> {
        let (mut at, depth) = self.walk(name);
        let missing = &name[depth..];
        if self.len() + missing.len() > self.limit {
            return Err(FibError::Full);
        }
        if missing.iter().any(|component| component.as_ref().len() > MAX_COMPONENT) {
            return Err(FibError::ComponentTooLong);
        }
        for component in missing {
            at = self.grow(at, component.as_ref());
        }
        Ok(self.nodes[at as usize].prefix.replace(prefix))
    }

    fn grow(&mut self, parent: u32, component: &[u8]) -> u32 {
        let hash = hash(self.key, parent, component);
        let node = TreeNode { parent, component: component.into(), prefix: None, children: 0, hash };
        let id = match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        self.nodes[parent as usize].children += 1;
        let nodes = &self.nodes;
        self.children.insert_unique(hash, id, |&id| nodes[id as usize].hash);
        id
    }

    /// Removes a prefix; returns the number it had.
    pub fn remove<C: AsRef<[u8]>>(&mut self, name: &[C]) -> Option<PrefixId> {
        let (mut at, depth) = self.walk(name);
        if depth < name.len() {
            return None;
        }
        let prefix = self.nodes[at as usize].prefix.take()?;
        while at != ROOT && self.nodes[at as usize].prefix.is_none() && self.nodes[at as usize].children == 0 {
            let TreeNode { parent, component, hash, .. } = &mut self.nodes[at as usize];
            let (parent, hash) = (*parent, *hash);
            *component = Box::default();
            if let Ok(entry) = self.children.find_entry(hash, |&id| id == at) {
                entry.remove();
            }
            self.free.push(at);
            self.nodes[parent as usize].children -= 1;
            at = parent;
        }
        Some(prefix)
    }

    /// The longest registered prefix of a name.
    pub fn longest<C: AsRef<[u8]>>(&self, name: &[C]) -> Option<PrefixId> {
        let mut at = ROOT;
        let mut longest = self.nodes[ROOT as usize].prefix;
        for component in name {
            let Some(child) = self.child(at, component.as_ref()) else { break };
            at = child;
            longest = self.nodes[at as usize].prefix.or(longest);
        }
        longest
    }

    /// The number of exactly this prefix.
    pub fn exact<C: AsRef<[u8]>>(&self, name: &[C]) -> Option<PrefixId> {
        let (at, depth) = self.walk(name);
        if depth == name.len() { self.nodes[at as usize].prefix } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_full_tree_rejects_and_stays_as_it_was() {
        let mut tree = FibTree::new(2);
        assert_eq!(tree.insert(&["a", "b"], PrefixId(1)), Ok(None));
        assert_eq!(tree.insert(&["a", "c"], PrefixId(2)), Err(FibError::Full));
        assert_eq!(tree.insert(&["a"], PrefixId(3)), Ok(None));
        assert_eq!(tree.remove(&["a", "b"]), Some(PrefixId(1)));
        assert_eq!(tree.insert(&["a", "c"], PrefixId(2)), Ok(None));
        assert_eq!(tree.longest(&["a", "b"]), Some(PrefixId(3)));
        assert_eq!(tree.len(), 2);
    }

    #[test]
    fn components_are_not_confused_across_their_borders() {
        let mut tree = FibTree::new(10);
        tree.insert(&["ab", "c"], PrefixId(1)).unwrap();
        assert_eq!(tree.longest(&["a", "bc"]), None);
        assert_eq!(tree.insert(&[vec![0; 9000]], PrefixId(1)), Err(FibError::ComponentTooLong));
        tree.insert::<&str>(&[], PrefixId(9)).unwrap();
        assert_eq!(tree.longest(&["a", "bc"]), Some(PrefixId(9)));
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_search_through_all_prefixes(
            ops in prop::collection::vec((0u8..3, prop::collection::vec(0u8..3, 0..5)), 0..200),
        ) {
            let mut tree = FibTree::new(1000);
            let mut model: BTreeMap<Vec<u8>, PrefixId> = BTreeMap::new();
            for (i, (op, name)) in ops.into_iter().enumerate() {
                let components: Vec<[u8; 1]> = name.iter().map(|&c| [c]).collect();
                match op {
                    0 => {
                        let id = PrefixId(i as u32);
                        prop_assert_eq!(tree.insert(&components, id), Ok(model.insert(name, id)));
                    }
                    1 => prop_assert_eq!(tree.remove(&components), model.remove(&name)),
                    _ => {
                        let naive = (0..=name.len()).rev().find_map(|n| model.get(&name[..n]).copied());
                        prop_assert_eq!(tree.longest(&components), naive);
                        prop_assert_eq!(tree.exact(&components), model.get(&name).copied());
                    }
                }
            }
            let names: Vec<_> = model.keys().cloned().collect();
            for name in names {
                let components: Vec<[u8; 1]> = name.iter().map(|&c| [c]).collect();
                tree.remove(&components);
            }
            prop_assert!(tree.is_empty());
        }
    }
}
