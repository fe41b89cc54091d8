//! Comparisons of floating-point numbers in the path of every packet.
//!
//! `f64::min` and `f64::max` find out whether one of the two is not a number, which takes five instructions where these
//! take one. With numbers the results are the same.

/// The lesser of two numbers; `b` if one of them is not a number.
#[inline(always)]
pub fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The greater of two numbers; `b` if one of them is not a number.
#[inline(always)]
pub fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_numbers_it_is_the_lesser_or_the_greater_and_of_what_is_none_the_second() {
        for (a, b) in [(1.0, 2.0), (2.0, 1.0), (-3.0, -3.0), (f64::INFINITY, 0.0), (f64::MIN, f64::MAX)] {
            assert_eq!((lesser(a, b), greater(a, b)), (f64::min(a, b), f64::max(a, b)));
        }
        assert_eq!((lesser(f64::NAN, 1.0), greater(f64::NAN, 1.0)), (1.0, 1.0));
    }
}
