//! A congestion level from 0 (none) to 1, as header fields carry it.

/// A level or utilisation as a 32-bit field: in 1/2³² of the range, above 0 never written as 0 ("not present").
pub fn to_field(level: f64) -> u32 {
    if level > 0.0 { ((level.min(1.0) * f64::from(u32::MAX)) as u32).max(1) } else { 0 }
}

/// The level a field carries.
pub fn of_field(value: u32) -> f64 {
    f64::from(value) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_survive_the_field_and_a_small_one_stays_present() {
        assert_eq!((to_field(0.0), to_field(f64::NAN), to_field(-1.0), to_field(1e-12)), (0, 0, 0, 1));
        assert_eq!((to_field(1.0), to_field(7.0), of_field(u32::MAX)), (u32::MAX, u32::MAX, 1.0));
        assert!((of_field(to_field(0.3)) - 0.3).abs() < 1e-9);
    }
}
