//! A small feed-forward network.

use crate::check;
use crate::error::SchemeError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Numbers that a policy sees.
pub const OBSERVATIONS: usize = 8;

/// At most so many layers, with so many outputs each.
const MAX_LAYERS: usize = 4;
const MAX_OUTPUTS: usize = 64;

/// No weight is larger: what is summed stays finite.
const LARGEST: f64 = 1e6;

/// Outputs that are each a sum of all inputs times weights, and a bias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Layer {
    /// A row for each output, with a number for each input.
    pub weights: Vec<Vec<f64>>,
    /// A number for each output.
    pub bias: Vec<f64>,
}

/// What the last layer answers, from -1 to 1. Between layers x becomes x / (1 + |x|).
pub(super) fn answer(layers: &[Layer], observation: &[f64; OBSERVATIONS]) -> f64 {
    let mut values = [0.0; MAX_OUTPUTS];
    values[..OBSERVATIONS].copy_from_slice(observation);
    for (number, layer) in layers.iter().enumerate() {
        let mut next = [0.0; MAX_OUTPUTS];
        for ((row, bias), out) in layer.weights.iter().zip(&layer.bias).zip(&mut next) {
            let sum = row.iter().zip(&values).fold(*bias, |sum, (weight, value)| sum + weight * value);
            *out = if number + 1 < layers.len() { sum / (1.0 + sum.abs()) } else { sum };
        }
        values = next;
    }
    values[0].clamp(-1.0, 1.0)
}

/// Rejects layers that do not fit to each other.
pub(super) fn check(layers: &[Layer]) -> Result<(), SchemeError> {
    let wrong = |message: String, help: String| Err(SchemeError::about("layers", format!("layers: {message}"), help));
    if !(1..=MAX_LAYERS).contains(&layers.len()) {
        return wrong(format!("there are {}", layers.len()), format!("give 1 to {MAX_LAYERS}"));
    }
    let mut inputs = OBSERVATIONS;
    for (number, layer) in layers.iter().enumerate() {
        let (number, outputs) = (number + 1, layer.weights.len());
        let last = number == layers.len();
        if last && outputs != 1 {
            let help = "the last layer has one row of weights: the exponent of the window's factor";
            return wrong(format!("layer {number}, the last, has {outputs} rows of weights"), help.into());
        }
        if !(1..=MAX_OUTPUTS).contains(&outputs) {
            let help = format!("give a row for each output, 1 to {MAX_OUTPUTS}");
            return wrong(format!("layer {number} has {outputs} rows of weights"), help);
        }
        if layer.bias.len() != outputs {
            let help = "give one for each row of weights";
            return wrong(
                format!("layer {number} has {} numbers of bias for {outputs} rows", layer.bias.len()),
                help.into(),
            );
        }
        if let Some((row, weights)) = layer.weights.iter().enumerate().find(|(_, row)| row.len() != inputs) {
            let help = match number {
                1 => format!("give {inputs}, one for each number of the observation"),
                _ => format!("give {inputs}, one for each output of layer {}", number - 1),
            };
            return wrong(format!("layer {number}, row {} has {} weights", row + 1, weights.len()), help);
        }
        for value in layer.weights.iter().flatten().chain(&layer.bias) {
            check::number("layers", *value, -LARGEST, LARGEST)?;
        }
        inputs = outputs;
    }
    Ok(())
}
