#!/bin/sh
# Compares reading a Layer-1 file with DuckDB and Polars, on one core. Needs Go, python3 with venv, taskset and the package index.
# usage: .ci/bench/read.sh [MB [ROUNDS]]
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 polars==2.1.0
go build -o "$work/" ./.ci/bench/gen ./.ci/bench/read
"$work/gen" -mb "${1:-300}" -out "$work/stream.jsonl"
"$work/venv/bin/python" .ci/bench/compare.py "$work/read" "$work/stream.jsonl" "${2:-3}"
