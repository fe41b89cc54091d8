//! A Set as changes of a forwarder: deletions, then replacements, then updates (gNMI 0.10, section 3.4.3), of which
//! each leaf's last word counts.

use super::path::{Pattern, text};
use super::schema::Schema;
use super::tree::{Node, Selection, Step, leaves};
use super::value::{Value, read_json};
use super::{Answer, MODEL};
use crate::proto::gnmi::{Path, SetRequest, Update, UpdateResult, typed_value, update_result::Operation};
use ndnweir_core::units::Rate;
use ndnweir_net::daemon::changes::Change;
use ndnweir_wire::Name;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use tonic::Status;

/// Leaves that one Set may change.
const MAX_LEAVES: usize = 65_536;

/// What leaves shall be; none is taken away.
type Wanted = BTreeMap<Vec<Step>, Option<Value>>;

/// The changes of a Set with the paths of the leaves that each is for, and the results to be reported.
#[derive(Debug, Default)]
pub struct Transaction {
    /// In order.
    pub changes: Vec<Change>,
    /// By change.
    pub about: Vec<String>,
    /// By operation of the Set.
    pub results: Vec<UpdateResult>,
}

/// The last part of a strategy's name, as registered, with its parameters.
pub fn short_strategy(name: &Name) -> String {
    let text = name.to_string();
    text.strip_prefix("/localhost/nfd/strategy/").map_or(text.clone(), str::to_owned)
}

struct Reader<'a> {
    tree: &'a Node,
    wanted: Wanted,
}

fn read_only(path: &[Step]) -> Status {
    Status::invalid_argument(format!("{}: this is state and cannot be set", text(path)))
}

impl Reader<'_> {
    fn want(&mut self, path: Vec<Step>, value: Option<Value>) -> Answer<()> {
        if self.wanted.len() >= MAX_LEAVES && !self.wanted.contains_key(&path) {
            return Err(Status::resource_exhausted(format!("a Set may change {MAX_LEAVES} leaves")));
        }
        self.wanted.insert(path, value);
        Ok(())
    }

    /// Takes away all configuration at and below a place.
    fn clear(&mut self, pattern: &Pattern) -> Answer<()> {
        let mut found: Vec<Vec<Step>> = Vec::new();
        pattern.find(self.tree, &mut |path, node, schema| {
            leaves(node, schema, Selection::Config, &mut path.to_vec(), &mut |leaf, _| found.push(leaf.to_vec()));
        });
        found.into_iter().try_for_each(|leaf| self.want(leaf, None))
    }

    fn put(&mut self, path: Vec<Step>, schema: &Schema, json: &Json) -> Answer<()> {
        match (schema, json) {
            (Schema::Leaf(_, false), _) => {
                // Keys may be repeated beside what is set.
                let key = path.len().checked_sub(2).and_then(|at| path[at].key.clone());
                match (key, path.last()) {
                    (Some((name, value)), Some(last)) if last.name == name => {
                        let reported = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
                        let remedy = || format!("{}: the key is {value}, not {reported}", text(&path));
                        if reported == value { Ok(()) } else { Err(Status::invalid_argument(remedy())) }
                    }
                    _ => Err(read_only(&path)),
                }
            }
            (Schema::Leaf(kind, true), json) => {
                let value = Value::from_json(*kind, json, &text(&path))?;
                self.want(path, Some(value))
            }
            (schema, Json::Object(members)) => {
                for (name, json) in members {
                    let name = name.strip_prefix(MODEL.0).and_then(|rest| rest.strip_prefix(':')).unwrap_or(name);
                    let Some((name, child)) = schema.child(name) else {
                        return Err(Status::invalid_argument(format!("{}: there is no {name}", text(&path))));
                    };
                    let below = |key| path.iter().cloned().chain([Step { name, key }]).collect::<Vec<Step>>();
                    let Some(key) = child.key() else {
                        self.put(below(None), child, json)?;
                        continue;
                    };
                    let Json::Array(entries) = json else {
                        return Err(Status::invalid_argument(format!("{}: {name} is a list", text(&path))));
                    };
                    for entry in entries {
                        let value = match entry.get(key) {
                            Some(Json::String(text)) => text.clone(),
                            Some(Json::Number(number)) => number.to_string(),
                            _ => {
                                let at = text(&path);
                                return Err(Status::invalid_argument(format!("{at}: an entry of {name} has no {key}")));
                            }
                        };
                        self.put(below(Some((key, value))), child, entry)?;
                    }
                }
                Ok(())
            }
            _ => Err(Status::invalid_argument(format!("{}: an object is needed here", text(&path)))),
        }
    }

    fn update(&mut self, prefix: Option<&Path>, update: &Update, replace: bool) -> Answer<()> {
        let path = update.path.clone().unwrap_or_default();
        let pattern = Pattern::read(prefix, &path)?;
        let Some((steps, schema)) = pattern.exact() else {
            return Err(Status::invalid_argument(format!("{}: a Set needs a path without wildcards", pattern.text())));
        };
        let at = text(&steps);
        let Some(value) = update.val.as_ref().and_then(|value| value.value.as_ref()) else {
            return Err(Status::invalid_argument(format!("{at}: the update has no value")));
        };
        if let Schema::Leaf(kind, true) = schema {
            let value = Value::from_typed(*kind, value, &at)?;
            return self.want(steps, Some(value));
        }
        let (typed_value::Value::JsonVal(bytes) | typed_value::Value::JsonIetfVal(bytes)) = value else {
            return match schema {
                Schema::Leaf(..) => Err(read_only(&steps)),
                _ => Err(Status::invalid_argument(format!("{at}: JSON is needed for more than a leaf"))),
            };
        };
        if replace {
            self.clear(&pattern)?;
        }
        self.put(steps, schema, &read_json(bytes, &at)?)
    }
}

