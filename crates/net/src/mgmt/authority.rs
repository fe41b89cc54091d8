//! Who may give commands.
//!
//! A command is accepted when
//! - it comes over a local socket whose peer is the forwarder's owner ([`Requester::owner`]) and is signed: the socket
//!   vouches for the sender, so a digest is enough, and a signature with a key that is not known here, which many
//!   applications send, is left unchecked;
//! - or it is signed by a trust anchor.
//!
//! Everything else is rejected. Against replays, a command must carry a time within [`MAX_CLOCK_DIFFERENCE`] of the
//! clock, and must not have been seen before on its face or with its key. What has been seen is remembered for as long
//! as it would still be in time, up to a bound; when the bound is reached the oldest is dropped and nothing that old is
//! accepted any more. A trust anchor's commands from before the forwarder started are rejected, as their replays could
//! not be detected. So are those from before one that was forgotten, when the clock has been set back: until it has
//! caught up, or the forwarder is restarted, only the owner can give commands.

use super::command::SignedCommand;
use ndnweir_wire::signature::{
    DigestSha256, EcdsaP256Verifier, Ed25519Verifier, KeyError, KeyLocator, SignatureInfo, SignatureType, Verifier,
    sha256,
};
use ndnweir_wire::{DataView, Name, NameView};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How far a command's time may be from the clock (as in NFD).
pub const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(120);

/// How many commands are remembered for one face or key.
const MAX_SEEN: usize = 1024;

/// For how many faces commands are remembered.
const MAX_FACES: usize = 256;

/// From where a command came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The face on which it came.
    pub face_id: u64,
    /// Whether the face stays on this machine.
    pub local: bool,
    /// Whether the face is a local socket whose peer is known to be root or the user that the forwarder runs as. For a
    /// connection over TCP this is never known, not even from this machine.
    pub owner: bool,
    /// Whether the face is a local socket of a user whom the configuration allows to register prefixes, for this face
    /// only.
    pub registers: bool,
}

impl Requester {
    fn is_owner(&self) -> bool {
        self.local && self.owner
    }
}

/// A public key whose commands are accepted.
#[derive(Clone, Debug)]
pub struct TrustAnchor {
    key: AnchorKey,
    /// SHA-256 of SubjectPublicKeyInfo, by which a KeyLocator can point at it.
    digest: [u8; 32],
    name: Option<Name>,
}

#[derive(Clone, Debug)]
enum AnchorKey {
    Ed25519(Ed25519Verifier),
    Ecdsa(EcdsaP256Verifier),
}

impl TrustAnchor {
    /// An Ed25519 or ECDSA P-256 public key as SubjectPublicKeyInfo in PEM (`BEGIN PUBLIC KEY`). With a name, only
    /// commands whose KeyLocator starts with it are checked against the key.
    ///
    /// # Errors
    /// [`KeyError`] when it is neither.
    pub fn from_pem(pem: &str, name: Option<Name>) -> Result<TrustAnchor, KeyError> {
        let (key, spki) = match Ed25519Verifier::from_spki_pem(pem) {
            Ok(key) => (AnchorKey::Ed25519(key), key.to_spki_der()?),
            Err(_) => {
                let key = EcdsaP256Verifier::from_spki_pem(pem)?;
                (AnchorKey::Ecdsa(key), key.to_spki_der()?)
            }
        };
        Ok(TrustAnchor { key, digest: sha256(&[&spki]), name })
    }

    fn may_have_signed(&self, info: &SignatureInfo<'_>) -> bool {
        let typ = match self.key {
            AnchorKey::Ed25519(_) => SignatureType::ED25519,
            AnchorKey::Ecdsa(_) => SignatureType::SHA256_WITH_ECDSA,
        };
        let located = match (info.key_locator, &self.name) {
            (Some(KeyLocator::Digest(digest)), _) => digest == self.digest,
            (Some(KeyLocator::Name(locator)), Some(name)) => name.as_view().is_prefix_of(locator),
            (None, _) => false,
            (Some(_), None) => true,
        };
        info.signature_type == typ && located
    }

    fn has_signed(&self, info: &SignatureInfo<'_>, verify: impl FnOnce(&dyn Verifier) -> bool) -> bool {
        let verifier: &dyn Verifier = match &self.key {
            AnchorKey::Ed25519(key) => key,
            AnchorKey::Ecdsa(key) => key,
        };
        self.may_have_signed(info) && verify(verifier)
    }
}

/// Why a command was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It has no signature, or a malformed one.
    #[error("the command is not signed")]
    Unsigned,
    /// The signature, or the digest of the parameters, does not match.
    #[error("the command's signature does not match")]
    BadSignature,
    /// It is signed, but not by anyone who may give commands on this face.
    #[error("the command's signer is not authorised here")]
    NotAuthorised,
    /// Its time is missing, or too far from the clock, or too old.
    #[error("the command carries no acceptable time; is the clock right?")]
    Stale,
    /// It has been seen before.
    #[error("the command has been seen before")]
    Replayed,
}

/// The source of commands, for the detection of replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CommandSource {
    Anchor(usize),
    Face(u64),
}

/// The commands seen from one source: their times and fingerprints.
#[derive(Debug, Default)]
struct SeenCommands {
    /// Whether what is forgotten stays rejected when the clock is set back. A trust anchor's commands cross networks,
    /// where they can be recorded; those of a face are the owner's own.
    strict: bool,
    commands: BTreeSet<(Duration, [u8; 32])>,
    /// Nothing of this time or older is accepted.
    floor: Duration,
}

