//! Arbitrary names, packets and link headers.

use core::time::Duration;

use ndnweir_wire::component::Component;
use ndnweir_wire::lp::{LpHeader, PitToken};
use ndnweir_wire::{DataBuilder, InterestBuilder, NackReason, Name, signature::DigestSha256};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub fn component() -> impl Strategy<Value = Component> {
    prop_oneof![
        4 => vec(any::<u8>(), 0..12).prop_map(Component::generic),
        1 => Just(Component::generic("...")),
        1 => any::<u64>().prop_map(Component::segment),
        1 => (0_u64..70_000).prop_map(Component::version),
        1 => any::<u64>().prop_map(Component::timestamp),
        1 => any::<u64>().prop_map(Component::byte_offset),
        1 => any::<u64>().prop_map(Component::sequence_num),
        1 => vec(any::<u8>(), 0..5).prop_map(Component::keyword),
        1 => any::<[u8; 32]>().prop_map(|d| Component::implicit_digest(&d)),
        2 => (3_u32..=65_535, vec(any::<u8>(), 0..300))
            .prop_map(|(typ, value)| Component::new(typ, &value).expect("type in range")),
    ]
}

pub fn name() -> impl Strategy<Value = Name> {
    vec(component(), 0..6).prop_map(|components| components.iter().map(Component::as_view).collect())
}

pub fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![0_u64..100_000, any::<u64>()].prop_map(Duration::from_millis)
}

/// What an Interest is made of.
#[derive(Debug, Clone)]
pub struct InterestParts {
    pub name: Name,
    pub can_be_prefix: bool,
    pub must_be_fresh: bool,
    pub hint: Vec<Name>,
    pub nonce: Option<[u8; 4]>,
    pub lifetime: Option<Duration>,
    pub hop_limit: Option<u8>,
    pub parameters: Option<Vec<u8>>,
}

impl InterestParts {
    pub fn builder(&self) -> InterestBuilder<'_> {
        let mut builder = InterestBuilder::new(self.name.as_view())
            .can_be_prefix(self.can_be_prefix)
            .must_be_fresh(self.must_be_fresh)
            .forwarding_hint(self.hint.iter().map(Name::as_view));
        if let Some(nonce) = self.nonce {
            builder = builder.nonce(nonce);
        }
        if let Some(lifetime) = self.lifetime {
            builder = builder.lifetime(lifetime);
        }
        if let Some(hops) = self.hop_limit {
            builder = builder.hop_limit(hops);
        }
        if let Some(parameters) = &self.parameters {
            builder = builder.application_parameters(parameters);
        }
        builder
    }
}

pub fn interest() -> impl Strategy<Value = InterestParts> {
    let name = name().prop_filter("an Interest has a name", |n| !n.is_empty());
    let flags = (any::<bool>(), any::<bool>());
    let hint = vec(self::name(), 0..3);
    let numbers = (option::of(any::<[u8; 4]>()), option::of(duration()), option::of(any::<u8>()));
    (name, flags, hint, numbers, option::of(vec(any::<u8>(), 0..400))).prop_map(
        |(name, (can_be_prefix, must_be_fresh), hint, (nonce, lifetime, hop_limit), parameters)| InterestParts {
            name,
            can_be_prefix,
            must_be_fresh,
            hint,
            nonce,
            lifetime,
            hop_limit,
            parameters,
        },
    )
}

/// What a Data packet is made of.
#[derive(Debug, Clone)]
pub struct DataParts {
    pub name: Name,
    pub content_type: Option<u64>,
    pub freshness: Option<Duration>,
    pub final_block: Option<Component>,
    pub content: Option<Vec<u8>>,
    pub signature_time: Option<Duration>,
}

impl DataParts {
    pub fn builder(&self) -> DataBuilder<'_> {
        let mut builder = DataBuilder::new(self.name.as_view());
        if let Some(number) = self.content_type {
            builder = builder.content_type(number);
        }
        if let Some(period) = self.freshness {
            builder = builder.freshness_period(period);
        }
        if let Some(component) = &self.final_block {
            builder = builder.final_block_id(component.as_view());
        }
        if let Some(content) = &self.content {
            builder = builder.content(content);
        }
        if let Some(time) = self.signature_time {
            builder = builder.signature_time(time);
        }
        builder
    }

    pub fn encode(&self) -> Vec<u8> {
        self.builder().sign(&DigestSha256).expect("digests always sign")
    }
}

pub fn data() -> impl Strategy<Value = DataParts> {
    let meta = (option::of(any::<u64>()), option::of(duration()), option::of(component()));
    let content = option::of(prop_oneof![vec(any::<u8>(), 0..40), vec(any::<u8>(), 0..2000)]);
    (name(), meta, content, option::of(duration())).prop_map(
        |(name, (content_type, freshness, final_block), content, signature_time)| DataParts {
            name,
            content_type,
            freshness,
            final_block,
            content,
            signature_time,
        },
    )
}

pub fn extra_type() -> impl Strategy<Value = u32> {
    (200_u32..240).prop_map(|n| n * 4).prop_filter("free for our own use", |t| !ndnweir_wire::lp::is_assigned(*t))
}

pub fn header() -> impl Strategy<Value = LpHeader> {
    let number = || option::of(any::<u64>());
    let fragmentation = (number(), number(), number(), number());
    let token = option::of(vec(any::<u8>(), 1..=32));
    let faces = (number(), number(), number(), number());
    let nack = option::of(prop_oneof![
        Just(NackReason::Unspecified),
        Just(NackReason::Congestion),
        any::<u64>().prop_map(NackReason::from_code)
    ]);
    let reliability = (vec(any::<u64>(), 0..3), number(), any::<bool>());
    let extras = vec((extra_type(), vec(any::<u8>(), 0..12)), 0..4);
    let announcement = option::of(data());
    (fragmentation, token, faces, nack, reliability, extras, announcement).prop_map(
        |(fragmentation, token, faces, nack, (acks, tx_sequence, non_discovery), extras, announcement)| {
            let mut header = LpHeader {
                nack,
                acks,
                tx_sequence,
                non_discovery,
                prefix_announcement: announcement.map(|d| d.encode()),
                pit_token: token.map(|t| PitToken::new(&t).expect("1 to 32 bytes")),
                ..LpHeader::default()
            };
            (header.sequence, header.frag_index, header.frag_count, header.hop_count) = fragmentation;
            (header.incoming_face_id, header.next_hop_face_id, header.cache_policy, header.congestion_mark) = faces;
            for (typ, value) in extras {
                header.set_extra(typ, &value).expect("free type");
            }
            header
        },
    )
}
