// Package export turns a run into tables that other programs query: Parquet files for DuckDB, Spark, Polars and PyArrow. Its neighbours below this
// folder write other formats.
package export
