#!/bin/sh
# Measures an open screen on a pseudo terminal of 180 by 50: bytes, processor time, memory, and the time from a key to its picture.
# Prints the table of docs/performance.md. Linux only. usage: .ci/bench/screen.sh [SECONDS]
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/" ./cmd/opprof ./.ci/bench/screen
"$work/screen" -opprof "$work/opprof" -for "${1:-30}s"
