//! gNMI's messages from a stranger: whatever is decoded is rejected, or of the model.

use ndnweir_control::controller::mirror::Mirror;
use ndnweir_control::model::path::{Pattern, text};
use ndnweir_control::model::transaction;
use ndnweir_control::model::tree::{Node, Selection, leaves};
use ndnweir_control::model::value::{Value, read_json};
use ndnweir_control::proto::gnmi::{GetRequest, Notification, Path, SetRequest};
use prost::Message;

/// A face and a prefix with one next hop.
fn tree() -> Node {
    let mut root = Node::container();
    let ndn = root.child("ndn", false);
    let face = ndn.child("faces", false).child("face", true).entry("257".into());
    face.set("id", Value::Number(257));
    face.child("config", false).set("rate", Value::Number(1));
    let hop = ndn.child("fib", false).child("entry", true).entry("/a".into()).child("next-hop", true);
    hop.entry("257".into()).child("config", false).set("cost", Value::Number(1));
    root
}

fn find(tree: &Node, prefix: Option<&Path>, path: &Path) {
    let Ok(pattern) = Pattern::read(prefix, path) else { return };
    let mut places = Vec::new();
    pattern.find(tree, &mut |at, node, schema| {
        places.push(text(at));
        leaves(node, schema, Selection::All, &mut at.to_vec(), &mut |leaf, _| assert!(leaf.len() >= at.len()));
    });
    let count = places.len();
    places.sort_unstable();
    places.dedup();
    assert!(places.len() == count, "{} stands for a place twice", pattern.text());
    if let Some((steps, _)) = pattern.exact() {
        assert!(!steps.is_empty() || path.elem.is_empty());
    }
}

/// The first byte says which message the others are.
pub fn gnmi(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let tree = tree();
    match kind % 4 {
        0 => {
            let Ok(request) = SetRequest::decode(rest) else { return };
            if let Ok(transaction) = transaction::read(&request, &tree) {
                assert_eq!(transaction.changes.len(), transaction.about.len());
            }
        }
        1 => {
            let Ok(request) = GetRequest::decode(rest) else { return };
            request.path.iter().for_each(|path| find(&tree, request.prefix.as_ref(), path));
        }
        2 => {
            let Ok(notification) = Notification::decode(rest) else { return };
            let mut mirror = Mirror::default();
            mirror.take(&notification);
            mirror.take(&notification);
            let most = notification.update.len();
            assert!(mirror.faces.len() <= most && mirror.fib.values().all(|hops| hops.len() <= most));
        }
        _ => drop(read_json(rest, "input")),
    }
}
