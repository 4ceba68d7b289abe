// Package llmd writes what a run and its load measured as a benchmark report of llm-d, version 0.2.1
// (llm-d-benchmark, llmdbenchmark/analysis/benchmark_report): version, run, scenario and results. What is not known is left out, and a part
// whose required fields are not known is left out whole.
package llmd
