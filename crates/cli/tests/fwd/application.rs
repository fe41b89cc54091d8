//! A small application: requests segments, or answers for them.

use crate::process::{Fwd, PATIENCE};
use ndnweir_net::framing::Deframer;
use ndnweir_net::mgmt::{CommandFormat, ControlParameters, ControlResponse, Freshness, command_name, sign_command};
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, DataView, InterestBuilder, InterestView, LpPacketView, NackReason, Name};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

static NONCE: AtomicU32 = AtomicU32::new(1);

/// Bytes of content in a segment.
const SEGMENT: usize = 8000;
/// Interests that the consumer keeps pending.
const WINDOW: usize = 32;
/// After this long without an answer it retransmits.
const AGAIN: Duration = Duration::from_millis(1000);

/// Bytes that do not repeat soon.
pub fn object(len: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

fn segment(name: &str, number: usize) -> Name {
    name.parse::<Name>().unwrap().with(Component::segment(number as u64))
}

pub struct App {
    stream: UnixStream,
    deframer: Deframer,
}

impl App {
    pub fn connect(fwd: &Fwd) -> App {
        let stream = UnixStream::connect(fwd.socket()).unwrap();
        stream.set_read_timeout(Some(AGAIN)).unwrap();
        App { stream, deframer: Deframer::new() }
    }

    /// The next packet: its bytes and why it comes back, if it does. None when nothing comes for a while.
    fn next(&mut self) -> Option<(Vec<u8>, Option<NackReason>)> {
        loop {
            if let Some(frame) = self.deframer.next_frame().unwrap() {
                let view = LpPacketView::decode(frame).unwrap();
                return Some((view.fragment.unwrap().to_vec(), view.nack));
            }
            let mut buffer = [0; 65_536];
            match self.stream.read(&mut buffer) {
                Ok(0) => panic!("the forwarder closed the connection"),
                Ok(read) => self.deframer.push(&buffer[..read]),
                Err(_) => return None,
            }
        }
    }

    fn interest(&mut self, name: &Name, prefix: bool) {
        // No two applications have the same nonce, or one's Interest would seem to be the other's in a loop.
        let nonce = NONCE.fetch_add(1, Ordering::Relaxed).wrapping_mul(2_654_435_761).to_be_bytes();
        let interest = InterestBuilder::new(name.as_view()).nonce(nonce).can_be_prefix(prefix).must_be_fresh(prefix);
        self.stream.write_all(&interest.encode().unwrap()).unwrap();
    }

    /// Requests one packet: its content, or the NACK's reason, or nothing.
    pub fn ask(&mut self, name: &str) -> Result<Vec<u8>, Option<NackReason>> {
        self.interest(&name.parse().unwrap(), false);
        self.answer()
    }

    /// As [`App::ask`], for whatever name begins so.
    pub fn ask_prefix(&mut self, name: &str) -> Result<Vec<u8>, Option<NackReason>> {
        self.interest(&name.parse().unwrap(), true);
        self.answer()
    }

    pub fn answer(&mut self) -> Result<Vec<u8>, Option<NackReason>> {
        match self.next() {
            Some((packet, None)) => Ok(DataView::decode(&packet).unwrap().content().to_vec()),
            Some((_, reason)) => Err(reason),
            None => Err(None),
        }
    }

    /// Sends these bytes.
    pub fn send(&mut self, packet: &[u8]) {
        self.stream.write_all(packet).unwrap();
    }

    /// Waits for an Interest.
    pub fn wait_for_interest(&mut self) {
        crate::process::wait_for("an Interest", || self.next().is_some());
    }

    /// Sends a Data, requested or not.
    pub fn answer_with(&mut self, name: &str, content: &[u8]) {
        let name: Name = name.parse().unwrap();
        let data = DataBuilder::new(name.as_view()).content(content).sign(&DigestSha256).unwrap();
        self.send(&data);
    }

    /// Sends a command as it is: the code of the answer.
    pub fn command(&mut self, interest: &[u8]) -> u32 {
        self.send(interest);
        ControlResponse::decode(&self.answer().unwrap()).unwrap().code
    }

    /// Fetches an object of known length.
    pub fn fetch(&mut self, name: &str, len: usize) -> Vec<u8> {
        let count = len.div_ceil(SEGMENT);
        let mut found: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        let mut pending: BTreeMap<usize, Instant> = BTreeMap::new();
        let mut next = 0;
        let start = Instant::now();
        while found.len() < count {
            assert!(start.elapsed() < PATIENCE, "{} of {count} segments in time", found.len());
            let late = pending.iter().find(|(_, sent)| sent.elapsed() > AGAIN).map(|(&number, _)| number);
            if let Some(number) = late {
                pending.insert(number, Instant::now());
                self.interest(&segment(name, number), false);
            } else if pending.len() < WINDOW && next < count {
                pending.insert(next, Instant::now());
                self.interest(&segment(name, next), false);
                next += 1;
            } else if let Some((packet, None)) = self.next() {
                let data = DataView::decode(&packet).unwrap();
                let number = data.name().last().unwrap().as_segment().unwrap() as usize;
                pending.remove(&number);
                found.insert(number, data.content().to_vec());
            }
        }
        found.into_values().flatten().collect()
    }

    pub fn register(&mut self, name: &str) {
        let parameters = ControlParameters::of_name(name.parse().unwrap());
        let top: Name = "/localhost/nfd".parse().unwrap();
        let command = command_name(top.as_view(), "rib", "register", &parameters);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let freshness = Freshness { nonce: [7; 8], time };
        let format = CommandFormat::SignedInterest;
        let lifetime = Duration::from_secs(4);
        let interest = sign_command(command.as_view(), format, &DigestSha256, freshness, lifetime).unwrap();
        self.stream.write_all(&interest).unwrap();
        let answer = ControlResponse::decode(&self.answer().unwrap()).unwrap();
        assert_eq!(answer.code, 200, "{}", answer.text);
    }
}

/// Publishes an object until the forwarder or the test ends.
pub fn producer(fwd: &Fwd, name: &str, bytes: &[u8]) -> std::thread::JoinHandle<()> {
    let mut app = App::connect(fwd);
    app.register(name);
    app.stream.set_read_timeout(None).unwrap();
    let chunks = bytes.chunks(SEGMENT).enumerate();
    let data = |(i, chunk): (usize, &[u8])| {
        let name = segment(name, i);
        let data = DataBuilder::new(name.as_view()).content(chunk).sign(&DigestSha256).unwrap();
        (name, data)
    };
    let packets: BTreeMap<Name, Vec<u8>> = chunks.map(data).collect();
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(read @ 1..) = app.stream.read(&mut buffer) {
            app.deframer.push(&buffer[..read]);
            while let Ok(Some(frame)) = app.deframer.next_frame() {
                let Ok(view) = LpPacketView::decode(frame) else { return };
                let Some(Ok(interest)) = view.fragment.map(InterestView::decode) else { continue };
                if let Some(data) = packets.get(interest.name().as_bytes())
                    && app.stream.write_all(data).is_err()
                {
                    return;
                }
            }
        }
    })
}
