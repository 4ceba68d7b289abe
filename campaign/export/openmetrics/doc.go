// Package openmetrics says what a run's records tell as OpenMetrics text (version 1.0.0), for Prometheus and what reads its format: under vLLM's own
// names where vLLM has one (vllm/v1/metrics/loggers.py), as opprof_* otherwise. All families are gauges, counters and histograms, so that the
// textfile collector takes the text as well.
package openmetrics
