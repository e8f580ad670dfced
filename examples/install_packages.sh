#!/usr/bin/env bash
# Makes sure that the Debian packages for a purpose are there.
# usage: install_packages.sh build|test|bench...
set -euo pipefail
declare -A packages=(
    [build]="g++ cmake ninja-build libsimdjson-dev libxsimd-dev zlib1g-dev libxlsxwriter-dev libfmt-dev libcli11-dev"
    [test]="doctest-dev nlohmann-json3-dev python3 ccache"
    [full]="clang libclang-rt-dev libbenchmark-dev"
)
missing=()
for purpose in "$@"; do
    for package in ${packages[$purpose]}; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
    done
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "These Debian packages, or their like, are needed: ${missing[*]}" >&2
    echo "No apt-get here; if they are installed in another way, run cmake --preset release yourself." >&2
    exit 1
fi
if [[ $(id -u) -eq 0 ]]; then
    as_root=()
elif sudo -n true 2>/dev/null || { [[ -t 0 ]] && command -v sudo >/dev/null; }; then
    as_root=(sudo)
else
    echo "Please install: apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
