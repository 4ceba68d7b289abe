// Package columnar writes rows of Go values as Parquet files, column by column and without reflection. What a column is called, its unit and what it
// means are said once, where it is made; files and documents say the same.
//
// Strings are dictionary-encoded, integers packed by their differences, pages compressed with zstd. Unknown values are null. A fixed-length list is
// a LIST of constant length, which every reader knows.
package columnar
