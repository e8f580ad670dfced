#!/usr/bin/env python3
"""Checks that headers include only from their own layer or the layers above it (design: one folder a layer), and that
public headers keep heavy standard and third-party headers out of themselves.

usage: layer_order.py REPOSITORY
"""
import os
import re
import sys

LAYERS = ["core", "model", "read", "classify", "perf", "analyze", "write"]
# Layers beside the chain: what each may include.
EXTRA = {
    "gpu": {"core", "model", "gpu"},
    "live": {"core", "model", "classify", "perf", "live"},
}
HEAVY = {"thread", "filesystem", "regex", "iostream", "execution"}


def allowed(layer):
    if layer in EXTRA:
        return EXTRA[layer]
    return set(LAYERS[: LAYERS.index(layer) + 1])


def main(root):
    base = os.path.join(root, "include", "tracelens")
    problems = checked = 0
    for folder, _, files in sorted(os.walk(base)):
        layer = os.path.relpath(folder, base).split(os.sep)[0]
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                includes = re.findall(r'^#include [<"]([^>"]+)[>"]', f.read(), re.M)
            checked += 1
            for include in includes:
                match = re.match(r"tracelens/(\w+)/", include)
                if layer != "." and match and match.group(1) not in allowed(layer):
                    print(f"{path}: layer {layer} may not include {include}")
                    problems += 1
                if include in HEAVY and not name.endswith("-inl.hpp"):
                    print(f"{path}: <{include}> belongs in a *-inl.hpp twin")
                    problems += 1
    print(f"{checked} headers, {problems} problems")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
