//! The messages of Perfetto's trace format that are written here (`protos/perfetto/trace/` of Perfetto), with their
//! numbers.

/// Kinds of [`TrackEvent`].
pub mod kind {
    /// A slice begins.
    pub const BEGIN: i32 = 1;
    /// The slice of a track that began last ends.
    pub const END: i32 = 2;
    /// Something happens, and takes no time.
    pub const INSTANT: i32 = 3;
    /// A counter has a new value.
    pub const COUNTER: i32 = 4;
}

/// A file: messages of this kind one after the other are one.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// What it holds.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// An event, or a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// In ns.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Who wrote it; one writer here.
    #[prost(uint32, tag = "10")]
    pub trusted_packet_sequence_id: u32,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A line of the display.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub uuid: u64,
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// If it stands for a process.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// The track that it belongs to.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// If it is a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A process: here a node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessDescriptor {
    /// Its number.
    #[prost(int32, tag = "1")]
    pub pid: i32,
    /// Its name.
    #[prost(string, tag = "6")]
    pub process_name: String,
}

/// A counter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterDescriptor {
    /// What it counts in.
    #[prost(string, tag = "6")]
    pub unit_name: String,
}

/// Something on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// What more is known.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// See [`kind`].
    #[prost(int32, tag = "9")]
    pub r#type: i32,
    /// Where.
    #[prost(uint64, tag = "11")]
    pub track_uuid: u64,
    /// For queries.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// What.
    #[prost(string, tag = "23")]
    pub name: String,
    /// Of a counter.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Arrows go from a slice to the next one with the same number.
    #[prost(fixed64, repeated, tag = "47")]
    pub flow_ids: Vec<u64>,
    /// The same, and the arrow ends here.
    #[prost(fixed64, repeated, tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// A detail of an event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// Its name.
    #[prost(string, tag = "10")]
    pub name: String,
    /// If it is a whole number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// If it is a number.
    #[prost(double, optional, tag = "5")]
    pub double_value: Option<f64>,
}
