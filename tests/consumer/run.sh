#!/usr/bin/env bash
# Installs the package into a scratch prefix and builds an outside project against it, header-only and with the compiled
# library, and a program that only has the include path; in C++20 and in C++23.
# usage: run.sh BUILD_DIR CXX
set -euo pipefail
build=$1
cxx=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
for standard in 20 23; do
    project=$scratch/project$standard
    cmake -S "$here/project" -B "$project" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
          -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=$standard >/dev/null
    cmake --build "$project" >/dev/null
    for program in header_only compiled; do
        "$project/$program" "$here/../../examples/data/inference_h100.json" | grep -q '^kernels [1-9]'
        echo "find_package consumer $program, C++$standard: ok"
    done

    "$cxx" -std=c++${standard/23/2b} -Wall -Wextra -Werror -I "$scratch/prefix/include" "$here/include_path_only.cpp" \
        -o "$scratch/include_path_only"
    "$scratch/include_path_only" | grep -q '^busy 150$'
    echo "include path consumer, C++$standard: ok"
done