impl SeenCommands {
    fn admit(&mut self, time: Duration, fingerprint: [u8; 32], now: Duration) -> Result<(), Denied> {
        if time.abs_diff(now) > MAX_CLOCK_DIFFERENCE || time <= self.floor {
            return Err(Denied::Stale);
        }
        self.prune(now);
        if !self.commands.insert((time, fingerprint)) {
            return Err(Denied::Replayed);
        }
        if self.commands.len() > MAX_SEEN
            && let Some((oldest, _)) = self.commands.pop_first()
        {
            self.floor = oldest;
        }
        Ok(())
    }

    /// Removes what would be rejected for its time anyway.
    fn prune(&mut self, now: Duration) {
        while let Some((time, _)) = self.commands.first()
            && *time + MAX_CLOCK_DIFFERENCE < now
        {
            if self.strict {
                self.floor = self.floor.max(*time);
            }
            self.commands.pop_first();
        }
    }
}

/// Decides on commands and remembers them.
#[derive(Debug)]
pub struct Authority {
    anchors: Vec<TrustAnchor>,
    seen: BTreeMap<CommandSource, SeenCommands>,
}

impl Authority {
    /// Accepts owners, and commands of these keys made after `started`, a time since the Unix epoch.
    #[must_use]
    pub fn new(anchors: Vec<TrustAnchor>, started: Duration) -> Authority {
        let fresh =
            |i| (CommandSource::Anchor(i), SeenCommands { strict: true, floor: started, ..SeenCommands::default() });
        let seen = (0..anchors.len()).map(fresh).collect();
        Authority { anchors, seen }
    }

    /// Accepts a command, once. `now` is the time since the Unix epoch.
    ///
    /// # Errors
    /// [`Denied`] says why not.
    pub fn admit(
        &mut self,
        requester: Requester,
        command: Option<&SignedCommand<'_>>,
        now: Duration,
    ) -> Result<(), Denied> {
        let command = command.ok_or(Denied::Unsigned)?;
        if !command.is_whole() {
            return Err(Denied::BadSignature);
        }
        let is_digest = command.info().signature_type == SignatureType::DIGEST_SHA256;
        if is_digest && command.verify(&DigestSha256).is_err() {
            return Err(Denied::BadSignature);
        }
        // A KeyLocator is required for all signatures but digests (packet specification, "KeyLocator").
        if !is_digest && (!is_keyed(command.info().signature_type) || command.key_locator().is_none()) {
            return Err(Denied::BadSignature);
        }
        let source = if requester.is_owner() {
            CommandSource::Face(requester.face_id)
        } else if is_digest {
            return Err(Denied::NotAuthorised);
        } else {
            CommandSource::Anchor(self.anchor_of(&command.info(), |key| command.verify(key).is_ok())?)
        };
        let time = command.info().anti_replay.time.ok_or(Denied::Stale)?;
        if let CommandSource::Face(_) = source {
            self.make_room(source, now);
        }
        self.seen.entry(source).or_default().admit(time, fingerprint(command), now)
    }

    fn anchor_of(&self, info: &SignatureInfo<'_>, verify: impl Fn(&dyn Verifier) -> bool) -> Result<usize, Denied> {
        let candidate = |anchor: &TrustAnchor| anchor.may_have_signed(info);
        match self.anchors.iter().position(|anchor| anchor.has_signed(info, &verify)) {
            Some(at) => Ok(at),
            None if self.anchors.iter().any(candidate) => Err(Denied::BadSignature),
            None => Err(Denied::NotAuthorised),
        }
    }

    /// Accepts the announcement in a command that has been accepted: one that a trust anchor signed, or any from the
    /// owner, unless a digest or the signature of a trust anchor does not match.
    ///
    /// # Errors
    /// [`Denied`] says why not.
    pub fn trusts(&self, requester: Requester, announcement: &DataView<'_>) -> Result<(), Denied> {
        let info = announcement.signature_info();
        if info.signature_type == SignatureType::DIGEST_SHA256 && announcement.verify(&DigestSha256).is_err() {
            return Err(Denied::BadSignature);
        }
        match self.anchor_of(&info, |key| announcement.verify(key).is_ok()) {
            Err(Denied::NotAuthorised) if requester.is_owner() => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Removes the commands of another face when too many are remembered. That is safe: only the owner of the socket
    /// could replay them, who may give commands anyway.
    fn make_room(&mut self, source: CommandSource, now: Duration) {
        if self.seen.contains_key(&source) || self.seen.len() < MAX_FACES + self.anchors.len() {
            return;
        }
        let newest = |seen: &SeenCommands| seen.commands.last().map_or(Duration::ZERO, |(time, _)| *time).min(now);
        let faces = self.seen.iter().filter(|(source, _)| matches!(source, CommandSource::Face(_)));
        if let Some((&idle, _)) = faces.min_by_key(|(_, seen)| newest(seen)) {
            self.seen.remove(&idle);
        }
    }

    /// Forgets the commands of a face that is gone.
    pub fn forget_face(&mut self, face_id: u64) {
        self.seen.remove(&CommandSource::Face(face_id));
    }
}

fn is_keyed(typ: SignatureType) -> bool {
    [
        SignatureType::SHA256_WITH_RSA,
        SignatureType::SHA256_WITH_ECDSA,
        SignatureType::HMAC_WITH_SHA256,
        SignatureType::ED25519,
    ]
    .contains(&typ)
}

/// What is the same in a command and its replay, and cannot be changed without the key. The signature itself is not
/// suitable: anyone can turn an ECDSA signature into another valid one of the same bytes.
fn fingerprint(command: &SignedCommand<'_>) -> [u8; 32] {
    let name: NameView<'_> = command.name();
    let nonce = command.info().anti_replay.nonce.unwrap_or_default();
    sha256(&[&(nonce.len() as u64).to_be_bytes(), nonce, name.as_bytes()])
}
