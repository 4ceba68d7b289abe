#!/bin/sh
# Compares reading profiler traces with what else reads them, each as a whole process on the same two cores: one window, the 14 files of a
# run on two ranks, and a trace of a gigabyte. Needs Go, gzip, python3 with venv, taskset and the package index. Other work on the machine
# is why the CPU time is told beside the wall time.
# usage: .ci/bench/trace.sh [MB [ROUNDS]]
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check msgspec==0.23.0 HolisticTraceAnalysis==0.5.0 setuptools
go build -o "$work/" ./.ci/bench/tracegen ./cmd/opprof

traces=testdata/traces
mkdir "$work/window" "$work/run" "$work/gigabyte"
window=dp0_pp0_tp0_dcp0_ep0_rank0.1796003522504164714.pt.trace.json
"$work/tracegen" -in "$traces/h200-tp1/$window.zst" -out "$work/window/$window.gz"
"$work/tracegen" -in "$traces/h200-tp1/$window.zst" -out "$work/gigabyte/$window.gz" -mb "${1:-1000}"
# Seven windows on two ranks: the three of the recording, and copies of them moved on in time.
n=0
for shift in 0 60 120; do
	for file in "$traces"/h200-tp2/*.zst; do
		[ $n -lt 14 ] || break
		name=$(basename "$file" .zst)
		rank=${name%%.*}
		stamp=${name#*.}
		stamp=${stamp%%.*}
		"$work/tracegen" -in "$file" -shift "$shift" -out "$work/run/$rank.$((stamp + shift * 1000000000)).pt.trace.json.gz"
		n=$((n + 1))
	done
done
"$work/venv/bin/python" .ci/bench/trace.py "$work/opprof" "$work/window" "$work/run" "$work/gigabyte" "${2:-3}"
