//! `ndnweir put`.

use super::key::{command_signer, forwarder_key, warn_if_exposed};
use super::transfer::{connect, duration, name, waiter};
use crate::failure::Failure;
use crate::terminal::say;
use crate::transfer_args::PutArgs;
use ndnweir_core::plain;
use ndnweir_net::client::{Registration, RegistrationError, SessionEvent};
use ndnweir_net::face_uri::FaceUri;
use ndnweir_net::mgmt::LOCALHOP;
use ndnweir_net::object::publisher::{CHUNK, Publisher, PublisherConfig};
use ndnweir_net::object::{FileSource, naming, signer};
use ndnweir_net::transfer::{PublishError, PublishEvent, StopCondition, publish};
use std::path::Path;
use std::time::Duration;

pub fn run(args: &PutArgs) -> Result<(), Failure> {
    let mut object = name(&args.name)?;
    let freshness = duration("--freshness", &args.freshness)?;
    let idle = args.idle.as_deref().map(|text| duration("--idle", text)).transpose()?;
    let source = match args.file == Path::new("-") {
        true => FileSource::stdin(),
        false => FileSource::open(&args.file),
    };
    let source = source.map_err(|e| Failure::Input(format!("{}: {e}", args.file.display())))?;
    let chunk = usize::from(args.chunk);
    let version = match naming::version_of(object.as_view()) {
        Some(version) => {
            object.pop();
            version
        }
        // Segments of another size are another version, for their names are the same.
        None => source.modified_micros().wrapping_add(CHUNK as u64).wrapping_sub(chunk as u64),
    };
    if object.is_empty() {
        return Err(Failure::Input(format!("{}: there is no name before the version", args.name)));
    }
    let signer = signer(&args.sign, &object).map_err(|e| Failure::Input(format!("--sign: {e}")))?;
    if let Some((_, key)) = args.sign.split_once(':') {
        warn_if_exposed(Path::new(key));
    }
    let config = PublisherConfig {
        chunk,
        freshness: Duration::from_nanos(freshness.nanos()),
        cache: args.cache as usize,
        ..PublisherConfig::new(object.clone(), version)
    };
    let mut publisher = Publisher::new(config, source, signer).map_err(Failure::input)?;
    let mut waiter = waiter()?;
    let mut session = connect(&args.client, &waiter, 0)?;
    let segments = publisher.last_segment() + 1;
    let about = format!("{} ({} bytes in {segments} segments)", publisher.name(), publisher.size());
    let bar = crate::transfer_progress::served(segments, args.quiet);
    let mut watch = |event: PublishEvent| match event {
        PublishEvent::Registered if !args.quiet => bar.suspend(|| say(format_args!("publishing {about}"))),
        PublishEvent::Registered => {}
        PublishEvent::Unanswered => bar.suspend(|| say("warning: the forwarder does not answer; trying on")),
        PublishEvent::Connection(SessionEvent::Lost(error)) => {
            bar.suspend(|| say(format_args!("warning: connection lost ({error}); trying again")));
        }
        PublishEvent::Connection(SessionEvent::Reconnected) => {}
        PublishEvent::Progress { answered, segments } => {
            bar.set_position(segments);
            bar.set_message(format!("{answered} Interests answered"));
        }
    };
    let quit = StopCondition { once: args.once, idle };
    let mut registration =
        Registration::new(object, command_signer(&args.key)?, session.is_local()).with_trust(forwarder_key(&args.key)?);
    let result = publish(&mut publisher, &mut registration, &mut session, &mut waiter, quit, &mut watch);
    bar.finish_and_clear();
    result.map_err(|error| failure(&error, session.uri()))
}

/// The remedy when the forwarder rejects the registration of the prefix.
fn failure(error: &PublishError, forwarder: &FaceUri) -> Failure {
    let remedy = match (error, forwarder) {
        (PublishError::Registration(RegistrationError::Rejected { code: 403, .. }), FaceUri::Unix(_)) => {
            "\nhelp: run this as the user that the forwarder runs as, or sign with a key that it trusts (--key)"
        }
        (PublishError::Registration(RegistrationError::Rejected { code: 403, .. }), _) => {
            "\nhelp: over TCP and UDP it takes only commands that a key signed which it trusts: give --key FILE and \
             --key-name NAME, and the public key to the forwarder, as a [[trust-anchor]] of `ndnweir fwd` whose name \
             NAME begins with"
        }
        (PublishError::Registration(RegistrationError::NotTaken(LOCALHOP)), _) => {
            "\nhelp: let it take registrations from other machines and over UDP, with `localhop = true` and a \
             [[trust-anchor]] of `ndnweir fwd`"
        }
        _ => "",
    };
    Failure::work(format!("{}{remedy}", plain::line(&error.to_string())))
}
