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
