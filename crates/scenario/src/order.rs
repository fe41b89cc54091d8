//! The order of names: a scenario's parts are kept in it, so that no result depends on the order of a file's lines.
//!
//! The simulator numbers nodes, links and applications by position; numbers decide where random streams begin, which of
//! two equally good next hops comes first, and which of two equal events. In the order of names they are the same for
//! every order of the lines.

use crate::model::{Consumer, Members, Scenario};
use ndnweir_sim::network::Change;
use std::cmp::Ordering;
use std::mem::swap;

/// Compares names as people sort them: digits by their value, so that `R2` comes before `R10`.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a, b);
    loop {
        let (Some(p), Some(q)) = (x.chars().next(), y.chars().next()) else {
            // Names that differ in leading zeros alone are distinguished by them.
            return x.len().cmp(&y.len()).then_with(|| a.cmp(b));
        };
        if p.is_ascii_digit() && q.is_ascii_digit() {
            let (m, n) = (digits(x), digits(y));
            let (v, w) = (m.trim_start_matches('0'), n.trim_start_matches('0'));
            let order = v.len().cmp(&w.len()).then_with(|| v.cmp(w));
            if order != Ordering::Equal {
                return order;
            }
            (x, y) = (&x[m.len()..], &y[n.len()..]);
        } else {
            if p != q {
                return p.cmp(&q);
            }
            (x, y) = (&x[p.len_utf8()..], &y[q.len_utf8()..]);
        }
    }
}

/// The digits a text begins with.
fn digits(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]
}

/// Sorts a list; gives the new position of each old one.
fn sort<T>(list: &mut Vec<T>, mut order: impl FnMut(&T, &T) -> Ordering) -> Vec<usize> {
    let mut numbered: Vec<(usize, T)> = std::mem::take(list).into_iter().enumerate().collect();
    numbered.sort_by(|a, b| order(&a.1, &b.1));
    let mut moved = vec![0; numbered.len()];
    list.reserve_exact(numbered.len());
    for (new, (old, item)) in numbered.into_iter().enumerate() {
        moved[old] = new;
        list.push(item);
    }
    moved
}

impl Scenario {
    /// Puts nodes, producers and consumers into the order of their names, and links into that of their ends'.
    pub(crate) fn sort_by_name(&mut self) {
        let nodes = sort(&mut self.nodes, |a, b| compare(&a.name, &b.name));
        let mut turned = vec![false; self.links.len()];
        for (link, turned) in self.links.iter_mut().zip(&mut turned) {
            (link.a, link.b) = (nodes[link.a], nodes[link.b]);
            if link.b < link.a {
                *turned = true;
                swap(&mut link.a, &mut link.b);
                swap(&mut link.forward, &mut link.backward);
            }
        }
        let links = sort(&mut self.links, |x, y| (x.a, x.b).cmp(&(y.a, y.b)));
        sort(&mut self.media, |a, b| compare(&a.name, &b.name));
        for medium in &mut self.media {
            medium.links.iter_mut().for_each(|link| *link = links[*link]);
            medium.links.sort_unstable();
        }
        sort(&mut self.cross, |a, b| compare(&a.name, &b.name));
        self.cross.iter_mut().flat_map(|traffic| &mut traffic.path).for_each(|place| *place = nodes[*place]);
        let producers = sort(&mut self.producers, |a, b| compare(&a.name, &b.name));
        let consumers = sort(&mut self.consumers, |a, b| compare(&a.name, &b.name));
        for part in &mut self.parts {
            let (moved, members) = match &mut part.members {
                Members::Nodes(members) => (&nodes, members),
                Members::Consumers(members) => (&consumers, members),
            };
            members.iter_mut().for_each(|member| *member = moved[*member]);
            members.sort_unstable();
        }
        for (a, b) in self.overlay.iter_mut().flatten() {
            (*a, *b) = (nodes[*a], nodes[*b]);
        }
        self.producers.iter_mut().for_each(|producer| producer.node = nodes[producer.node]);
        for Consumer { node, producers: answering, .. } in &mut self.consumers {
            *node = nodes[*node];
            answering.iter_mut().for_each(|producer| *producer = producers[*producer]);
            answering.sort_unstable();
        }
        for event in &mut self.events {
            match &mut event.change {
                Change::LinkDown { link } | Change::LinkUp { link } => *link = links[*link],
                Change::Rate { link, direction, .. }
                | Change::Delay { link, direction, .. }
                | Change::Loss { link, direction, .. } => {
                    if turned[*link] {
                        *direction = direction.reversed();
                    }
                    *link = links[*link];
                }
                Change::Crash { node } | Change::Restart { node } => *node = nodes[*node],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_as_people_do() {
        let mut names = ["R10", "R2", "", "a", "R2b", "R02", "R", "C1-R1", "C1", "9", "R2-1", "Ä"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names, ["", "9", "C1", "C1-R1", "R", "R02", "R2", "R2-1", "R2b", "R10", "a", "Ä"]);
        for a in names {
            for b in names {
                assert_eq!(compare(a, b), compare(b, a).reverse(), "{a} {b}");
                assert_eq!(compare(a, b) == Ordering::Equal, a == b);
            }
        }
    }
}
