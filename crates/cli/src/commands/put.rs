//! `ndnweir put`.

use super::transfer::{connect, name, span, waiter};
use crate::args::PutArgs;
use crate::failure::Failure;
use ndnweir_net::client::SessionEvent;
use ndnweir_net::object::publisher::{CHUNK, Publisher, PublisherConfig};
use ndnweir_net::object::{FileSource, naming, signer};
use ndnweir_net::transfer::{PublishEvent, Quit, publish};
use std::time::Duration;

pub fn run(args: &PutArgs) -> Result<(), Failure> {
    let mut object = name(&args.name)?;
    let freshness = span("--freshness", &args.freshness)?;
    let idle = args.idle.as_deref().map(|text| span("--idle", text)).transpose()?;
    let source = FileSource::open(&args.file).map_err(|e| Failure::Input(format!("{}: {e}", args.file.display())))?;
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
    let bar = crate::progress::served(segments, args.quiet);
    let mut watch = |event: PublishEvent| match event {
        PublishEvent::Registered if !args.quiet => bar.suspend(|| eprintln!("publishing {about}")),
        PublishEvent::Registered => {}
        PublishEvent::Unanswered => bar.suspend(|| eprintln!("warning: the forwarder does not answer; trying on")),
        PublishEvent::Connection(SessionEvent::Lost(error)) => {
            bar.suspend(|| eprintln!("warning: connection lost ({error}); trying again"));
        }
        PublishEvent::Connection(SessionEvent::Reconnected) => {}
        PublishEvent::Progress { answered, segments } => {
            bar.set_position(segments);
            bar.set_message(format!("{answered} Interests answered"));
        }
    };
    let quit = Quit { once: args.once, idle };
    let result = publish(&mut publisher, &object, &mut session, &mut waiter, quit, &mut watch);
    bar.finish_and_clear();
    result.map_err(Failure::work)
}
