"""Compares whole processes that read profiler traces, on two cores.

usage: trace.py OPPROF WINDOW_FOLDER RUN_FOLDER GIGABYTE_FOLDER [ROUNDS]

gzip only unpacks. The msgspec loop decodes typed events and sums the durations of device work: the least that a program in Python can do.
HolisticTraceAnalysis, on the one window, breaks the time down into computation, communication and memory. OpProf does everything:
unions, families, iterations, positions, kernels. What the loop and OpProf sum has to agree. The best of the rounds counts.
"""

import glob
import json
import os
import subprocess
import sys
import time

MSGSPEC = """
import gzip, msgspec, sys
class Event(msgspec.Struct):
    cat: str = ""
    dur: float = 0.0
class Trace(msgspec.Struct):
    traceEvents: list[Event]
decoder = msgspec.json.Decoder(Trace)
work = {"kernel", "gpu_memcpy", "gpu_memset"}
total = count = 0
for path in sys.argv[1:]:
    for e in decoder.decode(gzip.open(path).read()).traceEvents:
        if e.cat in work:
            total += round(e.dur * 1000)
            count += 1
print(count, total)
"""

HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_files={0: sys.argv[1]})
a.get_temporal_breakdown(visualize=False)
a.get_gpu_kernel_breakdown(visualize=False)
"""


def measure(argv, keep):
    """Runs argv on two cores; returns (seconds, CPU seconds, peak bytes, output)."""
    start = time.perf_counter()
    child = subprocess.Popen(["taskset", "-c", "0,1", *argv], stdout=subprocess.PIPE if keep else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    output = child.stdout.read() if keep else b""
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{argv[0]} failed with exit code {child.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output


def best(argv, rounds, keep=False):
    return min((measure(argv, keep) for _ in range(rounds)), key=lambda m: m[0])


def sums_of(text):
    ranks = [r for w in json.loads(text)["windows"] for r in w["ranks"]]
    return [sum(r["kernels"] + r["copies"] + r["sets"] for r in ranks), sum(r["sum_ns"] for r in ranks)]


def main():
    opprof, *folders = sys.argv[1:5]
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 3
    print(f"{'':42}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'of gzip':>9}   load {os.getloadavg()[0]:.1f}")
    failed = False
    for name, folder in zip(("one window", "14 files of two ranks", "one large trace"), folders):
        files = sorted(glob.glob(folder + "/*.gz"))
        contenders = [("gzip -dc", ["gzip", "-dc", *files]), ("msgspec, sums only", [sys.executable, "-c", MSGSPEC, *files]),
                      ("opprof trace --json, everything", [opprof, "trace", "--json", folder])]
        if len(files) == 1 and os.path.getsize(files[0]) < 10_000_000:
            contenders.insert(2, ("HolisticTraceAnalysis", [sys.executable, "-c", HTA, files[0]]))
        print(f"{name}: {sum(map(os.path.getsize, files)) / 1e6:.1f} MB packed")
        times, sums = {}, {}
        for label, argv in contenders:
            seconds, cpu, peak, output = best(argv, rounds, keep=label[0] in "mo")
            times[label] = seconds
            if label[0] == "o":
                sums[label] = sums_of(output)
            elif label[0] == "m":
                sums[label] = [int(v) for v in output.split()]
            print(f"  {label:40}{seconds:9.3f}{cpu:9.3f}{peak / 1e6:9.0f}{seconds / times['gzip -dc']:9.2f}")
        if len(set(map(tuple, sums.values()))) != 1:
            print(f"  THE SUMS DIFFER: {sums}")
            failed = True
        ours = times["opprof trace --json, everything"]
        for label, seconds in times.items():
            if label[0] != "o":
                print(f"  {seconds / ours:6.1f} times as fast as {label}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
