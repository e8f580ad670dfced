#!/usr/bin/env bash
# Installs what the tests need, builds, and runs all tests through ctest.
# usage: tests/run.sh [--full]
#   default  g++ release build with warnings as errors, all tests
#   --full   the same, then a debug build with address and undefined-behaviour sanitizers, a clang build, and a minute of
#            each fuzz target
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
full=no
for argument in "$@"; do
    case $argument in
        --full) full=yes ;;
        -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;;
        *) sed -n '2,6s/^# //p' "$0"; exit 2 ;;
    esac
done
cd "$root"
examples/install_packages.sh build test $([[ $full == yes ]] && echo full)
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CCACHE_SLOPPINESS=pch_defines,time_macros
fi

# check PRESET [CMAKE_OPTION...]
check() {
    local preset=$1
    shift
    echo "== $preset"
    cmake --preset "$preset" "$@" >/dev/null
    cmake --build --preset "$preset" -- --quiet
    ctest --preset "$preset"
}

if [[ $full == no ]]; then
    check ci -DTRACELENS_BUILD_BENCH=OFF
    exit 0
fi
check ci -DTRACELENS_BUILD_BENCH=ON
check debug
check ci-clang -DTRACELENS_BUILD_BENCH=ON
echo "== fuzz"
tests/fuzz/run.sh 60
