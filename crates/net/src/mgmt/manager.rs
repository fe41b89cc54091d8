//! The forwarder's end of the protocol: Interests in, Data out, calls on [`Control`] in between.

use super::announce;
use super::announcement::Announcement;
use super::authority::{Authority, Denied, Requester, TrustAnchor};
use super::command::SignedCommand;
use super::control::ManagedForwarder;
use super::dataset::{FaceEvent, FaceEventKind, FaceQuery, FaceStatus, ForwarderStatus, Item, encode_all};
use super::parameters::{ControlParameters, ControlResponse};
use super::publish::{self, DatasetPublisher};
use super::rib::{FibChange, Rib};
use super::verbs;
use ndnweir_core::units::Time;
use ndnweir_wire::data::content_type;
use ndnweir_wire::packet::MAX_PACKET_SIZE;
use ndnweir_wire::signature::{DigestSha256, Signer};
use ndnweir_wire::{Component, DataBuilder, DataView, InterestView, Name, NameView};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most components of a prefix in RIB, FIB and strategy table (as in NFD).
pub const MAX_PREFIX_COMPONENTS: usize = 32;

/// How many notifications are kept for late subscribers.
const MAX_EVENTS: usize = 64;

/// How long an answer or notification counts as fresh (as in NFD).
const FRESHNESS: Duration = Duration::from_secs(1);

/// How management is to behave.
#[derive(Clone, Debug)]
pub struct ManagementConfig {
    /// Keys whose commands are accepted on any face.
    pub trust_anchors: Vec<TrustAnchor>,
    /// Whether neighbours may change the RIB, under `/localhop/nfd/rib`, with commands signed by a trust anchor.
    pub localhop: bool,
    /// The most routes in the RIB.
    pub max_routes: usize,
    /// What signs answers, datasets and notifications.
    pub signer: AnswerSigner,
}

/// What the management signs with: a digest, or a key that identifies the forwarder to tools.
#[derive(Clone)]
pub struct AnswerSigner(pub Arc<dyn Signer + Send + Sync>);

impl Default for AnswerSigner {
    fn default() -> AnswerSigner {
        AnswerSigner(Arc::new(DigestSha256))
    }
}

impl fmt::Debug for AnswerSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnswerSigner").field(&self.0.signature_type()).finish()
    }
}

impl Default for ManagementConfig {
    /// No keys, no neighbours, 65 536 routes.
    fn default() -> ManagementConfig {
        ManagementConfig {
            trust_anchors: Vec::new(),
            localhop: false,
            max_routes: 1 << 16,
            signer: AnswerSigner::default(),
        }
    }
}

/// The time, on both clocks in use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The process's own clock, by which routes end.
    pub now: Time,
    /// Since the Unix epoch, by which commands are fresh and datasets versioned.
    pub unix: Duration,
}

/// Counters of requests and their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commands done.
    pub done: u64,
    /// Commands that were allowed and failed.
    pub failed: u64,
    /// Commands rejected: not signed, not authorised, not fresh.
    pub rejected: u64,
    /// Interests from faces or under prefixes that management does not serve.
    pub out_of_scope: u64,
    /// Interests that are not a request at all.
    pub malformed: u64,
    /// Datasets produced.
    pub datasets: u64,
}

/// The management of one forwarder.
#[derive(Debug)]
pub struct Management {
    authority: Authority,
    rib: Rib,
    publisher: DatasetPublisher,
    events: VecDeque<(u64, Vec<u8>)>,
    next_event: u64,
    localhop: bool,
    signer: AnswerSigner,
    started: Duration,
    counters: Counters,
}

/// Which of the two prefixes a name is under.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Top {
    Localhost,
    Localhop,
}

fn top_of(name: NameView<'_>) -> Option<Top> {
    let generic = |at: usize| name.get(at).filter(|c| c.is_generic()).map(|c| c.value());
    match (generic(0)?, generic(1)?) {
        (b"localhost", b"nfd") => Some(Top::Localhost),
        (b"localhop", b"nfd") => Some(Top::Localhop),
        _ => None,
    }
}

