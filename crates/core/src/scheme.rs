//! Schemes: compositions of one component per family.

mod choices;

pub use choices::PrefixChoice;

use crate::component::{Env, Info};
use crate::fields::{Field, FieldLayout, Fields};
use crate::registry::{AnyConsumer, AnyDiscipline, AnyMarker, AnyMeter, AnyPlanner, AnyShaper, AnyStrategy, Family};
use crate::suggest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A component chosen by name, with the parameters that differ from its defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComponentChoice {
    /// The component's name.
    pub name: String,
    /// Parameters given; the others keep their defaults.
    #[serde(flatten)]
    pub params: Map<String, Value>,
}

/// What nodes do with marks on Interests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterestMarks {
    /// The mark stays on the Interest and has no effect (stock ndnSIM).
    Ignore,
    /// A node records it in the PIT and ORs it into the Data.
    #[default]
    Copy,
    /// A node records it with the downstream it came from, and ORs it into that downstream's Data alone (NDN-DPDK).
    Own,
}

/// What content stores do with the mark of a Data they store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachedMarks {
    /// It is taken off: the copy does not cross the congested link (NDN-DPDK; our default).
    #[default]
    Strip,
    /// It stays, and every answer from the store carries it again (NFD).
    Replay,
}

/// A named composition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scheme {
    /// Its name.
    pub name: String,
    /// One line on what it is and whose.
    pub summary: String,
    /// One component per family, in the order of [`Family::ALL`].
    pub parts: [ComponentChoice; 7],
    /// Marks on Interests.
    pub interest_marks: InterestMarks,
    /// Marks on stored Data.
    pub cached_marks: CachedMarks,
    /// What single prefixes have in place of the strategy and shaper above; a shorter prefix comes before a longer one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<PrefixChoice>,
}

/// A scheme that comes with the product: name, summary, composition.
struct Named {
    name: &'static str,
    summary: &'static str,
    composition: fn() -> Value,
}

