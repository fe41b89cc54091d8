//! The shipped schemes.

use serde_json::{Value, json};

/// A shipped scheme: name, summary, composition.
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) composition: fn() -> Value,
}

/// The named schemes, in the order they are listed.
pub(super) const NAMED: &[Named] = &[
    Named {
        name: "measured",
        summary: "BIC over forwarders that mark 5 ms of measured delay and share among equal next hops",
        composition: measured,
    },
    Named {
        name: "plain",
        summary: "BIC over best-route and queues that mark nothing: what most forwarders do today",
        composition: || json!({ "consumer": "bic" }),
    },
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
        name: "bbr-v1",
        summary: "BBR of 2016 for NDN: Interests paced at the largest recent rate of Data, over queues that mark nothing",
        composition: || json!({ "consumer": "bbr-v1" }),
    },
    Named {
        name: "bbr",
        summary: "BBR version 3 for NDN: bounds by losses and marks beside rate and delay, over queues that mark nothing",
        composition: || json!({ "consumer": "bbr" }),
    },
    Named {
        name: "copa",
        summary: "Copa of NSDI 2018: windows by the delay that consumers see, over queues that mark nothing",
        composition: || json!({ "consumer": "copa" }),
    },
    Named {
        name: "vivace",
        summary: "PCC Vivace of NSDI 2018: rates by the gradient of a utility, over queues that mark nothing",
        composition: || json!({ "consumer": "vivace" }),
    },
    Named {
        name: "prague",
        summary: "Prague over DualPI2, the scheme of L4S: cuts in proportion to marks from a millisecond of queue",
        composition: || json!({ "consumer": "prague", "discipline": "dualpi2", "meter": "low-latency" }),
    },
    Named {
        name: "e2e-aqm",
        summary: "end-to-end AQM of Vigo, 2023: routers tell delay and rate of a link, consumers run CoDel on them",
        composition: || json!({ "consumer": "e2e-aqm", "marker": "e2e-aqm", "strategy": "best-route", "interest-marks": "ignore" }),
    },
    Named {
        name: "dpccp",
        summary: "stands in for DPCCP: a rate for each path by its delay, marks while a queue does not empty",
        composition: || json!({ "consumer": "dpccp", "marker": "dpccp", "strategy": "ptp", "meter": "path-label" }),
    },
    Named {
        name: "ptp",
        summary: "stands in for PTP: a window for each path, and routers that send Interests along its label",
        composition: || json!({ "consumer": "ptp", "strategy": "ptp", "meter": "path-label" }),
    },
    Named {
        name: "lia",
        summary: "multipath TCP's linked increases (RFC 6356): a coupled window for each path, Interests led by labels",
        composition: || coupled("lia"),
    },
    Named {
        name: "olia",
        summary: "multipath TCP's opportunistic linked increases: lia that moves to the paths with the fewest losses",
        composition: || coupled("olia"),
    },
    Named {
        name: "balia",
        summary: "multipath TCP's balanced linked adaptation: gain and cut by a path's rate beside that of the fastest",
        composition: || coupled("balia"),
    },
    Named {
        name: "mpcc",
        summary: "stands in for MPCC: a rate for each path, learned by a utility of all, over queues that mark nothing",
        composition: || json!({ "consumer": "mpcc", "strategy": "ptp", "meter": "path-label" }),
    },
    Named {
        name: "ictp",
        summary: "stands in for ICTP: TCP's congestion control at the receiver, over queues that mark nothing",
        composition: || json!({ "consumer": "ictp" }),
    },
    Named {
        name: "cctcp",
        summary: "stands in for CCTCP: a window and a timer for each source of Data, without anticipated Interests",
        composition: || {
            let meter = json!({ "name": "path-label", "form": "hashed" });
            json!({ "consumer": "cctcp", "meter": meter })
        },
    },
    Named {
        name: "ecp",
        summary: "stands in for ECP: three states from pending Interests, MIAIMD windows, NACKs while congested",
        composition: || json!({ "consumer": "ecp", "shaper": "ecp" }),
    },
    Named {
        name: "chopcop",
        summary: "stands in for CHoPCoP: random early marks, Interests at fair shares while queues are long",
        composition: chopcop,
    },
    Named {
        name: "weir",
        summary: "the default: levels that routers count and Data carry: consumers pace at them, nodes split by them",
        composition: || {
            let discipline = json!({ "name": "fq-codel", "first-part": 0.5, "spare-rated": true });
            json!({ "consumer": "weir", "meter": "weir", "strategy": "weir", "discipline": discipline })
        },
    },
    Named {
        name: "rcp",
        summary: "RCP of Dukkipati and McKeown: one rate per link in Data, consumers send at the least of them",
        composition: || json!({ "consumer": "rcp", "meter": "rcp" }),
    },
    Named {
        name: "mircc",
        summary: "MIRCC with two classes: two rates per link in Data, Interests led by path labels and paced at every face",
        composition: || mircc(true),
    },
    Named {
        name: "mircc-single",
        summary: "MIRCC with one class: as much over all paths together as the best one grants",
        composition: || mircc(false),
    },
    Named {
        name: "qsccp",
        summary: "QSCCP: Interests scheduled by class of service and flow, a rate for each flow in its Data",
        composition: || json!({ "consumer": "qsccp", "shaper": "qsccp" }),
    },
    Named {
        name: "dscpc",
        summary: "stands in for DSCPC of the same authors, whose law is not public: QSCCP under another name",
        composition: || json!({ "consumer": "qsccp", "shaper": "dscpc" }),
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
        name: "packet-train",
        summary: "pcon-aimd that takes its first window from packet trains, which measure what others leave of the path",
        composition: || {
            let consumer = json!({ "name": "aimd", "startup": { "kind": "packet-train" } });
            json!({ "base": "pcon-aimd", "consumer": consumer })
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
        name: "ndnsieve-settled",
        summary: "ndnSieve whose controller settles: paths are compared with the load that would move (ours)",
        composition: || {
            let mut settled = sieve(json!({ "step": "per-window" }), json!({ "packets": 9 }));
            settled["planner"] = json!({ "name": "ndnsieve", "moved-load": true });
            settled
        },
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

/// HbHCM and BIC as fitted to real paths: what `weir` does over links of unknown rate; of the fetch's settings the
/// consumer alone.
///
/// HbHCM + PAQM with 10 ms as the first interval instead of 100: chosen by measurement, see docs/measurements/links.md. The
/// least delay counts for 10 s only, as BBR has it, since a path that becomes longer would be marked forever. Noise of
/// the hop, such as jitter, is not treated as a queue: without that it collapses over jitter. A neighbour that
/// writes no wait into its Data does not measure; it is not treated as a producer, so hops to it are not measured.
fn measured() -> Value {
    let meter = json!({
        "name": "hbhcm", "interval": "10ms", "base-window": "10s", "noise-window": "10s", "plain-ends": false
    });
    json!({ "consumer": "bic", "meter": meter, "strategy": "overflow" })
}

/// ICP's timer fires before many answers arrive; as in CCN, PITs absorb retransmissions while the name is pending.
fn absorbing_route() -> Value {
    json!({ "name": "best-route", "suppression": { "initial": "1s", "max": "1s" } })
}

/// The consumer's timer is the Interest's lifetime, without an estimate of the round trip: what the scheme is made for.
fn chopcop() -> Value {
    let timer = json!({ "min": "2s", "max": "2s", "initial": "2s" });
    let consumer = json!({ "name": "aimd", "reaction": { "recovery": 0.0 }, "timer": timer });
    json!({ "consumer": consumer, "marker": "chopcop", "shaper": "chopcop" })
}

/// Multipath TCP's windows over queues that mark before they overflow, since a lost Data shows by a timeout only.
fn coupled(coupling: &str) -> Value {
    let consumer = json!({ "name": "coupled", "coupling": coupling });
    json!({ "consumer": consumer, "marker": "codel", "strategy": "ptp", "meter": "path-label" })
}

/// MIRCC, with its secondary class or without.
fn mircc(dual: bool) -> Value {
    json!({
        "consumer": { "name": "mircc", "dual": dual },
        "shaper": { "name": "mircc", "dual": dual },
        "strategy": "mircc",
        "meter": { "name": "path-label", "form": "hashed" },
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::hbhcm;

    #[test]
    fn weir_marks_links_of_unknown_rate_as_the_default_does() {
        let mut meter = measured()["meter"].clone();
        assert!(meter.as_object_mut().is_some_and(|meter| meter.remove("name").is_some()));
        assert_eq!(serde_json::from_value(meter).ok(), Some(hbhcm::Params::deployed()));
    }
}
