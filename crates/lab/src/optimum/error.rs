//! Why there is no optimum, or no proof of it.

use good_lp::ResolutionError;

/// A problem that has no max-min fair allocation, or that is too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// There is no flow.
    #[error("no long-lived flow")]
    NoFlow,
    /// Data have no payload.
    #[error("packets without payload")]
    NoPayload,
    /// The computation would take minutes.
    #[error("{flows} flows over {links} links are too many for the solver")]
    TooLarge {
        /// Number of flows.
        flows: usize,
        /// Number of directed links.
        links: usize,
    },
    /// A consumer is at a node that has the content.
    #[error("{0} is at a producer of its prefix, so no link limits it")]
    Local(String),
    /// A flow uses a hop that is not in the problem.
    #[error("{0} is routed over a link that does not exist")]
    UnknownHop(String),
}

/// The solver found no allocation, or has no proof of it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolverError {
    /// No link limits the common rate.
    #[error("the level has no limit")]
    Unlimited,
    /// No flow stops at the level that was reached.
    #[error("no flow is limited")]
    NoFlowLimited,
    /// No link is full at the level that was reached.
    #[error("no link is full")]
    NoLinkFull,
    /// The key path of a flow leaves the basis and no other path replaces it.
    #[error("a path is lost")]
    PathLost,
    /// The simplex took more steps than expected for any network.
    #[error("it did not converge: {open} of {flows} flows open at {level}")]
    Steps {
        /// Flows whose rate could still increase.
        open: usize,
        /// All flows.
        flows: usize,
        /// The rate reached, in 10⁶ bit/s.
        level: f64,
    },
    /// A large network needs more work than is allowed.
    #[error(
        "the network takes more than the allowed work: {open} of {flows} flows could still gain at {level:.3} Mbit/s; \
         fewer flows or links, or routes with fewer next hops, take less"
    )]
    Work {
        /// Flows whose rate could still increase.
        open: usize,
        /// All flows that have a path.
        flows: usize,
        /// The rate reached, in 10⁶ bit/s.
        level: f64,
    },
    /// Interests compete with Data: prices of links differ by more than numbers can hold.
    #[error("the Interests of some flows limit others too strongly for a proof")]
    Interests,
    /// The basis of the simplex has no inverse.
    #[error("the basis is singular")]
    Singular,
    /// Column generation took more rounds than expected for any network.
    #[error("it did not converge")]
    Rounds,
    /// An error of the solver of linear programs.
    #[error(transparent)]
    Program(#[from] ResolutionError),
    /// The allocation is wrong.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The allocation may not be max-min fair: a flow could gain this fraction.
    #[error("a flow could gain {:.1} %", percent(*.0))]
    Gain(f64),
}

/// The errors that the check of an allocation finds. Rates are in 10⁶ bit/s.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CertificateError {
    /// No level contains this flow, although it has a path.
    #[error("nothing limits {0}")]
    NoProof(String),
    /// A path that is not allowed for the flow, or a negative rate on it.
    #[error("{flow} may not take {path:?} with {carried}")]
    Path {
        /// The flow's name.
        flow: String,
        /// Hops from a producer to the consumer.
        path: Vec<usize>,
        /// The rate on the path.
        carried: f64,
    },
    /// The rates on the paths of a flow do not sum up to its rate.
    #[error("{flow} has {rate} but {carried} is carried")]
    Rate {
        /// The flow's name.
        flow: String,
        /// Its rate.
        rate: f64,
        /// The sum of the rates on its paths.
        carried: f64,
    },
    /// A link carries more than its rate.
    #[error("{link} carries {load} of {rate}")]
    Load {
        /// The link's name.
        link: String,
        /// Its load.
        load: f64,
        /// Its rate.
        rate: f64,
    },
    /// A price of a link is negative or not a number.
    #[error("a price of {0}")]
    Price(f64),
    /// Flows of one level have different rates.
    #[error("flows of a level with different rates")]
    UnequalRates,
}

/// Why a problem has no allocation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AllocationError {
    /// The problem is invalid or too large.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The solver failed.
    #[error(transparent)]
    Solver(#[from] SolverError),
}

fn percent(fraction: f64) -> f64 {
    100.0 * fraction
}
