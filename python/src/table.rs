//! Tables of results through Arrow's C data interface.

use crate::errors;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use ndnweir_lab::results::tables::{self, Values};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use pyo3_arrow::PyTable;
use std::sync::Arc;

/// A table of results: rows and typed columns, in memory, that data-frame libraries take without a copy.
#[pyclass(frozen, module = "ndnweir")]
pub(crate) struct Table {
    name: String,
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(py: Python<'_>, table: tables::Table) -> PyResult<Table> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in table.columns {
            let (kind, array): (DataType, ArrayRef) = match column.values {
                Values::Text(values) => (DataType::Utf8, Arc::new(StringArray::from_iter(values))),
                Values::Int(values) => (DataType::Int64, Arc::new(Int64Array::from_iter(values))),
                Values::Float(values) => (DataType::Float64, Arc::new(Float64Array::from_iter(values))),
            };
            fields.push(Field::new(column.name, kind, true));
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|e| errors::work(py, e))?;
        Ok(Table { name: table.name, batch })
    }
}

#[pymethods]
impl Table {
    /// What its rows are.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Lists of values by column.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            let list = if let Some(texts) = column.as_string_opt::<i32>() {
                PyList::new(py, texts.iter())?
            } else if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
                PyList::new(py, numbers.iter())?
            } else {
                PyList::new(py, column.as_primitive::<Float64Type>().iter())?
            };
            dict.set_item(field.name(), list)?;
        }
        Ok(dict)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Arrow's C stream, as its PyCapsule interface has it.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Columns have the types that they have; whoever wants others casts.
        drop(requested_schema);
        let table = PyTable::try_new(vec![self.batch.clone()], self.batch.schema())?;
        let stream = Bound::new(py, table)?.call_method0("__arrow_c_stream__")?;
        Ok(stream.cast_into::<PyCapsule>()?)
    }
}
