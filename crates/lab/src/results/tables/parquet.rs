//! Tables as Parquet files: undefined values are nulls, and equal tables give equal bytes.

use super::{Column, Table, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// Most rows of a row group.
const GROUP: usize = 1 << 20;

/// A table as a Parquet file.
///
/// # Errors
/// None are known: writing to memory does not fail. The text is the library's.
pub fn to_parquet(table: &Table) -> std::result::Result<Vec<u8>, String> {
    encode(table).map_err(|error| error.to_string())
}

fn encode(table: &Table) -> Result<Vec<u8>> {
    let fields = table.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder(&table.name).with_fields(fields).build()?);
    let properties =
        WriterProperties::builder().set_created_by("ndnweir".to_owned()).set_compression(Compression::UNCOMPRESSED);
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build()))?;
    let mut from = 0;
    while from < table.len() {
        let to = table.len().min(from + GROUP);
        let mut group = writer.next_row_group()?;
        for column in &table.columns {
            match &column.values {
                Values::Text(values) => {
                    write::<ByteArrayType, _>(&mut group, &values[from..to], |text| ByteArray::from(text.as_str()))?;
                }
                Values::Int(values) => write::<Int64Type, _>(&mut group, &values[from..to], |n| *n)?,
                Values::Float(values) => write::<DoubleType, _>(&mut group, &values[from..to], |x| *x)?,
            }
        }
        group.close()?;
        from = to;
    }
    writer.close()?;
    Ok(bytes)
}

fn field(column: &Column) -> Result<Arc<Type>> {
    let (physical, logical) = match column.values {
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Int(_) => (Physical::INT64, None),
        Values::Float(_) => (Physical::DOUBLE, None),
    };
    let builder = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

fn write<D: DataType, T>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[Option<T>],
    as_stored: impl Fn(&T) -> D::T,
) -> Result<()> {
    let defined: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let stored: Vec<D::T> = values.iter().flatten().map(as_stored).collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<D>().write_batch(&stored, Some(&defined), None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tables::{Labelled, series};
    use crate::results::{Rows, Run, Series, SeriesKind};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn a_table_reads_back_with_its_nulls() {
        let mut run = Run { scheme: "pcon".into(), seed: 7, ..Run::default() };
        run.series = Series { bin_s: 0.5, ..Series::default() };
        let columns = vec![vec![1.5, f64::NAN], vec![f64::NAN, 0.25], vec![0.0, 0.0]];
        run.series.tables[0].push(Rows { key: vec![], columns });
        let one = Labelled { experiment: "a", case: "", set: &[], run: &run, attained: None, optimum: None };
        let bytes = to_parquet(&series(&[one], SeriesKind::Network)).unwrap();
        let file = std::env::temp_dir().join(format!("ndnweir-parquet-{}", std::process::id()));
        std::fs::write(&file, &bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&file).unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|r| r.unwrap().to_string()).collect();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows[1].contains("scheme: \"pcon\"") && rows[1].contains("goodput_mbps: null"), "{}", rows[1]);
        assert!(rows[1].contains("jain: 0.25") && rows[1].contains("seed: 7"), "{}", rows[1]);
        let none = to_parquet(&series(&[one], SeriesKind::Shares)).unwrap();
        assert!(none.len() < bytes.len());
    }
}
