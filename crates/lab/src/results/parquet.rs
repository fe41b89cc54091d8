//! Series as Parquet: the columns of the CSV files, with undefined values as nulls.

use super::{Run, SeriesKind};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// The table of all given runs; `None` if none of them has it.
pub(super) fn write<'a>(runs: impl Iterator<Item = &'a Run>, kind: SeriesKind) -> Option<Vec<u8>> {
    // Writing to memory does not fail; a test would reveal an error in the schema.
    encode(&runs.collect::<Vec<_>>(), kind).ok().flatten()
}

fn field(name: &str, physical: Physical, text: bool, repetition: Repetition) -> Result<Arc<Type>> {
    let logical = text.then_some(LogicalType::String);
    let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

fn encode(runs: &[&Run], kind: SeriesKind) -> Result<Option<Vec<u8>>> {
    // (run, rows, bin) of every line, in the order of the CSV file.
    let mut lines = Vec::new();
    for run in runs {
        for rows in run.series.table(kind) {
            lines.extend((0..rows.columns.first().map_or(0, Vec::len)).map(|bin| (*run, rows, bin)));
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let mut fields = vec![
        field("scheme", Physical::BYTE_ARRAY, true, Repetition::REQUIRED)?,
        field("seed", Physical::INT64, false, Repetition::REQUIRED)?,
        field("time_s", Physical::DOUBLE, false, Repetition::REQUIRED)?,
    ];
    for key in kind.keys() {
        fields.push(field(key, Physical::BYTE_ARRAY, true, Repetition::REQUIRED)?);
    }
    for metric in kind.metrics() {
        fields.push(field(metric, Physical::DOUBLE, false, Repetition::OPTIONAL)?);
    }
    let schema = Arc::new(Type::group_type_builder(kind.name()).with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_created_by("ndnweir".to_owned()).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    texts(&mut group, lines.iter().map(|l| l.0.scheme.as_str()))?;
    let seeds: Vec<i64> = lines.iter().map(|l| l.0.seed.cast_signed()).collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<Int64Type>().write_batch(&seeds, None, None)?;
        column.close()?;
    }
    let times: Vec<f64> = lines.iter().map(|l| super::significant(l.2 as f64 * l.0.series.bin_s, 9)).collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<DoubleType>().write_batch(&times, None, None)?;
        column.close()?;
    }
    for key in 0..kind.keys().len() {
        texts(&mut group, lines.iter().map(|l| l.1.key.get(key).map_or("", String::as_str)))?;
    }
    for metric in 0..kind.metrics().len() {
        let value = |l: &(&Run, &super::Rows, usize)| l.1.columns[metric].get(l.2).copied().filter(|v| v.is_finite());
        let defined: Vec<i16> = lines.iter().map(|l| i16::from(value(l).is_some())).collect();
        let values: Vec<f64> = lines.iter().filter_map(value).map(|v| super::significant(v, 6)).collect();
        if let Some(mut column) = group.next_column()? {
            column.typed::<DoubleType>().write_batch(&values, Some(&defined), None)?;
            column.close()?;
        }
    }
    group.close()?;
    writer.close()?;
    Ok(Some(bytes))
}

fn texts<'a, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let values: Vec<ByteArray> = values.map(ByteArray::from).collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Rows, Series};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn a_table_reads_back_with_its_nulls() {
        let mut run = Run { scheme: "pcon".into(), seed: 7, ..Run::default() };
        run.series = Series { bin_s: 0.5, ..Series::default() };
        let columns = vec![vec![1.5, f64::NAN], vec![f64::NAN, 0.25], vec![0.0, 0.0]];
        run.series.tables[0].push(Rows { key: vec![], columns });
        let bytes = write([&run].into_iter(), SeriesKind::Network).unwrap();
        let dir = std::env::temp_dir().join(format!("ndnweir-parquet-{}", std::process::id()));
        std::fs::write(&dir, &bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&dir).unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|r| r.unwrap().to_string()).collect();
        std::fs::remove_file(&dir).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows[1].contains("scheme: \"pcon\"") && rows[1].contains("goodput_mbps: null"), "{}", rows[1]);
        assert_eq!(write([&run].into_iter(), SeriesKind::Shares), None);
    }
}
