#!/usr/bin/env bash
# Installs what is missing, builds the driver, and analyses a trace.
# usage: examples/quickstart.sh [TRACE [OUTPUT_FOLDER]]    (default: the bundled training trace, ./tracelens_report)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,3s/^# //p' "$0"
    exit 0
fi
trace=${1:-$root/examples/data/training_mi300x.json.gz}
output=${2:-tracelens_report}

"$root/examples/install_packages.sh" build
cmake -S "$root" --preset release >/dev/null
cmake --build "$root/build/release"
"$root/build/release/tracelens" analyze "$trace" -o "$output"
echo "driver: $root/build/release/tracelens (try: tracelens info $trace)"
