//! The families of components.

/// The families a scheme draws its components from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// At each fetch.
    Consumer,
    /// In an egress queue: which packets are marked.
    Marker,
    /// An egress queue's order.
    Discipline,
    /// At an out-face: when an Interest may leave.
    Shaper,
    /// At a node: where an Interest goes.
    Strategy,
    /// At a node: what is measured and stamped.
    Meter,
    /// For the network: costs.
    Planner,
}
