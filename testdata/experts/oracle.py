"""Writes arrays.json and expected.json beside it: NumPy files in every layout, and the figures of the recorded responses."""
import base64, io, json, pathlib
import numpy as np

here = pathlib.Path(__file__).parent


def figures(counts, k):
    p = counts / counts.sum()
    nonzero = p[p > 0]
    h = float(-(nonzero * np.log2(nonzero)).sum())
    return {"entropy_bits": h, "entropy_normalised": h / np.log2(len(counts)), "max_over_mean": float(counts.max() / counts.mean()),
            "cv": float(counts.std() / counts.mean()), "top_k_share": float(np.sort(counts)[::-1][:k].sum() / counts.sum()),
            "unused_experts": int((counts == 0).sum()), "busiest_expert": int(counts.argmax()), "choices": int(counts.sum())}


def ranks(counts, n):
    loads = np.array([c.sum() for c in np.array_split(counts, n)])
    return {"ranks": loads.tolist(), "max_over_mean": float(loads.max() / loads.mean()), "cv": float(loads.std() / loads.mean())}


def recorded():
    arrays = []
    for path in sorted(here.glob("response*.json")):
        arrays += [np.load(io.BytesIO(base64.b64decode(c["routed_experts"]))) for c in json.loads(path.read_text())["choices"]]
    all_tokens = np.concatenate(arrays)
    layers = []
    for layer in range(all_tokens.shape[1]):
        counts = np.bincount(all_tokens[:, layer].ravel(), minlength=128)
        layers.append({"counts": counts.tolist(), **figures(counts, 8), "ep4": ranks(counts, 4), "ep3": ranks(counts, 3)})
    counts = np.bincount(all_tokens.ravel(), minlength=128)
    return {"tokens": [len(a) for a in arrays], "zero_rows": int((all_tokens == 0).all(axis=2).sum()), "by_layer": layers,
            "all_layers": {**figures(counts, 8), "ep4": ranks(counts, 4)}}


def layouts():
    ids = np.array([[[(7 * t + 3 * l + 5 * k) % 60 for k in range(4)] for l in range(3)] for t in range(5)])
    out = {}
    for kind in ("|u1", "|i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4", "<i8", ">i8", "<u8", ">u8"):
        for order in "CF":
            for version in ((1, 0), (2, 0), (3, 0)):
                file = io.BytesIO()
                np.lib.format.write_array(file, np.array(ids, dtype=kind, order=order), version=version)
                out[f"{kind} {order} {version[0]}"] = base64.b64encode(file.getvalue()).decode()
    return {"ids": ids.tolist(), "files": out}


(here / "expected.json").write_text(json.dumps(recorded(), separators=(",", ":")) + "\n")
(here / "arrays.json").write_text(json.dumps(layouts(), indent=0) + "\n")