impl Management {
    /// Management of a forwarder that starts now.
    #[must_use]
    pub fn new(config: ManagementConfig, at: Timestamps) -> Management {
        Management {
            authority: Authority::new(config.trust_anchors, at.unix),
            rib: Rib::new(config.max_routes),
            publisher: DatasetPublisher::default(),
            events: VecDeque::new(),
            next_event: 0,
            localhop: config.localhop,
            signer: config.signer,
            started: at.unix,
            counters: Counters::default(),
        }
    }

    /// The prefixes whose Interests are for [`Self::interest`]: what the forwarder's FIB must have for it.
    #[must_use]
    pub fn prefixes(&self) -> Vec<Name> {
        let nfd = |top: &str| Name::new().with(Component::generic(top)).with(Component::generic("nfd"));
        let mut prefixes = vec![nfd("localhost")];
        if self.localhop {
            prefixes.push(nfd("localhop").with(Component::generic("rib")));
        }
        prefixes
    }

    /// Counters of requests and their results.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The routes.
    #[must_use]
    pub fn rib(&self) -> &Rib {
        &self.rib
    }

    /// Takes an Interest and returns the Data that answers it, if any.
    pub fn interest(
        &mut self,
        interest: &InterestView<'_>,
        from: Requester,
        at: Timestamps,
        control: &mut impl ManagedForwarder,
    ) -> Option<Vec<u8>> {
        let name = interest.name();
        let text = |i: usize| name.get(i).filter(|c| c.is_generic()).and_then(|c| std::str::from_utf8(c.value()).ok());
        let in_scope = match top_of(name) {
            Some(Top::Localhost) => from.local,
            Some(Top::Localhop) => self.localhop && text(2) == Some("rib") && text(3) != Some("list"),
            None => false,
        };
        if !in_scope {
            self.counters.out_of_scope += 1;
            return None;
        }
        let (Some(module), Some(verb)) = (text(2), text(3)) else {
            self.counters.malformed += 1;
            return None;
        };
        match (module, verb) {
            ("faces", "events") => self.event(name),
            ("faces", "query") => self.dataset(interest, 5, at, |_, name| query(control, name)),
            ("faces", "list") => self.dataset(interest, 4, at, |_, _| Ok(encode_all(&control.faces()))),
            ("faces", "channels") => self.dataset(interest, 4, at, |_, _| Ok(encode_all(&control.channels()))),
            ("fib", "list") => self.dataset(interest, 4, at, |_, _| Ok(encode_all(&control.fib()))),
            ("rib", "list") => self.dataset(interest, 4, at, |m, _| Ok(encode_all(&m.rib.list(at.now)))),
            ("strategy-choice", "list") => self.dataset(interest, 4, at, |_, _| Ok(encode_all(&control.strategies()))),
            ("cs", "info") => self.dataset(interest, 4, at, |_, _| Ok(encode_all(&[control.cs()]))),
            ("status", "general") => self.dataset(interest, 4, at, |m, _| {
                Ok(ForwarderStatus { started: m.started, now: at.unix, ..control.status() }.encode())
            }),
            _ => {
                let response = self.command(interest, (module, verb), from, at, control);
                respond(name, &response, &*self.signer.0)
            }
        }
    }

    fn command(
        &mut self,
        interest: &InterestView<'_>,
        verb: (&str, &str),
        from: Requester,
        at: Timestamps,
        control: &mut impl ManagedForwarder,
    ) -> ControlResponse {
        let command = SignedCommand::find(interest);
        // The socket vouches for a user who may register prefixes as it does for the owner.
        let registers = from.registers && own_registration(verb, interest, command.as_ref(), from.face_id);
        let from = Requester { owner: from.owner || registers, ..from };
        if let Err(denied) = self.authority.admit(from, command.as_ref(), at.unix) {
            self.counters.rejected += 1;
            return rejection(denied);
        }
        let name = command.map_or(interest.name(), |c| c.name());
        if verb == ("rib", "announce") {
            let response = announce::execute((interest, name), from, at, &self.authority, &mut self.rib, control);
            return self.counted(response);
        }
        let parameters = match name.get(4) {
            Some(component) if name.len() == 5 => ControlParameters::decode(component.value()),
            _ => {
                self.counters.failed += 1;
                return ControlResponse::new(400, "a command has one component of parameters");
            }
        };
        let response = match parameters {
            Ok(parameters) => verbs::execute(verb, parameters, from.face_id, at.now, &mut self.rib, control),
            Err(error) => ControlResponse::new(400, format!("the parameters are {error}")),
        };
        self.counted(response)
    }

