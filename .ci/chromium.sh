#!/usr/bin/env bash
# Prints the path of a Chromium for the tests of reports, and installs one first where there is none: by the system's package manager, or else
# under ~/.cache by Playwright.
set -euo pipefail

for name in "${OPPROF_CHROMIUM:-}" chromium chromium-browser google-chrome chrome-headless-shell; do
	if [ -n "$name" ] && command -v "$name"; then
		exit
	fi
done
cache=${XDG_CACHE_HOME:-$HOME/.cache}/opprof-ci/chromium
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >&2
	command -v chromium
	exit
fi
if [ ! -x "$cache/venv/bin/playwright" ]; then
	python3 -m venv "$cache/venv" >&2
	"$cache/venv/bin/pip" install -q playwright==1.65.2 >&2
fi
PLAYWRIGHT_BROWSERS_PATH=$cache "$cache/venv/bin/playwright" install --only-shell chromium >&2
find "$cache" -name 'headless_shell' -o -name 'chrome-headless-shell' -type f | head -n 1
