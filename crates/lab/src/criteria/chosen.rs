//! Schemes by name in the scenarios of a criterion.

use super::model::Criterion;
use crate::experiment::{ChoiceError, Error, choose};
use ndnweir_core::scheme::Scheme;

/// The schemes called `names` in the scenario of a cell.
pub(super) fn chosen(
    criterion: &Criterion,
    cell: (usize, usize),
    names: &[String],
) -> Result<Vec<Scheme>, ChoiceError> {
    choose(&criterion.experiments[cell.0].cases[cell.1].scenario, names)
}

/// The scheme called `name` as each cell's scenario has it.
pub(super) fn schemes_in(criterion: &Criterion, name: &String) -> Result<Vec<Scheme>, Error> {
    let find = |cell| chosen(criterion, cell, std::slice::from_ref(name))?.into_iter().next().ok_or(Error::Nothing);
    criterion.cells().map(find).collect()
}