fn result(prefix: Option<&Path>, path: Option<&Path>, op: Operation) -> UpdateResult {
    let mut whole = prefix.cloned().unwrap_or_default();
    whole.elem.extend(path.into_iter().flat_map(|path| path.elem.clone()));
    UpdateResult { path: Some(whole), op: op.into(), ..UpdateResult::default() }
}

/// Reads a Set for a forwarder whose present tree is given.
///
/// # Errors
/// What of it cannot be; nothing has changed then.
pub fn read(request: &SetRequest, tree: &Node) -> Answer<Transaction> {
    if !request.union_replace.is_empty() {
        return Err(Status::unimplemented("union_replace is not supported: there is one origin; use replace"));
    }
    let prefix = request.prefix.as_ref();
    let mut reader = Reader { tree, wanted: Wanted::new() };
    let mut results = Vec::new();
    for path in &request.delete {
        let pattern = Pattern::read(prefix, path)?;
        if let Some((steps, Schema::Leaf(_, false))) = pattern.exact() {
            return Err(read_only(&steps));
        }
        // What is not there is deleted already.
        reader.clear(&pattern)?;
        results.push(result(prefix, Some(path), Operation::Delete));
    }
    for (updates, op) in [(&request.replace, Operation::Replace), (&request.update, Operation::Update)] {
        for update in updates {
            reader.update(prefix, update, op == Operation::Replace)?;
            results.push(result(prefix, update.path.as_ref(), op));
        }
    }
    let mut transaction = Transaction { results, ..Transaction::default() };
    transaction.gather(reader.wanted)?;
    Ok(transaction)
}

/// The key of the first list of a path.
fn key(path: &[Step], at: usize) -> &str {
    path.get(at).and_then(|step| step.key.as_ref()).map_or("", |(_, value)| value)
}

fn number(path: &[Step], at: usize) -> Answer<u64> {
    key(path, at).parse().map_err(|_| Status::not_found(format!("{}: there is no such face", text(path))))
}

fn name(path: &[Step]) -> Answer<Name> {
    key(path, 2).parse().map_err(|error| Status::invalid_argument(format!("{}: {error}", text(path))))
}

impl Transaction {
    fn push(&mut self, path: &[Step], change: Change) {
        self.about.push(text(path));
        self.changes.push(change);
    }

    /// Costs of one prefix become one change.
    fn gather(&mut self, wanted: Wanted) -> Answer<()> {
        let mut costs: BTreeMap<Name, (String, BTreeMap<u64, Option<u32>>)> = BTreeMap::new();
        for (path, value) in wanted {
            let names: Vec<&str> = path.iter().map(|step| step.name).collect();
            match (names.as_slice(), value) {
                (["ndn", "fib", "entry", "next-hop", "config", "cost"], value) => {
                    let cost = match value {
                        Some(Value::Number(cost)) => Some(u32::try_from(cost).unwrap_or(u32::MAX)),
                        _ => None,
                    };
                    let of = costs.entry(name(&path)?).or_insert_with(|| (text(&path), BTreeMap::new()));
                    of.1.insert(number(&path, 3)?, cost);
                }
                (["ndn", "faces", "face", "config", "rate"], Some(Value::Number(rate))) if rate > 0 => {
                    let face = number(&path, 2)?;
                    self.push(&path, Change::Rate { face, rate: Rate::from_bps(rate) });
                }
                (["ndn", "faces", "face", "config", "rate"], _) => {
                    let remedy = "a face keeps a rate above 0; without limit it is made by the configuration";
                    return Err(Status::invalid_argument(format!("{}: {remedy}", text(&path))));
                }
                (["ndn", "strategies", "strategy", "config", "name"], value) => {
                    let strategy = match value {
                        Some(Value::Text(strategy)) => Some(strategy),
                        _ => None,
                    };
                    self.push(&path, Change::Strategy { prefix: name(&path)?, strategy });
                }
                (["ndn", "content-store", "config", "capacity"], Some(Value::Number(packets))) => {
                    self.push(&path, Change::Cache(packets));
                }
                _ => {
                    return Err(Status::invalid_argument(format!("{}: this can be changed, not deleted", text(&path))));
                }
            }
        }
        for (prefix, (about, costs)) in costs {
            self.about.push(about);
            self.changes.push(Change::Costs { prefix, costs });
        }
        Ok(())
    }
}
