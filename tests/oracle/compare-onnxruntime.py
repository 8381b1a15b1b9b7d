#!/usr/bin/env python3
"""Runs an ONNX file in ONNX Runtime and compares its outputs with .npy files.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI, which
Debian 12 does not have:

    python3 -m venv /tmp/ort && /tmp/ort/bin/pip install numpy onnx onnxruntime
    /tmp/ort/bin/python tests/oracle/compare-onnxruntime.py MODEL.onnx DIR [--rtol 1e-3]

DIR holds either a manifest.json (as tests/generators/generate.py writes) or files named
input-NAME.npy and expected-NAME.npy, with / in names written as _.  The error shown per output is
max|a - b| / max|b|; the comparison fails where |a - b| > rtol * |b| + 1e-6 * max|b|.
"""

import argparse
import json
import os
import sys

import numpy as np

try:
    import onnx
    import onnxruntime
except ImportError as error:
    sys.exit(f"compare-onnxruntime: {error.name} is missing; see the top of this file for how to get it")


def file_name(prefix, name):
    return f"{prefix}-{name.replace('/', '_').replace(':', '_')}.npy"


def load(directory, prefix, key, names):
    """Arrays by name; the manifest decides where there is one."""
    manifest = os.path.join(directory, "manifest.json")
    files = {name: file_name(prefix, name) for name in names}
    if os.path.exists(manifest):
        with open(manifest) as file:
            files = {entry["name"]: entry["file"] for entry in json.load(file)[key]}
    return {name: np.load(os.path.join(directory, path)) for name, path in files.items()}


def compare(name, actual, expected, rtol):
    if actual.shape != expected.shape:
        print(f"FAIL {name}: shape {list(actual.shape)}, expected {list(expected.shape)}")
        return False
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    scale = np.abs(expected).max(initial=0.0)
    difference = np.abs(actual - expected)
    good = bool((difference <= rtol * np.abs(expected) + 1e-6 * scale).all())
    worst = difference.max(initial=0.0) / scale if scale else difference.max(initial=0.0)
    print(f"{'ok  ' if good else 'FAIL'} {name} {list(actual.shape)}: max error {worst:.3g} of {scale:.4g}, "
          f"spread {expected.std():.3g}")
    return good


def main():
    parser = argparse.ArgumentParser(description="Compare an ONNX file with expected outputs in ONNX Runtime.")
    parser.add_argument("model")
    parser.add_argument("directory", help="where the input and expected .npy files are")
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--check", action="store_true", help="also run onnx.checker with full shape inference")
    parser.add_argument("--optimize", action="store_true", help="let ONNX Runtime optimize too (off by default)")
    options = parser.parse_args()

    if options.check:
        onnx.checker.check_model(options.model, full_check=True)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    if not options.optimize:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(options.model, settings, providers=["CPUExecutionProvider"])
    inputs = load(options.directory, "input", "inputs", [i.name for i in session.get_inputs()])
    expected = load(options.directory, "expected", "outputs", [o.name for o in session.get_outputs()])
    actual = dict(zip(expected, session.run(list(expected), inputs)))
    results = [compare(name, actual[name], expected[name], options.rtol) for name in expected]
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
