//! TLV-TYPE numbers of the NFD management protocol.
//!
//! Source: NFD Management protocol (the wiki pages `ControlCommand`, `FaceMgmt`, `FibMgmt`, `RibMgmt`, `CsMgmt`,
//! `StrategyChoice`, `ForwarderStatus`). A number can mean different things in different elements: 129 is LocalUri of
//! a face, StartTimestamp of the status and a Route of the RIB.

#![expect(missing_docs, reason = "the names are those of the protocol")]

pub const CONTROL_PARAMETERS: u32 = 104;
pub const FACE_ID: u32 = 105;
pub const COST: u32 = 106;
pub const STRATEGY: u32 = 107;
pub const FLAGS: u32 = 108;
pub const EXPIRATION_PERIOD: u32 = 109;
pub const ORIGIN: u32 = 111;
pub const MASK: u32 = 112;
pub const URI: u32 = 114;
pub const LOCAL_URI: u32 = 129;
pub const CAPACITY: u32 = 131;
pub const COUNT: u32 = 132;
pub const FACE_PERSISTENCY: u32 = 133;
pub const BASE_CONGESTION_MARKING_INTERVAL: u32 = 135;
pub const DEFAULT_CONGESTION_THRESHOLD: u32 = 136;
pub const MTU: u32 = 137;

pub const CONTROL_RESPONSE: u32 = 101;
pub const STATUS_CODE: u32 = 102;
pub const STATUS_TEXT: u32 = 103;

pub const NFD_VERSION: u32 = 128;
pub const START_TIMESTAMP: u32 = 129;
pub const CURRENT_TIMESTAMP: u32 = 130;
pub const N_NAME_TREE_ENTRIES: u32 = 131;
pub const N_FIB_ENTRIES: u32 = 132;
pub const N_PIT_ENTRIES: u32 = 133;
pub const N_MEASUREMENTS_ENTRIES: u32 = 134;
pub const N_CS_ENTRIES: u32 = 135;

pub const N_IN_INTERESTS: u32 = 144;
pub const N_IN_DATA: u32 = 145;
pub const N_OUT_INTERESTS: u32 = 146;
pub const N_OUT_DATA: u32 = 147;
pub const N_IN_BYTES: u32 = 148;
pub const N_OUT_BYTES: u32 = 149;
pub const N_IN_NACKS: u32 = 151;
pub const N_OUT_NACKS: u32 = 152;
pub const N_SATISFIED_INTERESTS: u32 = 153;
pub const N_UNSATISFIED_INTERESTS: u32 = 154;

/// Ours, after NFD's fields: readers that do not know them skip them (even numbers).
pub const N_ACKNOWLEDGED_FRAMES: u32 = 65_280;
pub const N_RETRANSMITTED_FRAMES: u32 = 65_282;
pub const N_GIVEN_UP_PACKETS: u32 = 65_284;
pub const N_REFUSED_INTERESTS: u32 = 65_286;
pub const N_REFUSED_FOR_MEMORY: u32 = 65_288;
pub const N_MEMORY_DROPS: u32 = 65_290;
pub const N_UNSOLICITED_DATA: u32 = 65_292;

pub const FACE_STATUS: u32 = 128;
pub const CHANNEL_STATUS: u32 = 130;
pub const URI_SCHEME: u32 = 131;
pub const FACE_SCOPE: u32 = 132;
pub const LINK_TYPE: u32 = 134;
pub const FACE_QUERY_FILTER: u32 = 150;
pub const FACE_EVENT_NOTIFICATION: u32 = 192;
pub const FACE_EVENT_KIND: u32 = 193;

pub const CS_INFO: u32 = 128;
pub const N_HITS: u32 = 129;
pub const N_MISSES: u32 = 130;

pub const FIB_ENTRY: u32 = 128;
pub const NEXT_HOP_RECORD: u32 = 129;

pub const STRATEGY_CHOICE: u32 = 128;

pub const RIB_ENTRY: u32 = 128;
pub const ROUTE: u32 = 129;
