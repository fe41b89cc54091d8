//! The messages and the service of gNMI 0.10, generated from the files in `proto/` (OpenConfig, Apache-2.0) with
//! tonic-prost-build; `scripts/generate-gnmi` makes them anew.

/// The service and its messages.
#[allow(clippy::all, clippy::allow_attributes_without_reason, missing_docs, reason = "generated")]
#[rustfmt::skip]
pub mod gnmi;

/// Extensions: arbitration between controllers, commits that need to be confirmed.
#[allow(clippy::all, clippy::allow_attributes_without_reason, missing_docs, reason = "generated")]
#[rustfmt::skip]
pub mod gnmi_ext;
