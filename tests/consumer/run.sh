#!/usr/bin/env bash
# Installs the package into a scratch prefix and builds an outside project against it, twice: header-only and with the
# compiled library. Then builds a program that only has the include path.
# usage: run.sh BUILD_DIR CXX
set -euo pipefail
build=$1
cxx=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -S "$here/project" -B "$scratch/project" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
      -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$scratch/project" >/dev/null
for program in header_only compiled; do
    "$scratch/project/$program" "$here/../../examples/data/inference_h100.json" | grep -q '^kernels [1-9]'
    echo "find_package consumer $program: ok"
done

"$cxx" -std=c++20 -Wall -Wextra -Werror -I "$scratch/prefix/include" "$here/include_path_only.cpp" -o "$scratch/include_path_only"
"$scratch/include_path_only" | grep -q '^busy 150$'
echo "include path consumer: ok"
