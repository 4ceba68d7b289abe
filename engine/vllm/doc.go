// Package vllm knows how a vLLM 0.24.0 server speaks: the lines of its log, the facts and phases of its start, and its Prometheus
// metrics. It reads text that is given to it and opens nothing itself.
package vllm
