"""Compares reading one Layer-1 file on one core: DuckDB, Polars and OpProf.

usage: compare.py READ_BINARY FILE [ROUNDS]

DuckDB and Polars answer one question (steps, sum of prefill tokens, largest KV usage) with the columns given, so that they need not
guess types. OpProf decodes every field; then also holds every invariant; then also computes every aggregate of its screen. Every
contender is a process of its own on core 0, start included; the answers have to agree. The best of the rounds counts.
"""

import os
import subprocess
import sys
import time

# The fields that the question needs; step lines alone have a step_index.
DUCKDB = """
import duckdb, sys
c = duckdb.connect(config={"threads": 1})
print(*c.execute('''
  SELECT count(step_index), sum(prefill_tokens), max(kv.usage)
  FROM read_json(?, format='newline_delimited',
                 columns={step_index: 'BIGINT', prefill_tokens: 'BIGINT', kv: 'STRUCT(usage DOUBLE)'})
''', [sys.argv[1]]).fetchone())
"""

POLARS = """
import polars as pl, sys
schema = {"step_index": pl.Int64, "prefill_tokens": pl.Int64, "kv": pl.Struct({"usage": pl.Float64})}
q = pl.scan_ndjson(sys.argv[1], schema=schema).select(
    pl.col("step_index").count(), pl.col("prefill_tokens").sum(), pl.col("kv").struct.field("usage").max())
print(*q.collect(engine="streaming").row(0))
"""

ENVIRONMENT = {"GOMAXPROCS": "1", "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}


def measure(argv):
    """Runs argv on core 0 and returns (seconds, CPU seconds, peak bytes, output)."""
    start = time.perf_counter()
    child = subprocess.Popen(["taskset", "-c", "0", *argv], stdout=subprocess.PIPE, env={**os.environ, **ENVIRONMENT})
    output = child.stdout.read().decode().split()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{argv[0]} failed with exit code {child.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output


def main():
    read, path = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    size = os.path.getsize(path)
    contenders = [
        ("DuckDB, one question", [sys.executable, "-c", DUCKDB, path]),
        ("Polars, one question", [sys.executable, "-c", POLARS, path]),
        ("OpProf, every field", [read, "decode", path]),
        ("OpProf, and every invariant", [read, "check", path]),
        ("OpProf, and every aggregate", [read, "store", path]),
    ]
    with open(path, "rb") as f:  # into the page cache, for all alike
        while f.read(1 << 24):
            pass
    best, peak, answers = {}, {}, {}
    for _ in range(rounds):
        for name, argv in contenders:
            _, cpu, memory, answers[name] = measure(argv)
            best[name] = min(best.get(name, cpu), cpu)
            peak[name] = max(peak.get(name, 0), memory)
    base = best[contenders[0][0]]
    print(f"{size / 1e6:.0f} MB, one core, best CPU time of {rounds} rounds, process start included")
    print(f"{'':30} {'CPU s':>7} {'MB/s':>7} {'x DuckDB':>9} {'peak MB':>8}")
    for name, _ in contenders:
        print(f"{name:30} {best[name]:7.3f} {size / best[name] / 1e6:7.0f} {base / best[name]:9.2f} {peak[name] / 1e6:8.0f}")
    want = answers[contenders[0][0]]
    for name, answer in answers.items():
        if [float(x) for x in answer] != [float(x) for x in want]:
            sys.exit(f"answers differ: {contenders[0][0]} {want}, {name} {answer}")
    print("all answers agree: steps, prefill tokens, largest KV usage =", *want)


if __name__ == "__main__":
    main()
