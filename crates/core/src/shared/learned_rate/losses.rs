//! Which losses say that a queue overflows, and which are noise.

/// The share of frames lost that may always be noise, and where it is to be seen soon whether a queue overflows.
const NOISE: f64 = 0.02;
const STRICT_NOISE: f64 = 0.003;
/// Losses that are more than noise: these, and so many standard deviations, beside what is expected.
const FEW_LOSSES: f64 = 3.0;
const DEVIATIONS: f64 = 3.0;
/// Frames over which losses are counted, and over which the mean share of losses is taken.
const LOSS_FRAMES: f64 = 512.0;
const NOISE_FRAMES: f64 = 4096.0;

/// Frames that are lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// The first frame that is counted, and what had been lost before it.
    first: Option<(u64, i32)>,
    /// How many came after it, and how many of them were lost.
    frames: f64,
    lost: f64,
    /// Frames and losses that were noise.
    noise_frames: f64,
    noise_lost: f64,
}

impl Losses {
    /// Frame `number` has arrived, and `lost` had been lost by then.
    pub(super) fn count(&mut self, number: u64, lost: i32) {
        let (first, before) = *self.first.get_or_insert((number, lost));
        self.frames = number.saturating_sub(first) as f64;
        self.lost = f64::from(lost.saturating_sub(before).max(0));
    }

    /// Whether they are more than noise.
    pub(super) fn overflow(&mut self, is_strict: bool) -> bool {
        let least = if is_strict { STRICT_NOISE } else { NOISE };
        let expected = self.frames * least.max(self.noise());
        let overflow = self.lost > FEW_LOSSES + expected + DEVIATIONS * expected.sqrt();
        if !overflow && self.frames > LOSS_FRAMES {
            self.settle();
        }
        overflow
    }

    /// What was counted is noise.
    pub(super) fn settle(&mut self) {
        self.noise_frames += self.frames;
        self.noise_lost += self.lost;
        if self.noise_frames > NOISE_FRAMES {
            (self.noise_frames, self.noise_lost) = (0.5 * self.noise_frames, 0.5 * self.noise_lost);
        }
        self.begin();
    }

    /// Counts anew.
    pub(super) fn begin(&mut self) {
        (self.first, self.frames, self.lost) = (None, 0.0, 0.0);
    }

    /// The share of frames that noise takes, [`NOISE`] at most.
    pub(super) fn noise(&self) -> f64 {
        (self.noise_lost / self.noise_frames.max(LOSS_FRAMES)).min(NOISE)
    }
}
