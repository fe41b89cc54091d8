//! The computed ceilings that results are set against.

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
    /// Wire bits of Data and Interests over its rate. Where several routings give the same rates, this is one of them,
    /// without needless detours.
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

/// What the links alone allow, by any loop-free ways from any producer.
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
    /// None where there is no optimum.
    pub fn of(optimum: Optimum) -> Option<Physical> {
        let Optimum { total_mbps, jain, consumers, .. } = optimum;
        total_mbps.map(|total_mbps| Physical { total_mbps, jain, consumers })
    }
}

/// How near the flows of a run came to their fair rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attained {
    /// Mean over flows of min(1, goodput over fair goodput).
    pub mean: f64,
    /// The smallest of them.
    pub worst: f64,
}

/// The computed ceiling of a scenario, over the next hops that its routing gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// Why there is none; all other values but `completions` are then absent.
    #[serde(default)]
    pub undefined: Option<String>,
    /// Total goodput of the max-min fair allocation.
    pub total_mbps: Option<f64>,
    /// Jain index of the max-min fair allocation.
    pub jain: Option<f64>,
    /// Largest total goodput of any allocation; not computed for more than 5000 flows times links.
    pub max_total_mbps: Option<f64>,
    /// The max-min fair rates, in the order of the flows.
    pub consumers: Vec<ConsumerOptimum>,
    /// The loads that go with them.
    pub links: Vec<LinkOptimum>,
    /// The same without regard to routing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical: Option<Physical>,
    /// What finite fetches would take, in the order of consumers; there without an optimum, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<IdealCompletion>,
}

impl Optimum {
    /// No optimum, with the reason the report prints, e.g. "routers cache Data".
    pub fn undefined(reason: impl Into<String>) -> Optimum {
        Optimum { undefined: Some(reason.into()), ..Optimum::default() }
    }

    /// How near consumers with these goodputs came to their fair rates; those that can have nothing do not count. None
    /// where there is no fair rate.
    pub fn attained<'a>(&self, goodputs: impl Iterator<Item = (&'a str, f64)>) -> Option<Attained> {
        let of = |(name, goodput): (&'a str, f64)| {
            self.goodput(name).filter(|fair| *fair > 0.0).map(|fair| (goodput / fair).min(1.0))
        };
        let all: Vec<f64> = goodputs.filter_map(of).collect();
        let worst = all.iter().copied().min_by(f64::total_cmp)?;
        Some(Attained { mean: all.iter().sum::<f64>() / all.len() as f64, worst })
    }

    /// How many times as long as ideal a fetch took.
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
