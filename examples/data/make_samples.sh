#!/bin/sh
# Makes the two sample traces of this folder with `tracelens synth`, which is built first if no build is there.
# Running it again gives the same bytes.
# usage: examples/data/make_samples.sh [PATH_OF_TRACELENS]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tracelens=${1:-}
if [ -z "$tracelens" ]; then
    for preset in release ci debug ci-clang; do
        if [ -z "$tracelens" ] && [ -x "$root/build/$preset/tracelens" ]; then tracelens=$root/build/$preset/tracelens; fi
    done
fi
if [ -z "$tracelens" ]; then
    (cd "$root" && cmake --preset release >/dev/null && cmake --build --preset release --target tracelens_driver)
    tracelens=$root/build/release/tracelens
fi

# Two training steps on one of eight MI300X: overlapped and exposed all-reduces, a blocking input copy, idle before
# the optimizer.
"$tracelens" synth -o "$here/training_mi300x.json.gz" \
  --vendor amd --workload training --collectives --layers 2 --stack-depth 14 --steps 2 --seed 300 --compact --no-memory-events

# One prefill and one decode step on an H100, small enough to read.
"$tracelens" synth -o "$here/inference_h100.json" \
  --vendor nvidia --workload inference --layers 1 --stack-depth 6 --steps 2 --seed 100 --compact --no-memory-events
