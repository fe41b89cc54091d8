//! The container of packet traces: pcapng blocks, and the Ethernet, IPv6 and UDP headers around each packet.
//!
//! Every node has one MAC address, `02:4e` and its number, and one IPv6 address, `fd4e:444e::` and its number from 1
//! on; a name resolution block gives the node's name. Every direction of a link is an interface.

use crate::observer::{DirectedLinkId, NodeId};
use ndnweir_core::units::{Rate, Time};
use std::io::{self, Write};
use std::net::Ipv6Addr;

/// The UDP port of NDN, at both ends.
pub const PORT: u16 = 6363;
/// Bytes of Ethernet, IPv6 and UDP headers.
pub const HEADERS: usize = 14 + 40 + 8;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;
const SNAP_LENGTH: u32 = 1 << 20;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const UDP: u8 = 17;
/// Options: of a section, its writer; of an interface, name, description, MAC address, bit/s and digits of a second; of
/// a packet, its direction.
const WRITER: u16 = 4;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const MAC: u16 = 6;
const SPEED: u16 = 8;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
const OUTBOUND: u32 = 2;
/// A record of a name resolution block.
const IPV6: u16 = 2;

/// The network of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// Names by [`NodeId`].
    pub nodes: Vec<String>,
    /// By [`DirectedLinkId`].
    pub interfaces: Vec<Interface>,
}

/// A direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Its name, e.g. `R1>R2`.
    pub name: String,
    /// What else there is to say.
    pub description: String,
    /// Who sends on it.
    pub from: NodeId,
    /// How fast, if it has a rate.
    pub rate: Option<Rate>,
}

/// A node's MAC address: locally administered.
pub fn mac(node: NodeId) -> [u8; 6] {
    let [a, b, c, d] = node.0.to_be_bytes();
    [0x02, 0x4e, a, b, c, d]
}

/// A node's IPv6 address: of a unique local prefix.
pub fn ipv6(node: NodeId) -> Ipv6Addr {
    let number = u128::from(node.0) + 1;
    Ipv6Addr::from(0xfd4e_444e_u128 << 96 | number)
}

/// Appends an option, or a record of a name resolution block.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Names are short; a long one is cut, so that the file stays valid.
    let value = &value[..value.len().min(usize::from(u16::MAX) - 3)];
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Ends a list of options or records.
fn end(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = (body.len() + 12) as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&length.to_le_bytes())
}

/// Writes the blocks before the packets: the section's head, the interfaces and the nodes' names.
///
/// # Errors
/// If writing fails.
pub fn head(out: &mut impl Write, capture: &Capture) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(BYTE_ORDER.to_le_bytes());
    body.extend([1, 0, 0, 0]);
    // The length of the section is not known yet.
    body.extend([0xff; 8]);
    option(&mut body, WRITER, concat!("ndnweir ", env!("CARGO_PKG_VERSION")).as_bytes());
    end(&mut body);
    block(out, SECTION, &body)?;
    for Interface { name, description, from, rate } in &capture.interfaces {
        body.clear();
        body.extend(LINKTYPE_ETHERNET.to_le_bytes());
        body.extend([0; 2]);
        body.extend(SNAP_LENGTH.to_le_bytes());
        option(&mut body, NAME, name.as_bytes());
        option(&mut body, DESCRIPTION, description.as_bytes());
        option(&mut body, MAC, &mac(*from));
        if let Some(rate) = rate {
            option(&mut body, SPEED, &rate.bps().to_le_bytes());
        }
        option(&mut body, RESOLUTION, &[9]);
        end(&mut body);
        block(out, INTERFACE, &body)?;
    }
    body.clear();
    for (number, name) in capture.nodes.iter().enumerate() {
        let mut record = ipv6(NodeId(number as u32)).octets().to_vec();
        record.extend(name.as_bytes());
        record.push(0);
        option(&mut body, IPV6, &record);
    }
    end(&mut body);
    block(out, NAMES, &body)
}

/// Writes a packet on `link`, whose frame is [`frame`]'s and was `original` bytes long.
///
/// # Errors
/// If writing fails.
pub fn packet(out: &mut impl Write, at: Time, link: DirectedLinkId, frame: &[u8], original: u32) -> io::Result<()> {
    let nanos = at.nanos();
    let mut body = Vec::with_capacity(frame.len() + 48);
    for word in [link.0, (nanos >> 32) as u32, nanos as u32, frame.len() as u32, original] {
        body.extend(word.to_le_bytes());
    }
    body.extend(frame);
    pad(&mut body);
    option(&mut body, FLAGS, &OUTBOUND.to_le_bytes());
    end(&mut body);
    block(out, PACKET, &body)
}

