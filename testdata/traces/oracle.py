"""Adds the figures of the folders below to expected.json, and writes stalls.json: python3 oracle.py

The sums are those of expected.json in SOURCE.tsv. An export is by how much the step behind a window's last labelled one took longer, from
its submission to its completion, than the labelled ones but the last in the median; the longest step is that of the window as a whole. Needs
zstdcat.
"""
import decimal, json, pathlib, statistics, subprocess

here = pathlib.Path(__file__).parent
FOLDERS = "h200-tp1-compiling", "h200-tp1-none", "h200-tp1-eager"
WHOLE = "h200-tp1", "h200-tp2", "h200-tp2-eager"  # folders of whole recordings
CERTAIN = {"attention": ("flash::", "reshape_and_cache"), "expert_gemm": ("fused_moe_kernel",), "sampling": ("ArgMaxOps",)}


def unpacked(path):
    return subprocess.run(["zstdcat", path], check=True, capture_output=True).stdout.decode()


def ns(us):
    return int(decimal.Decimal(us) * 1000)


def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total, end = total + b - a, b
        elif b > end:
            total, end = total + b - end, b
    return total


def window(text):
    trace = json.loads(text, parse_float=str, parse_int=str)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    span = lambda e: (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]))
    work = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    launch = {e["args"]["correlation"]: ns(e["ts"]) for e in events if e["cat"] in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    labels = sorted((ns(e["ts"]), e["name"]) for e in events if e["cat"] == "user_annotation" and e["name"].startswith("execute_context_"))
    iterations = [[] for _ in labels]
    for e in work:
        at = launch.get(e["args"]["correlation"])
        before = [i for i, (begin, _) in enumerate(labels) if at is not None and begin <= at]
        if before:
            iterations[before[-1]].append(span(e))
    count = lambda cat: sum(e["cat"] == cat for e in work)
    spans = [span(e) for e in work]
    families = {name: [span(e) for e in work if e["cat"] == "kernel" and any(p in e["name"] for p in parts)] for name, parts in CERTAIN.items()}
    families["memory"] = [span(e) for e in work if e["cat"] != "kernel" or e["name"].startswith("memcpy32_post")]  # a node that the driver adds
    length = lambda s: sum(b - a for a, b in s)
    return {"kernels": count("kernel"), "copies": count("gpu_memcpy"), "sets": count("gpu_memset"), "sum_ns": length(spans), "union_ns": union(spans),
            "noncoll_union_ns": union(spans), "labels": [n for _, n in labels],
            "began": [int(trace["baseTimeNanoseconds"]) + t for t, _ in labels],
            "iterations": [{"union_ns": union(s), "sum_ns": length(s), "launches": len(s)} for s in iterations],
            "base": int(trace.get("baseTimeNanoseconds", 0)),
            "families": {n: {"sum_ns": length(s), "launches": len(s)} for n, s in families.items() if s}}


def stall(text, labels, began, scheduled):
    lines = [json.loads(l) for l in text.splitlines()]
    steps = {l["step_index"]: l for l in lines if "step_index" in l}
    words = lambda s: "execute_context_%d(%d)_generation_%d(%d)" % (s["prefill_requests"], s["prefill_tokens"], s["decode_batch_size"], s["decode_tokens"])
    period = {i: s["complete_mono_ns"] - max(steps[i - 1]["complete_mono_ns"], s["submit_mono_ns"]) for i, s in steps.items() if i - 1 in steps}
    first = [i for i in steps if [words(steps[j]) for j in range(i, i + len(labels)) if j in steps] == labels]
    start = [l["after_step"] for l in lines if l.get("type") == "profile" and l["action"] == "start"]
    stop = [l["after_step"] for l in lines if l.get("type") == "profile" and l["action"] == "stop"]
    out = []
    for a, b in zip(start, stop):
        inside = [i for i in first if i == a + 1 or scheduled and a < i <= b]  # a torch schedule warms up for some steps
        if inside:
            at = min(inside, key=lambda i: abs(steps[i]["submit_wall_ns"] - began))
            last = at + len(labels) - 1
            span = {i: steps[i]["complete_mono_ns"] - steps[i]["submit_mono_ns"] for i in range(at, last + 2)}
            usual = statistics.median_low(span[i] for i in range(at, last))
            out.append({"first": at, "last": last, "export_ns": span[last + 1] - usual, "longest_ns": max(period[i] for i in range(a + 1, b + 1))})
    return min(out, key=lambda w: abs(steps[w["first"]]["submit_wall_ns"] - began))


def labels(text):
    trace = json.loads(text, parse_float=str, parse_int=str)
    found = sorted((ns(e["ts"]), e["name"]) for e in trace["traceEvents"] if e.get("cat") == "user_annotation" and e["name"].startswith("execute_context_"))
    return [n for _, n in found], int(trace["baseTimeNanoseconds"]) + found[0][0]


expected, told = json.loads((here / "expected.json").read_text()), {}
for folder in FOLDERS:
    for path in (here / folder).glob("*.zst"):
        w = expected[folder + "/" + path.stem] = window(unpacked(path))
        told[folder] = [stall(unpacked(here.parent / "records" / "cut" / (folder + ".jsonl.zst")), w["labels"], w.pop("began")[0], "eager" in folder)]
for folder in WHOLE:
    records = unpacked(here.parent / "records" / (folder + ".jsonl.zst"))
    windows = [stall(records, *labels(unpacked(path)), False) for path in (here / folder).glob("*rank0.*.zst")]
    told[folder] = sorted(windows, key=lambda w: w["first"])
(here / "expected.json").write_text("{\n" + ",\n".join(json.dumps(k) + ": " + json.dumps(expected[k], separators=(",", ":")) for k in sorted(expected)) + "}\n")
(here / "stalls.json").write_text(json.dumps(told, indent=1) + "\n")
