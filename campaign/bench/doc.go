// Package bench reads what load generators measured and builds the command of `vllm bench serve`. Results of every generator end up as the
// same fields, under the names that vLLM 0.24.0 gives them, with what is not known left unknown.
//
// The formats were read in the generators' sources: vLLM 0.24.0 (vllm/benchmarks/serve.py), GuideLLM 0.7.3 (report version 2), AIPerf 0.1.1
// (profile_export_aiperf.json) and inference-perf 0.5.0 (lifecycle metrics). Files of other versions are read as far as they have these fields.
package bench
