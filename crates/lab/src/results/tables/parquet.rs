//! Tables as Parquet files: undefined values are nulls, and equal tables give equal bytes.

use super::{Column, Table, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescPtr, Type};
use std::fs::File;
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

/// What is read at most. Repeated values take a byte or none in a file, and memory here.
struct Most {
    /// Rows of a table.
    rows: u64,
    /// Values of a table.
    values: u64,
    /// Bytes of all texts.
    text: u64,
}

const MOST: Most = Most { rows: 20_000_000, values: 1 << 26, text: 1 << 30 };

/// A table that [`to_parquet`] wrote.
///
/// # Errors
/// If it is no Parquet file, damaged, too long or has columns of other types.
pub fn from_parquet(name: &str, file: File) -> std::result::Result<Table, String> {
    // The library asserts what a damaged file's metadata may break.
    let decoded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| decode(name, file, &MOST)));
    decoded.map_or_else(|_| Err("the file is damaged".to_owned()), |table| table.map_err(|error| error.to_string()))
}

fn failed<T>(what: String) -> Result<T> {
    Err(ParquetError::General(what))
}

/// What is left of `left` after `taken`.
fn less(left: u64, taken: usize, what: &str) -> Result<u64> {
    let rest = left.checked_sub(taken as u64);
    rest.ok_or_else(|| ParquetError::General(format!("the table has too many {what} to be read")))
}

fn decode(name: &str, file: File, most: &Most) -> Result<Table> {
    let reader = SerializedFileReader::new(file)?;
    let file = reader.metadata().file_metadata();
    let empty = |column: &ColumnDescPtr| {
        if column.max_def_level() > 1 || column.max_rep_level() > 0 {
            return failed(format!("column {}: it is nested", column.name()));
        }
        let values = match column.physical_type() {
            Physical::BYTE_ARRAY => Values::Text(Vec::new()),
            Physical::INT64 => Values::Int(Vec::new()),
            Physical::DOUBLE => Values::Float(Vec::new()),
            other => return failed(format!("column {}: {other} is not read", column.name())),
        };
        Ok(Column { name: column.name().to_owned(), values })
    };
    let mut columns = file.schema_descr().columns().iter().map(empty).collect::<Result<Vec<_>>>()?;
    let (mut rows_left, mut values_left, mut text_left) = (most.rows, most.values, most.text);
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        // What the file says of all groups together may be another number.
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General(format!("{} rows in a group", group.metadata().num_rows())))?;
        rows_left = less(rows_left, rows, "rows")?;
        values_left = less(values_left, rows.saturating_mul(columns.len()), "values")?;
        for (number, column) in columns.iter_mut().enumerate() {
            let from = group.get_column_reader(number)?;
            match (&mut column.values, from) {
                (Values::Text(values), ColumnReader::ByteArrayColumnReader(mut from)) => {
                    let text = |bytes: ByteArray| {
                        // Each row has a copy of what the file may hold once.
                        text_left = less(text_left, bytes.len(), "bytes of text")?;
                        Ok(String::from_utf8_lossy(bytes.data()).into_owned())
                    };
                    read(&mut from, rows, values, text)?;
                }
                (Values::Int(values), ColumnReader::Int64ColumnReader(mut from)) => {
                    read(&mut from, rows, values, Ok)?;
                }
                (Values::Float(values), ColumnReader::DoubleColumnReader(mut from)) => {
                    read(&mut from, rows, values, Ok)?;
                }
                _ => return failed(format!("column {}: its type changes", column.name)),
            }
        }
    }
    Ok(Table { name: name.to_owned(), columns })
}