/// The named schemes, in the order they are listed.
const NAMED: &[Named] = &[
    Named {
        name: "fixed",
        summary: "a constant window over drop-tail queues: the control in every comparison",
        composition: || json!({ "consumer": "fixed" }),
    },
    Named {
        name: "aimd",
        summary: "additive increase, multiplicative decrease as stock ndnSIM runs it: ConsumerPcon over NFD's marks",
        composition: || stock("aimd"),
    },
    Named {
        name: "bic",
        summary: "BIC as stock ndnSIM runs it: ConsumerPcon over NFD's marks",
        composition: || stock("bic"),
    },
    Named {
        name: "cubic",
        summary: "CUBIC as stock ndnSIM runs it: ConsumerPcon over NFD's marks",
        composition: || stock("cubic"),
    },
    Named {
        name: "pcon",
        summary: "PCON as its authors published it in 2016: CoDel marks, forwarding shares, BIC that halves on every mark",
        composition: || pcon("pcon"),
    },
    Named {
        name: "pcon-ndnsim",
        summary: "PCON with the consumer its author put into ndnSIM: BIC cut to 0.8, at most once per 1.5 round trips",
        composition: || pcon("bic"),
    },
    Named {
        name: "pcon-aimd",
        summary: "PCON's marks and forwarding under AIMD: ConsumerPcon's default window law",
        composition: || pcon("aimd"),
    },
    Named {
        name: "pcon-cubic",
        summary: "PCON's marks and forwarding under CUBIC as ConsumerPcon has it",
        composition: || pcon("cubic"),
    },
    Named {
        name: "packet-pair",
        summary: "pcon-aimd that takes its first window from a packet pair instead of slow start",
        composition: || {
            let consumer = json!({ "name": "aimd", "startup": { "kind": "packet-pair" } });
            let meter = json!({ "name": "path-label", "form": "hashed" });
            json!({ "base": "pcon-aimd", "consumer": consumer, "meter": meter })
        },
    },
    Named {
        name: "rp-a",
        summary: "resource pooling A: pcon-ndnsim with marks aimed at flows with large windows",
        composition: || pooling(json!({})),
    },
    Named {
        name: "rp-ab",
        summary: "resource pooling A + B: of the marks of several paths a branching router passes on the first",
        composition: || pooling(json!({ "suppress": "others" })),
    },
    Named {
        name: "rp-abc",
        summary: "resource pooling A + B + C: shares shift in proportion to the flows on the congested link",
        composition: || pooling(json!({ "suppress": "others", "flow-aware": true })),
    },
    Named {
        name: "icp",
        summary: "the Interest control protocol: AIMD on a timer between the least and the largest round-trip time",
        composition: || json!({ "consumer": "icp", "strategy": absorbing_route() }),
    },
    Named {
        name: "omcc-rf",
        summary: "OMCC-RF as HbHCM + PAQM was compared with it: RAAQM per route, greedy request forwarding",
        composition: || {
            let consumer = json!({ "name": "raaqm", "preset": "ye" });
            json!({ "consumer": consumer, "strategy": greedy_rfa(), "meter": "path-label" })
        },
    },
    Named {
        name: "hbhcm",
        summary: "HbHCM + PAQM-CoDel: marks from the measured delay of each hop, AIMD, greedy request forwarding",
        composition: || json!({ "consumer": "aimd-ye", "strategy": greedy_rfa(), "meter": "hbhcm" }),
    },
    Named {
        name: "stateful-consumer",
        summary: "Stateful Forwarding with rates adjusted at consumers only, as the numbers of the NACK paper need",
        composition: || limited("consumers", false),
    },
    Named {
        name: "stateful",
        summary: "Stateful Forwarding with rates adjusted at consumers and routers, and room kept for flows within their share",
        composition: || reserved(limited("everywhere", false)),
    },
    Named {
        name: "nack-once-consumer",
        summary: "one rate reduction per congestion, at consumers only, as the numbers of the NACK paper need",
        composition: || limited("consumers", true),
    },
    Named {
        name: "nack-once",
        summary: "one rate reduction per congestion, at consumers and routers, and room kept for flows within their share",
        composition: || reserved(limited("everywhere", true)),
    },
    Named {
        name: "hobhis",
        summary: "hop-by-hop Interest shaping towards a target queue, under a consumer that only keeps Interests coming",
        composition: || json!({ "consumer": { "name": "fixed", "window": 200.0 }, "shaper": "hobhis" }),
    },
    Named {
        name: "hobhis-2014",
        summary: "HoBHIS with a queue and a share for each flow, and rates that consumers must not exceed",
        composition: || {
            let consumer = json!({ "name": "rate-aimd", "law": { "once": true }, "tolerance": true });
            json!({ "consumer": consumer, "shaper": "hobhis-2014" })
        },
    },
    Named {
        name: "his",
        summary: "Interest shaping by the load of both directions of a link, with the consumer of its authors",
        composition: || json!({ "consumer": "relentless", "shaper": "his" }),
    },
    Named {
        name: "hr-icp",
        summary: "the hop-by-hop and receiver-driven Interest control protocol: credit per flow at routers, ICP at consumers",
        composition: || json!({ "consumer": "icp", "strategy": absorbing_route(), "discipline": "drr", "shaper": "hr-icp" }),
    },
    Named {
        name: "b-icp",
        summary: "stands in for backpressure B-ICP: a window per next hop, a virtual queue per prefix, marks from it",
        composition: || json!({ "consumer": "aimd-ye", "marker": "codel", "strategy": "b-icp" }),
    },
    Named {
        name: "kato-window",
        summary: "stands in for Kato and Bandai's hop-by-hop windows: a window per face and flow at its share of the link",
        composition: || json!({ "consumer": { "name": "fixed", "window": 200.0 }, "shaper": "kato-window" }),
    },
    Named {
        name: "ndnsieve",
        summary: "ndnSieve as printed: a controller leads prefixes around busy links, consumers add and take one per Data",
        composition: || sieve(json!({}), json!({})),
    },
    Named {
        name: "ndnsieve-calibrated",
        summary: "ndnSieve as a what-if: slow start, then one segment per round trip, marks above 9 packets of queue",
        composition: || sieve(json!({ "step": "per-window" }), json!({ "packets": 9 })),
    },
    Named {
        name: "coopcon",
        summary: "stands in for CoopCon: windows follow a PI controller's level, paths change on severe congestion only",
        composition: || json!({ "consumer": "level-aimd", "strategy": "coopcon", "meter": "coopcon" }),
    },
    Named {
        name: "flecom",
        summary: "stands in for FleCom: windows follow the trend of delays, routers use another path or shape Interests",
        composition: || {
            let consumer = json!({ "name": "level-aimd", "gain": 0.3 });
            json!({ "consumer": consumer, "shaper": "flecom", "strategy": "flecom", "meter": "flecom" })
        },
    },
];

/// ICP's timer runs out before many answers; as in CCN, PITs absorb what is asked again while it is pending.
fn absorbing_route() -> Value {
    json!({ "name": "best-route", "suppression": { "initial": "1s", "max": "1s" } })
}

/// Request forwarding as the simulator of Ye et al. does it.
fn greedy_rfa() -> Value {
    json!({ "name": "rfa", "mode": "greedy", "retransmissions": "forward" })
}

