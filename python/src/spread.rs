//! Spread over seeds, as reports have it.

use ndnweir_lab::evaluation;
use ndnweir_lab::results::Summary;
use pyo3::prelude::*;

/// Half the width of the 95 % confidence interval of the mean of `values`, by Student's t; `None` with fewer than two.
#[pyfunction]
pub(crate) fn half_width(values: Vec<f64>) -> Option<f64> {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    let sd = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
    evaluation::half_width(&Summary { mean, sd, n })
}
