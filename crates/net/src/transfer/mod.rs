//! The producer and the consumer as programs: one thread around a [`Waiter`](crate::client::Waiter) each.

pub mod download;
pub mod load;
pub mod publish;
pub mod real_path;

pub use download::{Download, DownloadConfig, DownloadError, DownloadObserver, FinishedDownload, OpenedSink, run};
pub use load::{FinishedFetch, load};
pub use publish::{PublishError, PublishEvent, StopCondition, publish};
pub use real_path::{RealPathError, consumer_changes, real_path_scheme};
