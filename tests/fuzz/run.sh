#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs each of them for a while.
# usage: tests/fuzz/run.sh [SECONDS_PER_TARGET]     (default 60)
# Ends with 1 when a target fails, and names the file that made it fail. FUZZ_BUILD names another build folder.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-60}
if [[ $# -gt 1 || ! $seconds =~ ^[0-9]+$ ]]; then
    sed -n '2,4s/^# //p' "$0"
    exit 2
fi
cd "$root"
build=${FUZZ_BUILD:-$root/build/fuzz}
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target fuzz_reader fuzz_gzip fuzz_json fuzz_seeds -- --quiet

corpus=$build/corpus
cases=$root/../shared/field-cases/cases
"$build/tests/fuzz/fuzz_seeds" "$build/seeds" $([[ -d $cases ]] && echo "$cases")
failed=()
for target in reader gzip json; do
    mkdir -p "$corpus/$target" "$build/artifacts"
    log=$build/fuzz_$target.log
    options=(-max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=8192 -print_final_stats=1
        -artifact_prefix="$build/artifacts/$target-")
    [[ $target == gzip ]] || options+=(-dict="$root/tests/fuzz/trace.dict")
    # New inputs go to the first folder; the committed crash files are inputs, too.
    if "$build/tests/fuzz/fuzz_$target" "${options[@]}" "$corpus/$target" "$build/seeds/$target" \
        "$root/tests/fuzz/crashes" >"$log" 2>&1; then
        awk -v name="fuzz_$target" '
            /stat::number_of_executed_units/ { runs = $2 }
            /stat::average_exec_per_sec/ { rate = $2 }
            /stat::peak_rss_mb/ { memory = $2 }
            / cov: / { for (i = 1; i < NF; ++i) if ($i == "cov:") cover = $(i + 1) }
            END { printf "%-12s %9d runs  %6d a second  %6d edges  %5d MB\n", name, runs, rate, cover, memory }' "$log"
    else
        failed+=("$target")
        echo "fuzz_$target FAILED, see $log:"
        grep -aE -m 3 'runtime error|ERROR: |BrokenPromise|what\(\)' "$log" || true
        grep -a 'Test unit written to' "$log" || true
    fi
done
if [[ ${#failed[@]} -ne 0 ]]; then
    echo "Cut the file down with -minimize_crash=1, and add it to tests/fuzz/crashes with a telling name."
    exit 1
fi