/// Reads the values of a column in one row group.
fn read<D: DataType, T>(
    from: &mut ColumnReaderImpl<D>,
    rows: usize,
    into: &mut Vec<Option<T>>,
    mut of: impl FnMut(D::T) -> Result<T>,
) -> Result<()> {
    let (mut stored, mut defined) = (Vec::new(), Vec::new());
    let (records, ..) = from.read_records(rows, Some(&mut defined), None, &mut stored)?;
    let mut stored = stored.into_iter();
    let before = into.len();
    into.reserve(records);
    if defined.is_empty() {
        for value in stored {
            into.push(Some(of(value)?));
        }
    } else {
        for level in defined {
            let value = if level > 0 { stored.next() } else { None };
            into.push(value.map(&mut of).transpose()?);
        }
    }
    match into.len() - before {
        all if all == rows => Ok(()),
        all => failed(format!("{all} of {rows} values are there")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tables::{Labelled, runs as runs_table, series};
    use crate::results::{Rows, Run, Series, SeriesKind};
    use std::io::Write as _;

    #[test]
    fn a_file_reads_back_as_the_table_and_damaged_ones_are_errors() {
        let runs: Vec<Run> = (0..3)
            .map(|seed| Run { scheme: format!("s{seed}"), seed, goodput_mbps: seed as f64, ..Run::default() })
            .collect();
        let set = ["link.a-b.rate=1Mbps".to_owned()];
        let label = |run| Labelled {
            experiment: "e",
            case: "c",
            set: &set,
            run,
            attained: None,
            estimate: None,
            optimum: None,
        };
        let table = runs_table(&runs.iter().map(label).collect::<Vec<_>>());
        let bytes = to_parquet(&table).unwrap();
        let read = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            from_parquet("runs", file)
        };
        assert_eq!(read(&bytes).unwrap(), table);
        assert!(read(b"").is_err());
        assert!(read(b"PAR1 is not all of it PAR1").is_err());
        for cut in (0..bytes.len()).step_by(97) {
            assert!(read(&bytes[..cut]).is_err(), "{cut}");
        }
        // Any byte may be wrong: an error or other values, never a panic.
        for at in (0..bytes.len()).step_by(13) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0xff;
            let _: std::result::Result<Table, String> = read(&wrong);
        }
    }

    // A text of 1 kB in each of 3000 rows, and one that is there once, in files of about 1 kB.
    #[test]
    fn a_small_file_of_very_many_equal_values_is_an_error_and_takes_no_memory() {
        let column = |values| Column { name: "x".into(), values };
        let table = |values| Table { name: "runs".into(), columns: vec![column(values)] };
        let file = |values| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&to_parquet(&table(values)).unwrap()).unwrap();
            assert!(file.metadata().unwrap().len() < 4000);
            file
        };
        let text = || Values::Text(vec![Some("x".repeat(1000)); 3000]);
        let none = || Values::Int(vec![None; 3000]);
        let limits = |rows, values, text| Most { rows, values, text };
        for (values, most, error) in [
            (text(), limits(3000, 3000, 3_000_000), None),
            (text(), limits(3000, 3000, 2_999_999), Some("bytes of text")),
            (none(), limits(3000, 3000, 0), None),
            (none(), limits(2999, 3000, 0), Some("rows")),
            (none(), limits(3000, 2999, 0), Some("values")),
        ] {
            let expected = table(values.clone());
            match (decode("runs", file(values), &most), error) {
                (Ok(read), None) => assert_eq!(read, expected),
                (Err(said), Some(error)) => assert!(said.to_string().contains(&format!("too many {error}")), "{said}"),
                (read, error) => panic!("{:?} instead of {error:?}", read.map(|table| table.columns.len())),
            }
        }
    }

    #[test]
    fn a_table_reads_back_with_its_nulls() {
        let mut run = Run { scheme: "pcon".into(), seed: 7, ..Run::default() };
        run.series = Series { bin_s: 0.5, ..Series::default() };
        let columns = vec![vec![1.5, f64::NAN], vec![f64::NAN, 0.25], vec![0.0, 0.0]];
        run.series.tables[0].push(Rows { key: vec![], columns });
        let one =
            Labelled { experiment: "a", case: "", set: &[], run: &run, attained: None, estimate: None, optimum: None };
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
