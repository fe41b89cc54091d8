//! Groups of schemes by where they act, for pages with many.

use ndnweir_core::registry::Family;
use ndnweir_core::scheme::{Parts, Scheme};

/// The group of a named scheme: the part of it that acts furthest from the consumer; `other` for a scheme that a
/// scenario defines.
///
/// Meters and markers only tell consumers what to do, so that a shaper or a strategy says more about a scheme.
pub fn group(name: &str) -> &'static str {
    let Ok(scheme) = Scheme::named(name) else { return "other" };
    let null = Parts::default();
    let order = [
        (Family::Planner, "planner"),
        (Family::Shaper, "shaper: Interests are held hop by hop"),
        (Family::Strategy, "strategy: routers choose paths"),
        (Family::Meter, "meter: routers measure"),
        (Family::Discipline, "queue discipline or marker"),
        (Family::Marker, "queue discipline or marker"),
    ];
    let own = |family: Family| scheme.part(family).name != null.of(family).name;
    order.iter().find(|(family, _)| own(*family)).map_or("consumer alone", |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn schemes_are_grouped_by_what_acts_furthest_from_the_consumer() {
        assert_eq!(group("plain"), "consumer alone");
        assert_eq!(group("cubic"), "queue discipline or marker");
        assert_eq!(group("measured"), "strategy: routers choose paths");
        assert_eq!(group("rcp"), "meter: routers measure");
        assert_eq!(group("hbhcm"), "strategy: routers choose paths");
        assert_eq!(group("his"), "shaper: Interests are held hop by hop");
        assert_eq!(group("ndnsieve"), "planner");
        assert_eq!(group("mine"), "other");
    }
}