    fn counted(&mut self, response: ControlResponse) -> ControlResponse {
        if response.is_ok() {
            self.counters.done += 1;
        } else {
            self.counters.failed += 1;
        }
        response
    }

    /// A dataset whose name has `len` components: a new version when it is requested by just this name, else a segment
    /// of an older one.
    fn dataset(
        &mut self,
        interest: &InterestView<'_>,
        len: usize,
        at: Timestamps,
        make: impl FnOnce(&Management, NameView<'_>) -> Result<Vec<u8>, ControlResponse>,
    ) -> Option<Vec<u8>> {
        let name = interest.name();
        if name.len() != len {
            return self.publisher.segment(name, &*self.signer.0);
        }
        // Data have longer names, so an Interest for just this one cannot be answered.
        if !interest.can_be_prefix() || name.wire_len() > publish::MAX_NAME {
            self.counters.malformed += 1;
            return None;
        }
        match make(self, name) {
            Ok(content) => {
                self.counters.datasets += 1;
                self.publisher.publish(name, content, at.unix, &*self.signer.0).ok()
            }
            Err(response) => {
                self.counters.malformed += 1;
                let nack = DataBuilder::new(name).content_type(content_type::NACK).freshness_period(FRESHNESS);
                nack.content(&response.encode()).sign(&*self.signer.0).ok()
            }
        }
    }

    /// A notification that was posted already. For one to come, the Interest stays pending in the forwarder.
    fn event(&self, name: NameView<'_>) -> Option<Vec<u8>> {
        let number = name.get(4).filter(|_| name.len() == 5)?.as_sequence_num()?;
        self.events.iter().find(|(n, _)| *n == number).map(|(_, data)| data.clone())
    }

    /// Records an event of a face, and returns its notification, to be forwarded as Data from management. After
    /// [`FaceEventKind::Destroyed`] the face has no more routes.
    pub fn face_event(
        &mut self,
        kind: FaceEventKind,
        face: &FaceStatus,
        control: &mut impl ManagedForwarder,
    ) -> Option<Vec<u8>> {
        if kind == FaceEventKind::Destroyed {
            self.authority.forget_face(face.face_id);
            apply(self.rib.remove_face(face.face_id), control);
        }
        let mut content = Vec::new();
        FaceEvent::of(kind, face).write(&mut content);
        let name: Name = ["localhost", "nfd", "faces", "events"]
            .into_iter()
            .map(Component::generic)
            .chain([Component::sequence_num(self.next_event)])
            .fold(Name::new(), Name::with);
        let data = DataBuilder::new(name.as_view()).freshness_period(FRESHNESS).content(&content);
        let data = data.sign(&*self.signer.0).ok()?;
        self.events.push_back((self.next_event, data.clone()));
        self.next_event += 1;
        if self.events.len() > MAX_EVENTS {
            self.events.pop_front();
        }
        Some(data)
    }

    /// When [`Self::handle_timeout`] is due; [`Time::NEVER`] when it is not.
    #[must_use]
    pub fn next_timeout(&self) -> Time {
        self.rib.next_end()
    }

    /// Ends the routes whose time is over.
    pub fn handle_timeout(&mut self, now: Time, control: &mut impl ManagedForwarder) {
        apply(self.rib.expire(now), control);
    }

    /// Adds a route that the configuration names; the same as a command `rib/register` that was allowed.
    ///
    /// # Errors
    /// The answer that the command would have got.
    pub fn register(
        &mut self,
        parameters: ControlParameters,
        now: Time,
        control: &mut impl ManagedForwarder,
    ) -> Result<(), ControlResponse> {
        let response = verbs::execute(("rib", "register"), parameters, 0, now, &mut self.rib, control);
        if response.is_ok() { Ok(()) } else { Err(response) }
    }

    /// Removes a route that [`Self::register`] added; nothing happens when there is none.
    pub fn unregister(&mut self, prefix: NameView<'_>, face_id: u64, origin: u64, control: &mut impl ManagedForwarder) {
        apply(self.rib.unregister(prefix, face_id, origin), control);
    }
}

/// Applies the results of a change of the RIB to the forwarder. Failures to add cannot be reported here; [`verbs`]
/// checks the commands.
pub(super) fn apply(
    changes: Vec<FibChange>,
    control: &mut impl ManagedForwarder,
) -> Option<super::control::CommandFailure> {
    let mut failure = None;
    for change in changes {
        match change {
            FibChange::Set { prefix, face_id, cost } => {
                if let Err(error) = control.set_next_hop(prefix.as_view(), face_id, cost) {
                    failure.get_or_insert(error);
                }
            }
            FibChange::Remove { prefix, face_id } => control.remove_next_hop(prefix.as_view(), face_id),
        }
    }
    failure
}

/// Whether a command changes routes of the face on which it came, and nothing else. Prefixes that the forwarder serves
/// itself are excluded.
fn own_registration(
    verb: (&str, &str),
    interest: &InterestView<'_>,
    command: Option<&SignedCommand<'_>>,
    face_id: u64,
) -> bool {
    let (face, prefix) = match verb {
        ("rib", "announce") => {
            let data = interest.application_parameters().and_then(|data| DataView::decode(data).ok());
            let announcement = data.and_then(|data| Announcement::decode(&data).ok());
            (None, announcement.map(|announcement| announcement.prefix))
        }
        ("rib", "register" | "unregister") => {
            let parameters = command.and_then(|command| command.name().get(4));
            let parameters = parameters.and_then(|component| ControlParameters::decode(component.value()).ok());
            let parameters = parameters.unwrap_or_default();
            (parameters.face_id, parameters.name)
        }
        _ => return false,
    };
    let reserved = |prefix: &Name| {
        let first = prefix.as_view().get(0);
        first.is_some_and(|first| first.is_generic() && [&b"localhost"[..], b"localhop"].contains(&first.value()))
    };
    face.is_none_or(|face| face == 0 || face == face_id) && prefix.is_some_and(|prefix| !reserved(&prefix))
}

fn rejection(denied: Denied) -> ControlResponse {
    ControlResponse::new(403, denied.to_string())
}

fn query(control: &impl ManagedForwarder, name: NameView<'_>) -> Result<Vec<u8>, ControlResponse> {
    let filter = name.last().map(|c| FaceQuery::decode(c.value()));
    let Some(Ok(filter)) = filter else { return Err(ControlResponse::new(400, "the filter is malformed")) };
    let mut faces = control.faces();
    faces.retain(|face| filter.matches(face));
    Ok(encode_all(&faces))
}

/// The answer as Data; without its body, or not at all, when the name leaves no room for it. A rejection has an empty
/// body: some clients otherwise do not show the text of an answer.
fn respond(name: NameView<'_>, response: &ControlResponse, signer: &dyn Signer) -> Option<Vec<u8>> {
    let data = |response: &ControlResponse| {
        let content = response.encode();
        let data = DataBuilder::new(name).freshness_period(FRESHNESS).content(&content).sign(signer).ok();
        data.filter(|data| data.len() <= MAX_PACKET_SIZE)
    };
    let body = response.body.clone().or_else(|| Some(Box::default()));
    data(&ControlResponse { body, ..response.clone() })
        .or_else(|| data(&ControlResponse { body: None, ..response.clone() }))
}
