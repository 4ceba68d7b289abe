#!/usr/bin/env bash
# Prints the path of a Python with the programs that exports are read with (DuckDB, PyArrow, Polars, Prometheus's parser, llm-d's report format),
# and installs them first where there is none, under ~/.cache. Spark and Perfetto's trace processor are tested where they are installed.
set -euo pipefail

dir=${XDG_CACHE_HOME:-$HOME/.cache}/opprof-ci/analytics
python=${OPPROF_ANALYTICS_PYTHON:-$dir/bin/python}
if ! "$python" -c 'import duckdb, pyarrow, polars, prometheus_client, llmd_benchmark_report' 2>/dev/null; then
	python3 -m venv "$dir" >&2
	python=$dir/bin/python
	"$python" -m pip install -q duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0 prometheus_client==0.26.0 llmd-benchmark-report==0.2.1 >&2
fi
printf '%s\n' "$python"
