//! The computed optimum that results are compared with.

use serde::{Deserialize, Serialize};

/// A consumer's rate in the optimum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsumerOptimum {
    /// The consumer.
    pub name: String,
    /// Its goodput.
    pub goodput_mbps: f64,
}

/// A link's load in the optimum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkOptimum {
    /// The link direction.
    pub name: String,
    /// Wire bits of Data and Interests over its rate. If several routings give the same rates, this is one of them,
    /// without unnecessary detours.
    pub utilization: f64,
}

/// A finite fetch at ideal rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdealCompletion {
    /// The consumer.
    pub name: String,
    /// From its start to its last Data when all fetches have max-min fair rates at every instant.
    pub completion_s: f64,
}

/// The optimum over any loop-free paths from any producer, limited only by the links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Physical {
    /// Total goodput of the max-min fair allocation.
    pub total_mbps: f64,
    /// Its Jain index.
    pub jain: Option<f64>,
    /// Its rates, in the order of the flows.
    pub consumers: Vec<ConsumerOptimum>,
}

impl Physical {
    /// `None` if there is no optimum, or if it is an estimate.
    pub fn of(optimum: Optimum) -> Option<Physical> {
        let Optimum { total_mbps, jain, consumers, estimate, .. } = optimum;
        let proved = total_mbps.filter(|_| estimate.is_none());
        proved.map(|total_mbps| Physical { total_mbps, jain, consumers })
    }
}

/// How close the flows of a run came to their fair rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attained {
    /// Mean over flows of min(1, goodput over fair goodput).
    pub mean: f64,
    /// The smallest of these values.
    pub worst: f64,
}

/// The computed optimum of a scenario, over the next hops of its routing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// Why it is undefined; all other values except `completions` are then absent.
    #[serde(default)]
    pub undefined: Option<String>,
    /// What is known about rates that are not proved to be max-min fair; `None` if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<String>,
    /// Total goodput of the max-min fair allocation.
    pub total_mbps: Option<f64>,
    /// Jain index of the max-min fair allocation.
    pub jain: Option<f64>,
    /// Largest total goodput of any allocation; not computed for more than 5000 flows times links.
    pub max_total_mbps: Option<f64>,
    /// The max-min fair rates, in the order of the flows.
    pub consumers: Vec<ConsumerOptimum>,
    /// The corresponding loads.
    pub links: Vec<LinkOptimum>,
    /// The optimum without regard to routing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical: Option<Physical>,
    /// Ideal completion times of finite fetches, in the order of consumers; also present if the optimum is undefined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<IdealCompletion>,
}

impl Optimum {
    /// An undefined optimum, with the reason that the report prints, e.g. "routers cache Data".
    pub fn undefined(reason: impl Into<String>) -> Optimum {
        Optimum { undefined: Some(reason.into()), ..Optimum::default() }
    }

    /// How close consumers with these goodputs came to their fair rates; consumers with a fair rate of zero do not
    /// count. `None` if there is no fair rate.
    pub fn attained<'a>(&self, goodputs: impl Iterator<Item = (&'a str, f64)>) -> Option<Attained> {
        let of = |(name, goodput): (&'a str, f64)| {
            self.goodput(name).filter(|fair| *fair > 0.0).map(|fair| (goodput / fair).min(1.0))
        };
        let all: Vec<f64> = goodputs.filter_map(of).collect();
        let worst = all.iter().copied().min_by(f64::total_cmp)?;
        Some(Attained { mean: all.iter().sum::<f64>() / all.len() as f64, worst })
    }

    /// Completion time of a fetch over its ideal completion time.
    pub fn slowdown(&self, consumer: &str, completion_s: f64) -> Option<f64> {
        let ideal = self.ideal_completion(consumer).filter(|ideal| *ideal > 0.0)?;
        Some(completion_s / ideal)
    }

    /// The ideal completion of a consumer's fetch, in s.
    pub fn ideal_completion(&self, consumer: &str) -> Option<f64> {
        self.completions.iter().find(|c| c.name == consumer).map(|c| c.completion_s)
    }

    /// The rate of a consumer in 10⁶ bit/s.
    pub fn goodput(&self, consumer: &str) -> Option<f64> {
        self.consumers.iter().find(|c| c.name == consumer).map(|c| c.goodput_mbps)
    }
}
