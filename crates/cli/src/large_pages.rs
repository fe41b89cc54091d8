//! Memory in large pages for simulations (see `docs/decisions/0017-large-pages.md`).

use crate::args::Command;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;

/// The variable from which the C library takes its settings when a program starts.
const VARIABLE: &str = "GLIBC_TUNABLES";
/// The setting: the C library asks for transparent huge pages for all memory that it hands out.
const SETTING: &str = "glibc.malloc.hugetlb";
/// With it, threads get the address space of their memory 64 MiB at a time, which is what the library asks about: it does
/// not where it extends by less than a large page, as it does otherwise, so that threads would have small pages. What
/// is not used takes no memory.
const WITH_IT: (&str, &str) = ("glibc.malloc.top_pad", "67108864");
/// What the kernel does for programs that do not ask, and for those that do.
const KERNEL: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Whether a command simulates networks, which may be large.
fn simulates(command: &Command) -> bool {
    match command {
        Command::Sim(_) | Command::Judge(_) | Command::Papers(_) | Command::Bench(_) => true,
        #[cfg(feature = "sweep")]
        Command::Sweep(_) => true,
        #[cfg(feature = "pack")]
        Command::Repeat(_) => true,
        #[cfg(feature = "view")]
        Command::View(_) => true,
        _ => false,
    }
}

/// The variable with the setting; none if `given` has the setting already, or if the kernel gives large pages to all
/// or to nobody.
fn with_setting(given: Option<&OsStr>, kernel: &str) -> Option<OsString> {
    if !kernel.contains("[madvise]") {
        return None;
    }
    let mut all = match given {
        Some(given) if given.to_string_lossy().contains(SETTING) => return None,
        Some(given) if !given.is_empty() => {
            let mut all = given.to_owned();
            all.push(":");
            all
        }
        _ => OsString::new(),
    };
    all.push(SETTING);
    all.push("=1");
    if !all.to_string_lossy().contains(WITH_IT.0) {
        all.push(format!(":{}={}", WITH_IT.0, WITH_IT.1));
    }
    Some(all)
}

/// Begins anew in the same process with memory in large pages, if the command simulates and that changes anything. The
/// C library reads the setting only when a program starts. If it fails, nothing has happened.
pub fn begin_anew(command: &Command) {
    if !simulates(command) {
        return;
    }
    let kernel = std::fs::read_to_string(KERNEL).unwrap_or_default();
    let Some(setting) = with_setting(std::env::var_os(VARIABLE).as_deref(), &kernel) else { return };
    let mut words = std::env::args_os();
    let (Some(name), Ok(program)) = (words.next(), std::env::current_exe()) else { return };
    let _ = std::process::Command::new(program).arg0(name).args(words).env(VARIABLE, setting).exec();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_added_once_and_only_where_the_kernel_gives_large_pages_to_those_who_ask() {
        let asked = "always [madvise] never\n";
        let with = |given: Option<&str>, kernel| with_setting(given.map(OsStr::new), kernel);
        assert_eq!(with(None, asked), Some("glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864".into()));
        assert_eq!(with(Some(""), asked), with(None, asked));
        let both = with(Some("glibc.malloc.arena_max=2"), asked).unwrap();
        assert_eq!(both, "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864");
        let own = with(Some("glibc.malloc.top_pad=1"), asked).unwrap();
        assert_eq!(own, "glibc.malloc.top_pad=1:glibc.malloc.hugetlb=1");
        assert_eq!(with(both.to_str(), asked), None);
        assert_eq!(with(Some("glibc.malloc.hugetlb=0"), asked), None, "who forbids it is obeyed");
        for kernel in ["[always] madvise never\n", "always madvise [never]\n", ""] {
            assert_eq!(with(None, kernel), None);
        }
    }
}