/// ndnSieve with these parameters of its consumer and marker.
fn sieve(mut consumer: Value, mut marker: Value) -> Value {
    consumer["name"] = json!("ndnsieve");
    marker["name"] = json!("ndnsieve");
    json!({ "consumer": consumer, "marker": marker, "meter": "ndnsieve", "planner": "ndnsieve" })
}

/// Stateful Forwarding's limits with its consumer.
fn limited(adjust: &str, once: bool) -> Value {
    let law = json!({ "once": once });
    json!({
        "consumer": { "name": "rate-aimd", "law": law },
        "shaper": { "name": "stateful", "adjust": adjust, "law": law },
    })
}

/// With half of each face's bucket kept for flows within their share (ours): without it a flood leaves others nothing.
fn reserved(mut scheme: Value) -> Value {
    scheme["shaper"]["reserve"] = json!(0.5);
    scheme
}

/// A window law of ConsumerPcon in stock ndnSIM, where marks on Interests have no effect.
fn stock(consumer: &str) -> Value {
    json!({ "consumer": consumer, "marker": "nfd", "strategy": "best-route", "interest-marks": "ignore" })
}

/// A consumer over PCON's marks and forwarding.
fn pcon(consumer: &str) -> Value {
    json!({ "consumer": consumer, "marker": "codel-pcon", "strategy": "pcon", "interest-marks": "copy" })
}

/// Resource pooling with PCON's strategy as `strategy` says.
fn pooling(strategy: Value) -> Value {
    json!({ "base": "pcon-ndnsim", "marker": "cwnd-codel", "strategy": strategy, "meter": "pooling" })
}

impl Scheme {
    /// The names of the schemes that come with the product.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|named| named.name)
    }

    /// A scheme that comes with the product.
    ///
    /// # Errors
    /// If there is none of that name: a sentence that lists those there are.
    pub fn named(name: &str) -> Result<Scheme, String> {
        let Some(named) = NAMED.iter().find(|named| named.name == name) else {
            let known: Vec<_> = Scheme::names().collect();
            return Err(suggest::unknown("scheme", name, &known));
        };
        let mut scheme = Scheme::resolve(name, &(named.composition)())?;
        scheme.summary = named.summary.into();
        Ok(scheme)
    }

    /// Reads a composition such as `{ consumer = "bic", marker = { name = "codel", target = "5ms" } }`.
    ///
    /// `base = "NAME"` starts from a scheme that comes with the product, also from the one of the same name, and
    /// `base = { … }` from another composition; families left out keep the base's component, or do nothing.
    ///
    /// # Errors
    /// An unknown key, component or parameter, or more header fields than a run carries; the sentence names the remedy.
    pub fn resolve(name: &str, composition: &Value) -> Result<Scheme, String> {
        let Value::Object(table) = composition else {
            return Err(format!("scheme {name} must be a table such as {{ consumer = \"bic\", marker = \"codel\" }}"));
        };
        let mut scheme = match table.get("base") {
            Some(Value::String(base)) => Scheme::named(base).map_err(|e| format!("scheme {name}: base: {e}"))?,
            Some(inner @ Value::Object(_)) => Scheme::resolve(name, inner)?,
            Some(_) => return Err(format!("scheme {name}: base must be the name of another scheme")),
            None => Scheme::null(),
        };
        scheme.summary = match table.get("base") {
            Some(Value::String(base)) if base == name => format!("{}; changed for this scenario", scheme.summary),
            _ => "a composition of this scenario".into(),
        };
        scheme.name = name.into();
        for (key, value) in table {
            match key.as_str() {
                "base" => {}
                "summary" => scheme.summary = value.as_str().unwrap_or_default().into(),
                "interest-marks" => {
                    scheme.interest_marks = serde_json::from_value(value.clone())
                        .map_err(|_| format!("scheme {name}: interest-marks is \"ignore\", \"copy\" or \"own\""))?;
                }
                "cached-marks" => {
                    scheme.cached_marks = serde_json::from_value(value.clone())
                        .map_err(|_| format!("scheme {name}: cached-marks is \"strip\" or \"replay\""))?;
                }
                "prefixes" => {}
                _ => scheme.set_part(key, value).map_err(|e| format!("scheme {name}: {e}"))?,
            }
        }
        if let Some(prefixes) = table.get("prefixes") {
            scheme.choose_all(prefixes).map_err(|e| format!("scheme {name}: {e}"))?;
        }
        scheme.check_fields()?;
        Ok(scheme)
    }

    /// Plain forwarding with nothing switched on.
    fn null() -> Scheme {
        let part = |family: Family| ComponentChoice::plain(family.default_component());
        Scheme {
            name: String::new(),
            summary: String::new(),
            parts: Family::ALL.map(part),
            interest_marks: InterestMarks::default(),
            cached_marks: CachedMarks::default(),
            choices: Vec::new(),
        }
    }

    /// Replaces the component of one family; a table without `name` changes parameters of the present one.
    fn set_part(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let Some(family) = Family::ALL.into_iter().find(|family| family.key() == key) else {
            let known: Vec<_> = Family::ALL.iter().map(|family| family.key()).collect();
            return Err(format!(
                "unknown key {key:?}; a scheme has: base, summary, interest-marks, cached-marks, prefixes, {}",
                known.join(", ")
            ));
        };
        self.parts[family as usize].change(family, value)
    }

    /// The component of a family.
    pub fn part(&self, family: Family) -> &ComponentChoice {
        &self.parts[family as usize]
    }

    /// Whether any part stands in for a scheme whose law is not public.
    pub fn is_stand_in(&self) -> bool {
        self.parts_in_force().filter_map(|(family, part)| part.info(family)).any(|info| info.stand_in)
    }

    /// The header fields its components need, as they are set.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = Vec::new();
        for field in self.parts_in_force().flat_map(|(family, part)| part.needs(family)) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields
    }

    fn check_fields(&self) -> Result<(), String> {
        let fields = self.fields();
        if fields.len() <= Fields::SLOTS {
            return Ok(());
        }
        Err(format!(
            "scheme {}: its components need {} header fields, a run carries {}",
            self.name,
            fields.len(),
            Fields::SLOTS
        ))
    }

    /// The slots of a run of this scheme.
    pub fn layout(&self) -> FieldLayout {
        let mut layout = FieldLayout::new();
        for field in self.fields() {
            layout.slot(field);
        }
        layout
    }
}