/// The Ethernet frame with a UDP datagram from one node to another.
pub fn frame([from, to]: [NodeId; 2], payload: &[u8]) -> Vec<u8> {
    let length = payload.len() + 8;
    // A datagram that is too long for its length field has zero there (RFC 2675).
    let field = u16::try_from(length).unwrap_or(0).to_be_bytes();
    let (source, target) = (ipv6(from).octets(), ipv6(to).octets());
    let mut frame = Vec::with_capacity(HEADERS + payload.len());
    frame.extend(mac(to));
    frame.extend(mac(from));
    frame.extend(ETHERTYPE_IPV6.to_be_bytes());
    frame.extend([0x60, 0, 0, 0]);
    frame.extend(field);
    frame.extend([UDP, 64]);
    frame.extend(source);
    frame.extend(target);
    frame.extend(PORT.to_be_bytes());
    frame.extend(PORT.to_be_bytes());
    frame.extend(field);
    let pseudo = sum(&source) + sum(&target) + length as u64 + u64::from(UDP);
    let ports = 2 * u64::from(PORT) + u64::from(u16::from_be_bytes(field));
    frame.extend(checksum(pseudo + ports + sum(payload)).to_be_bytes());
    frame.extend(payload);
    frame
}

/// The sum of 16-bit words; an odd byte at the end is the upper half of one.
fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    bytes.chunks(2).map(word).sum()
}

/// The Internet checksum of a sum; UDP writes zero, which stands for none, as all ones.
fn checksum(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xffff,
        checksum => checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a file as type and body; checks that both lengths of each agree and that they fill the file.
    fn blocks(file: &[u8]) -> Vec<(u32, &[u8])> {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let (mut at, mut found) = (0, Vec::new());
        while at < file.len() {
            let length = word(at + 4) as usize;
            assert!(length.is_multiple_of(4) && word(at + length - 4) as usize == length);
            found.push((word(at), &file[at + 8..at + length - 4]));
            at += length;
        }
        found
    }

    fn capture() -> Capture {
        let interface = |from: u32, name: &str, rate: Option<Rate>| Interface {
            name: name.into(),
            description: "a link".into(),
            from: NodeId(from),
            rate,
        };
        let interfaces = vec![interface(0, "R1>R2", Some(Rate::from_mbps(10.0))), interface(1, "R2>R1", None)];
        Capture { nodes: vec!["R1".into(), "R2".into()], interfaces }
    }

    #[test]
    fn the_head_names_interfaces_and_nodes() {
        let mut file = Vec::new();
        head(&mut file, &capture()).unwrap();
        let blocks = blocks(&file);
        assert_eq!(blocks.iter().map(|b| b.0).collect::<Vec<_>>(), [SECTION, INTERFACE, INTERFACE, NAMES]);
        let has = |block: usize, part: &[u8]| blocks[block].1.windows(part.len()).any(|window| window == part);
        assert!(has(1, b"\x02\0\x05\0R1>R2\0\0\0") && has(2, b"\x02\0\x05\0R2>R1\0\0\0"));
        assert!(has(1, &[8, 0, 8, 0, 0x80, 0x96, 0x98, 0]) && !has(2, &[8, 0, 8, 0]), "10 Mbit/s, and no rate");
        assert!(has(2, &[6, 0, 6, 0, 2, 0x4e, 0, 0, 0, 1]), "the sender's MAC address");
        let mut record = vec![2, 0, 19, 0];
        record.extend("fd4e:444e::2".parse::<Ipv6Addr>().unwrap().octets());
        record.extend(b"R2\0\0");
        assert!(has(3, &record));
    }

    #[test]
    fn frames_go_between_the_nodes_addresses_with_a_valid_checksum() {
        for payload in [&b"odd"[..], b"even", b"", &[0xff; 1001]] {
            let frame = frame([NodeId(0), NodeId(258)], payload);
            assert_eq!(frame.len(), HEADERS + payload.len());
            assert_eq!((&frame[..6], &frame[6..12]), (&[2, 0x4e, 0, 0, 1, 2][..], &[2, 0x4e, 0, 0, 0, 0][..]));
            let (addresses, udp) = (&frame[22..54], &frame[54..]);
            assert_eq!(u16::from_be_bytes([frame[18], frame[19]]) as usize, udp.len());
            let mut total = sum(addresses) + udp.len() as u64 + u64::from(UDP) + sum(udp);
            while total > 0xffff {
                total = (total & 0xffff) + (total >> 16);
            }
            assert_eq!(total, 0xffff, "{} bytes", payload.len());
        }
    }

    #[test]
    fn a_packet_says_when_where_and_how_long_it_was() {
        let mut file = Vec::new();
        packet(&mut file, Time::from_nanos(5_000_000_007), DirectedLinkId(3), b"frame", 99).unwrap();
        let [(kind, body)] = blocks(&file)[..] else { panic!("one block") };
        let word = |i: usize| u32::from_le_bytes(body[4 * i..4 * i + 4].try_into().unwrap());
        assert_eq!((kind, word(0), word(3), word(4)), (PACKET, 3, 5, 99));
        assert_eq!(u64::from(word(1)) << 32 | u64::from(word(2)), 5_000_000_007);
        assert_eq!(&body[20..28], b"frame\0\0\0");
        assert_eq!(body[28..36], [2, 0, 4, 0, 2, 0, 0, 0], "outbound");
    }
}
