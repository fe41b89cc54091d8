//! Memory in large pages, as the kernel sees it.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::common::process::{Running, command, wait_for};
use tempfile::tempdir;

/// Whether a program that runs was started with large pages asked for.
fn asks(process: &Running) -> bool {
    process.environment().contains("GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
}

#[test]
fn a_simulation_begins_anew_in_its_process_with_large_pages_where_they_must_be_asked_for() {
    let kernel = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let dir = tempdir().unwrap();
    let line = "sim dumbbell --scheme aimd --set run.duration=50000s --out out";
    let child = Running::start(command(dir.path(), "none", line).env_remove("GLIBC_TUNABLES"));
    wait_for("large pages, if they must be asked for", || asks(&child) == kernel.contains("[madvise]"));
    let forbidden = Running::start(command(dir.path(), "none", line).env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0"));
    wait_for("it to run", || forbidden.memory() > 8 << 20);
    assert!(!asks(&forbidden));
}