impl ComponentChoice {
    /// A component with nothing but its defaults.
    pub fn plain(name: &str) -> ComponentChoice {
        ComponentChoice { name: name.into(), params: Map::new() }
    }

    /// Takes over a name, or a table with a name and parameters; a table without `name` changes parameters.
    fn change(&mut self, family: Family, value: &Value) -> Result<(), String> {
        match value {
            Value::String(component) => *self = ComponentChoice::plain(component),
            Value::Object(table) => {
                if let Some(Value::String(component)) = table.get("name") {
                    *self = ComponentChoice::plain(component);
                }
                let given = table.iter().filter(|(k, _)| *k != "name");
                overlay(&mut self.params, given);
            }
            _ => return Err(format!("{} must be a name, or a table with a name and parameters", family.key())),
        }
        self.check(family)
    }

    /// Checks that there is such a component with such parameters.
    ///
    /// # Errors
    /// A sentence that names the remedy.
    pub fn check(&self, family: Family) -> Result<(), String> {
        family.check(&self.name, &Value::Object(self.params.clone()))
    }

    /// Builds it as a strategy.
    ///
    /// # Errors
    /// As [`ComponentChoice::check`].
    pub fn strategy(&self, layout: &mut FieldLayout) -> Result<AnyStrategy, String> {
        AnyStrategy::build(&self.name, &Value::Object(self.params.clone()), &mut Env { layout })
    }

    fn info(&self, family: Family) -> Option<&'static Info> {
        family.components().iter().find(|info| info.name == self.name)
    }

    /// The header fields that a run must carry for it, as it is set.
    pub fn needs(&self, family: Family) -> Vec<Field> {
        self.info(family).map_or(Vec::new(), |info| (info.needs)(&Value::Object(self.params.clone())))
    }
}

/// Puts `given` over `params`; tables within are merged, so that one of their keys can be changed alone.
fn overlay<'a>(params: &mut Map<String, Value>, given: impl Iterator<Item = (&'a String, &'a Value)>) {
    for (key, value) in given {
        match (params.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(table)) => overlay(inner, table.iter()),
            _ => drop(params.insert(key.clone(), value.clone())),
        }
    }
}

macro_rules! builders {
    ($($method:ident $family:ident $any:ident;)*) => {
        impl Scheme {
            $(
                /// Builds an instance of the family's component.
                ///
                /// # Errors
                /// Only for a scheme that was not made by [`Scheme::resolve`].
                pub fn $method(&self, layout: &mut FieldLayout) -> Result<$any, String> {
                    let part = self.built(Family::$family);
                    $any::build(&part.name, &Value::Object(part.params.clone()), &mut Env { layout })
                }
            )*
        }
    };
}

builders! {
    consumer Consumer AnyConsumer;
    marker Marker AnyMarker;
    discipline Discipline AnyDiscipline;
    shaper Shaper AnyShaper;
    strategy Strategy AnyStrategy;
    meter Meter AnyMeter;
    planner Planner AnyPlanner;
}

#[cfg(test)]
mod tests;
