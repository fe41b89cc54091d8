//! Sockets under faces: UDP ports shared by the faces to their peers, and streams (TCP, Unix), one each.

pub mod sockets;
pub mod stream;
pub mod udp;
