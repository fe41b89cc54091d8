//! A video player that fetches chunk after chunk, each in a bitrate of its choice.
//!
//! A video is divided into chunks of equal playing time, each of which exists in every bitrate of a *ladder*. The player
//! has one chunk under way at a time and keeps what it has not yet shown in its *buffer*.

mod rules;

use crate::observer::FlowEvent;
use ndnweir_core::units::{Duration, Rate, Time};
pub use rules::BitrateRule;
use rules::Memory;
use serde::Serialize;

/// Most bitrates of a ladder.
pub const MAX_BITRATES: usize = 64;
/// Most chunks of a video, and of a run of live video.
pub const MAX_CHUNKS: u64 = 1 << 20;

/// A player and its video.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Player {
    /// Playing time of a chunk.
    pub chunk: Duration,
    /// The bitrates, rising; at most [`MAX_BITRATES`].
    pub ladder: Vec<Rate>,
    /// How it chooses among them.
    pub rule: BitrateRule,
    /// It requests no chunk that would not fit.
    pub buffer: Duration,
    /// So much video in the buffer begins or resumes the playing.
    pub play_at: Duration,
    /// What it shows.
    pub video: Video,
}

/// Where chunks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Video {
    /// Chunk *i* exists once it has been made, which takes its playing time; the first is begun at the start of the run.
    Live,
    /// All chunks exist. One video after another is shown to its end.
    OnDemand {
        /// How many chunks a video has; none ends.
        chunks: Option<u32>,
    },
}

impl Player {
    /// Content bytes of a chunk.
    pub fn bytes(&self, level: usize) -> u64 {
        let bits = u128::from(self.ladder[level].bps()) * u128::from(self.chunk.nanos());
        u64::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
    }

    /// Why it is none; `None` if it is sound.
    pub fn fault(&self) -> Option<&'static str> {
        let ladder = &self.ladder;
        if self.chunk == Duration::ZERO {
            Some("its chunks take no time")
        } else if ladder.is_empty() || ladder.len() > MAX_BITRATES || ladder[0].bps() == 0 {
            Some("it has no bitrate, one of zero, or more than 64")
        } else if !ladder.windows(2).all(|pair| pair[0] < pair[1]) {
            Some("its bitrates do not rise")
        } else if self.play_at == Duration::ZERO || self.buffer < self.play_at.max(self.chunk) {
            Some("its buffer has no room for a chunk, or for what it plays at")
        } else if matches!(self.video, Video::OnDemand { chunks: Some(0) }) {
            Some("its videos have no chunks")
        } else {
            None
        }
    }

    /// Chunks that a live player is behind the newest when it begins: it has enough to play as soon as it has these.
    fn behind(&self) -> u64 {
        self.play_at.nanos().div_ceil(self.chunk.nanos()).max(1)
    }
}

/// A chunk that has been requested.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct UnderWay {
    at: Time,
    bits: u64,
}

/// The state of a player.
#[derive(Debug, ndnweir_state::Value)]
pub(crate) struct Playback {
    /// The video's place in a catalogue.
    rank: Option<u32>,
    /// The chunk that is requested next, or under way.
    chunk: u64,
    under_way: Option<UnderWay>,
    /// The bitrate of the last chunk.
    level: Option<u64>,
    memory: Memory,
    /// What was in the buffer at `at`.
    buffered: Duration,
    at: Time,
    plays: bool,
    /// Whether a video is open.
    is_open: bool,
    /// When the next chunk is requested.
    asks: Time,
    said: Vec<FlowEvent>,
}

impl Playback {
    pub(crate) fn new() -> Playback {
        Playback {
            rank: None,
            chunk: 0,
            under_way: None,
            level: None,
            memory: Memory::default(),
            buffered: Duration::ZERO,
            at: Time::ZERO,
            plays: false,
            is_open: false,
            asks: Time::NEVER,
            said: Vec::new(),
        }
    }

    /// Opens a video.
    pub(crate) fn open(&mut self, player: &Player, now: Time, rank: Option<u32>) {
        let chunk = match player.video {
            Video::Live => (now.nanos() / player.chunk.nanos()).saturating_sub(player.behind()),
            Video::OnDemand { .. } => 0,
        };
        // What it has learnt of the network outlives the video.
        let (memory, said) = (std::mem::take(&mut self.memory), std::mem::take(&mut self.said));
        *self =
            Playback { rank, chunk, at: now, is_open: true, memory: memory.of_next_video(), said, ..Playback::new() };
        self.said.push(FlowEvent::Opened);
        self.asks = self.next_request(player, now);
    }

