// Package dataset keeps a folder of exported tables: <table>/campaign=<c>/run=<r>/engine=<e>/part-<n>.parquet, as DuckDB, Spark, Polars and PyArrow
// find partitions. A run's files get their names all at once when it is whole; one export at a time writes to a folder.
package dataset
