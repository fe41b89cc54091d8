//! Users of this machine that the configuration allows to register prefixes.

use nix::unistd::{Gid, Group, Uid, User, getgrouplist};
use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How long the system's answer about a user is cached.
const VALID: Duration = Duration::from_secs(60);
/// Users remembered.
const MAX_USERS: usize = 1024;

/// Who may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Every user.
    Everybody,
    /// A user, by name or number.
    User(String),
    /// The members of a group, by its name or number.
    Group(String),
}

/// A text that is not a user, a group or everybody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}`: write \"everybody\", \"user:NAME\" or \"group:NAME\"")]
pub struct AllowedError(String);

impl FromStr for Allowed {
    type Err = AllowedError;

    fn from_str(text: &str) -> Result<Allowed, AllowedError> {
        match text.split_once(':') {
            None if text == "everybody" => Ok(Allowed::Everybody),
            Some(("user", name)) if !name.is_empty() => Ok(Allowed::User(name.to_owned())),
            Some(("group", name)) if !name.is_empty() => Ok(Allowed::Group(name.to_owned())),
            _ => Err(AllowedError(text.to_owned())),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Everybody => f.write_str("everybody"),
            Allowed::User(name) => write!(f, "user:{name}"),
            Allowed::Group(name) => write!(f, "group:{name}"),
        }
    }
}

impl Allowed {
    /// What to do where there is none such.
    pub(super) fn remedy(&self) -> String {
        match self {
            Allowed::Everybody => String::new(),
            Allowed::User(name) => format!("make it (`useradd {name}`), or name another"),
            // To try a configuration needs no group: the user who starts a forwarder may do everything anyway.
            Allowed::Group(name) => format!(
                "make it (`groupadd --system {name}`; `scripts/install` makes the group ndn), name another, or delete it from \
                 `allow-local` to try the file as yourself"
            ),
        }
    }

    /// Whether there is such a user or group. One about which the system cannot be asked now may exist.
    pub fn is_known(&self) -> bool {
        match self {
            Allowed::Everybody => true,
            Allowed::User(name) => uid_of(name).is_some() || User::from_name(name).is_err(),
            Allowed::Group(name) => gid_of(name).is_some() || Group::from_name(name).is_err(),
        }
    }

    /// Whether a user with these groups is included.
    fn covers(&self, uid: u32, groups: &[Gid]) -> bool {
        match self {
            Allowed::Everybody => true,
            Allowed::User(name) => uid_of(name) == Some(uid),
            Allowed::Group(name) => gid_of(name).is_some_and(|gid| groups.contains(&Gid::from_raw(gid))),
        }
    }
}

fn uid_of(name: &str) -> Option<u32> {
    let found = User::from_name(name).ok().flatten().map(|user| user.uid.as_raw());
    found.or_else(|| name.parse().ok())
}

fn gid_of(name: &str) -> Option<u32> {
    let found = Group::from_name(name).ok().flatten().map(|group| group.gid.as_raw());
    found.or_else(|| name.parse().ok())
}

/// All groups that the system's databases name for a user.
fn groups_of(uid: u32) -> Vec<Gid> {
    let Ok(Some(user)) = User::from_uid(Uid::from_raw(uid)) else { return Vec::new() };
    let Ok(name) = CString::new(user.name) else { return Vec::new() };
    getgrouplist(&name, user.gid).unwrap_or_else(|_| vec![user.gid])
}

/// Answers from the configuration and the system, cached for a minute, as a lookup may take long.
#[derive(Debug, Default)]
pub struct Users {
    known: HashMap<u32, (Instant, bool)>,
}

impl Users {
    /// Whether a user may register prefixes.
    pub fn may_register(&mut self, allowed: &[Allowed], uid: u32) -> bool {
        if allowed.is_empty() || allowed.contains(&Allowed::Everybody) {
            return !allowed.is_empty();
        }
        if let Some((since, may)) = self.known.get(&uid)
            && since.elapsed() < VALID
        {
            return *may;
        }
        let groups = groups_of(uid);
        let may = allowed.iter().any(|allowed| allowed.covers(uid, &groups));
        if self.known.len() >= MAX_USERS {
            self.known.clear();
        }
        self.known.insert(uid, (Instant::now(), may));
        may
    }

    /// The configuration was read again.
    pub fn forget(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(texts: &[&str]) -> Vec<Allowed> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn users_are_meant_by_name_by_number_and_by_their_groups() {
        let mut users = Users::default();
        let cases: [(&[&str], u32, bool); 7] = [
            (&[], 0, false),
            (&["everybody"], 4_000_000, true),
            (&["user:root"], 0, true),
            (&["user:root", "user:4000000"], 4_000_000, true),
            (&["user:nobody-of-this-name"], 0, false),
            (&["group:root"], 0, true),
            (&["group:root"], 4_000_000, false),
        ];
        for (texts, uid, may) in cases {
            users.forget();
            assert_eq!(users.may_register(&allowed(texts), uid), may, "{texts:?} {uid}");
        }
        assert!(users.may_register(&allowed(&["group:root"]), 0));
    }

    #[test]
    fn invalid_text_is_rejected_with_the_valid_forms() {
        for text in ["", "root", "user:", "group:", "all:x"] {
            assert!(text.parse::<Allowed>().unwrap_err().to_string().contains("everybody"), "{text}");
        }
        for text in ["everybody", "user:root", "group:ndn"] {
            assert_eq!(text.parse::<Allowed>().unwrap().to_string(), text);
        }
        assert!(allowed(&["user:root", "group:root", "everybody"]).iter().all(Allowed::is_known));
        assert!(!allowed(&["group:no-such-group"])[0].is_known());
    }
}
