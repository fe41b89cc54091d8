//! Which controller may change things: the one with the highest election of its role.
//!
//! Source: OpenConfig, gNMI master arbitration 0.1.0, section 3.2.

use crate::model::Answer;
use crate::proto::gnmi_ext::MasterArbitration;
use std::collections::BTreeMap;
use tonic::Status;

/// Roles at most, and bytes of a role's name.
const MAX_ROLES: usize = 16;
const MAX_NAME: usize = 256;

/// The highest election seen, by role.
#[derive(Debug, Default)]
pub(super) struct Arbitration {
    highest: BTreeMap<String, u128>,
}

impl Arbitration {
    /// Whether the sender of a Set is the master of its role, from now on.
    pub(super) fn check(&mut self, arbitration: Option<&MasterArbitration>) -> Answer<()> {
        // A client that takes no part in elections is served.
        let Some(arbitration) = arbitration else { return Ok(()) };
        let Some(election) = &arbitration.election_id else {
            return Err(Status::invalid_argument("master_arbitration has no election_id"));
        };
        let election = u128::from(election.high) << 64 | u128::from(election.low);
        let role = arbitration.role.as_ref().map_or("", |role| &role.id);
        if role.len() > MAX_NAME || (self.highest.len() >= MAX_ROLES && !self.highest.contains_key(role)) {
            return Err(Status::resource_exhausted(format!("there may be {MAX_ROLES} roles, of {MAX_NAME} bytes")));
        }
        let highest = self.highest.entry(role.to_owned()).or_default();
        if election < *highest {
            return Err(Status::permission_denied(format!("another client is master: its election_id is {highest}")));
        }
        *highest = election;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::gnmi_ext::{Role, Uint128};
    use tonic::Code;

    fn of(role: &str, high: u64, low: u64) -> MasterArbitration {
        let role = (!role.is_empty()).then(|| Role { id: role.into() });
        MasterArbitration { role, election_id: Some(Uint128 { high, low }) }
    }

    #[test]
    fn the_highest_election_of_each_role_is_obeyed() {
        let mut arbitration = Arbitration::default();
        let mut check = |of: &MasterArbitration| arbitration.check(Some(of)).map_err(|status| status.code());
        assert_eq!(check(&of("", 0, 5)), Ok(()));
        assert_eq!(check(&of("", 0, 4)), Err(Code::PermissionDenied));
        assert_eq!(check(&of("", 0, 5)), Ok(()), "the same client again");
        assert_eq!(check(&of("", 1, 0)), Ok(()), "the high half counts more");
        assert_eq!(check(&of("", 0, u64::MAX)), Err(Code::PermissionDenied));
        assert_eq!(check(&of("backup", 0, 1)), Ok(()), "another role");
        assert_eq!(check(&MasterArbitration::default()), Err(Code::InvalidArgument));
        assert!((0..99).any(|role| check(&of(&format!("r{role}"), 0, 1)) == Err(Code::ResourceExhausted)));
        assert!(arbitration.check(None).is_ok());
    }
}
