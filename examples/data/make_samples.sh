#!/bin/sh
# Makes the two sample traces of this folder with the trace generator. Running it again gives the same bytes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$here/../../bench/synth
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${CXX:-g++}" -std=c++20 -O2 "$source"/*.cpp -lz -o "$work/tracelens-synth"

# Two training steps on one of eight MI300X: overlapped and exposed all-reduces, a blocking input copy, idle before the optimizer.
"$work/tracelens-synth" --out "$here/training_mi300x.json.gz" \
  --vendor amd --workload training --collectives --layers 2 --stack-depth 14 --steps 2 --seed 300 --compact --no-memory-events

# One prefill and one decode step on an H100, small enough to read.
"$work/tracelens-synth" --out "$here/inference_h100.json" \
  --vendor nvidia --workload inference --layers 1 --stack-depth 6 --steps 2 --seed 100 --compact --no-memory-events
