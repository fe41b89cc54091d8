//! Checks of parameters that components have in common.

use crate::error::SchemeError;
use crate::units::{Bytes, Duration};

/// Checks a number to lie within `min..=max`.
///
/// # Errors
/// Names the parameter, its value and a valid one.
pub fn number(name: &str, value: f64, min: f64, max: f64) -> Result<(), SchemeError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(SchemeError::value(name, value, "is out of range", format!("give a number from {min} to {max}")))
}

/// Checks a factor by which something is made smaller: above 0 and below 1.
///
/// # Errors
/// As [`number`].
pub fn factor(name: &str, value: f64) -> Result<(), SchemeError> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(SchemeError::value(name, value, "makes nothing smaller", "give a number above 0 and below 1"))
}

/// Checks a time to be `least` or longer.
///
/// # Errors
/// As [`number`].
pub fn least(name: &str, value: Duration, least: Duration) -> Result<(), SchemeError> {
    if value >= least {
        return Ok(());
    }
    Err(SchemeError::value(name, value, "is too short", format!("give at least \"{least}\"")))
}

/// Checks the size assumed for Data before the first arrives: above zero.
///
/// # Errors
/// As [`number`].
pub fn data_size(name: &str, value: Bytes) -> Result<(), SchemeError> {
    if value > Bytes::ZERO {
        return Ok(());
    }
    Err(SchemeError::value(name, value, "is not the size of a Data", "give the size of a Data such as \"1250B\""))
}
