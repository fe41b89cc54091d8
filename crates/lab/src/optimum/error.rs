//! Why there is no optimum, or no proof of one.

use good_lp::ResolutionError;

/// A problem that has no max-min fair allocation, or one that is not sought.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// There is no flow.
    #[error("no long-lived flow")]
    NoFlow,
    /// Data carry nothing.
    #[error("packets without payload")]
    NoPayload,
    /// It would take minutes.
    #[error("{flows} flows over {links} links are too many for the solver")]
    TooLarge {
        /// How many flows.
        flows: usize,
        /// How many directed links.
        links: usize,
    },
    /// A consumer is at a node that has the content.
    #[error("{0} is at a producer of its prefix, so no link limits it")]
    Local(String),
    /// A flow has a hop beyond the problem's.
    #[error("{0} is routed over a link that does not exist")]
    UnknownHop(String),
}

/// A solver that found no allocation, or one without proof.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolverError {
    /// No link ends the rise of the common rate.
    #[error("the level has no limit")]
    Unlimited,
    /// No flow stops at the level that was reached.
    #[error("no flow is limited")]
    NoFlowLimited,
    /// No link is full at the level that was reached.
    #[error("no link is full")]
    NoLinkFull,
    /// The key path of a flow leaves the basis and nothing takes its place.
    #[error("a path is lost")]
    PathLost,
    /// The simplex took more steps than any network needs.
    #[error("it did not converge: {open} of {flows} flows open at {level}")]
    Steps {
        /// Flows that could still rise.
        open: usize,
        /// All flows.
        flows: usize,
        /// The rate reached, in 10⁶ bit/s.
        level: f64,
    },
    /// Column generation took more rounds than any network needs.
    #[error("it did not converge")]
    Rounds,
    /// The solver of linear programs.
    #[error(transparent)]
    Program(#[from] ResolutionError),
    /// The allocation is wrong.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The allocation may not be max-min fair: a flow could gain this fraction.
    #[error("a flow could gain {:.1} %", 100.0 * .0)]
    Gain(f64),
}

/// What a check of an allocation found wrong. Rates are in 10⁶ bit/s.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CertificateError {
    /// No level contains a flow that has a path.
    #[error("nothing limits {0}")]
    NoProof(String),
    /// A path that is not allowed to a flow, or a negative rate on it.
    #[error("{flow} may not take {path:?} with {carried}")]
    Path {
        /// The flow's name.
        flow: String,
        /// Hops from a producer to the consumer.
        path: Vec<usize>,
        /// What it carries.
        carried: f64,
    },
    /// The paths of a flow do not add up to its rate.
    #[error("{flow} has {rate} but {carried} is carried")]
    Rate {
        /// The flow's name.
        flow: String,
        /// Its rate.
        rate: f64,
        /// What its paths carry.
        carried: f64,
    },
    /// A link carries more than its rate.
    #[error("{link} carries {load} of {rate}")]
    Load {
        /// The link's name.
        link: String,
        /// What it carries.
        load: f64,
        /// Its rate.
        rate: f64,
    },
    /// A price of a link that is negative or no number.
    #[error("a price of {0}")]
    Price(f64),
    /// Flows of one level have different rates.
    #[error("flows of a level with different rates")]
    UnequalRates,
}

/// Why a problem has no allocation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AllocationError {
    /// It is not one to solve.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// It was not solved.
    #[error(transparent)]
    Solver(#[from] SolverError),
}