    /// Nothing more is requested or shown.
    pub(crate) fn close(&mut self) {
        if self.is_open {
            self.said.push(FlowEvent::Closed);
        }
        (self.is_open, self.plays, self.asks) = (false, false, Time::NEVER);
    }

    /// When something happens next: a request, or the last of the buffer has been shown.
    pub(crate) fn due(&self) -> Time {
        if self.plays { self.asks.min(self.at + self.buffered) } else { self.asks }
    }

    /// What has been shown by now; whether that was the end of the video.
    pub(crate) fn advance(&mut self, player: &Player, now: Time) -> bool {
        let past = now.since(self.at);
        self.at = self.at.max(now);
        if !self.plays {
            return false;
        }
        if past < self.buffered {
            self.buffered = self.buffered - past;
            return false;
        }
        (self.buffered, self.plays) = (Duration::ZERO, false);
        let ends = self.is_complete(player);
        if ends {
            self.close();
        } else {
            self.said.push(FlowEvent::Stalled);
        }
        ends
    }

    /// Whether all chunks have come.
    fn is_complete(&self, player: &Player) -> bool {
        matches!(player.video, Video::OnDemand { chunks: Some(chunks) } if self.chunk >= u64::from(chunks))
    }

    /// Chooses the bitrate of the chunk that is requested now, if there is one, and tells its bytes.
    pub(crate) fn ask(&mut self, player: &Player, now: Time) -> Option<u64> {
        if self.asks > now {
            return None;
        }
        let shown = if self.plays { now.since(self.at).min(self.buffered) } else { Duration::ZERO };
        let (last, left) = (self.level.map(|level| level as usize), self.buffered - shown);
        let level = self.memory.choose(&player.rule, player, now, last, left);
        let switched = self.level.is_some_and(|last| last != level as u64);
        self.level = Some(level as u64);
        let bytes = player.bytes(level);
        self.under_way = Some(UnderWay { at: now, bits: bytes.saturating_mul(8) });
        self.asks = Time::NEVER;
        self.said.push(FlowEvent::Chose { bps: player.ladder[level].bps(), switched });
        Some(bytes)
    }

    /// What the chunk that was asked for is called: chunks of live video and of a catalogue have names that others use
    /// too.
    pub(crate) fn object(&self, player: &Player) -> Option<u64> {
        let video = match (player.video, self.rank) {
            (Video::Live, _) => 0,
            (Video::OnDemand { .. }, rank) => u64::from(rank?),
        };
        Some(video << 32 | self.chunk << 8 | self.level?)
    }

    /// The chunk under way is there.
    pub(crate) fn arrived(&mut self, player: &Player, now: Time) {
        let Some(chunk) = self.under_way.take() else { return };
        self.advance(player, now);
        self.memory.learn(chunk.bits, now.since(chunk.at));
        self.chunk += 1;
        if !self.is_open {
            return;
        }
        self.buffered = self.buffered + player.chunk;
        if !self.plays && (self.buffered >= player.play_at || self.is_complete(player)) {
            self.plays = true;
            self.said.push(FlowEvent::Plays);
        }
        self.asks = self.next_request(player, now);
    }

    fn next_request(&self, player: &Player, now: Time) -> Time {
        if self.is_complete(player) || self.chunk >= MAX_CHUNKS {
            return Time::NEVER;
        }
        let made = match player.video {
            Video::Live => Time::ZERO + player.chunk * (self.chunk + 1),
            Video::OnDemand { .. } => now,
        };
        let full = self.buffered + player.chunk;
        // While it does not play nothing leaves the buffer.
        let room = if self.plays && full > player.buffer { now + (full - player.buffer) } else { now };
        now.max(made).max(room)
    }

    /// What happened since it was last asked.
    pub(crate) fn take_said(&mut self) -> Vec<FlowEvent> {
        std::mem::take(&mut self.said)
    }
}

#[cfg(test)]
mod tests;
