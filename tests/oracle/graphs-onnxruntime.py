#!/usr/bin/env python3
"""Random whole graphs of fuzz-graphs, against ONNX Runtime.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/ort && /tmp/ort/bin/pip install numpy onnx onnxruntime ml_dtypes
    build/tests/fuzz/fuzz-graphs --from 1 --graphs 1000 --write /tmp/graphs
    /tmp/ort/bin/python tests/oracle/graphs-onnxruntime.py /tmp/graphs [--results FILE] [--optimize]

Each folder holds model.onnx and, as the tests of the standard do, inputs and the outputs of the
reference kernels, node by node.  Floats may differ by so many units in the last place of the largest
number of the output (UNITS below), which what rounding flips on the way, as quantizing does, exceeds:
of those outputs few elements may differ by more.  What ONNX Runtime cannot load (types and operators
that it lacks) is counted by its reason.
"""

import argparse
import collections
import pathlib
import re
import sys

try:
    import ml_dtypes  # noqa: F401, which gives numpy bfloat16
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ImportError as error:
    sys.exit(f"graphs-onnxruntime: {error.name} is missing; see the top of this file for how to get it")

UNITS = 200
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
FLIPPING = {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"}
FLIPPED_SHARE = 0.1  # of the elements of an output, at most, behind what rounding may flip


def tensor(path):
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(proto)


def tensors(folder, stem, n):
    return [tensor(folder / f"{stem}_{i}.pb") for i in range(n)]


def flips(model):
    return any(node.op_type in FLIPPING for node in model.graph.node)


def difference(actual, expected, may_flip):
    """None, or what differs."""
    actual = np.asarray(actual)
    if actual.shape != expected.shape or str(actual.dtype) != str(expected.dtype):
        return f"is {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if actual.size == 0:
        return None
    if str(expected.dtype) not in EPSILON:
        wrong = np.count_nonzero(actual != expected)
        return None if wrong <= (FLIPPED_SHARE if may_flip else 0) * actual.size else f"{wrong} of {actual.size} differ"
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    scale = np.abs(b[finite]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        far = ~((a == b) | (np.abs(a - b) <= UNITS * EPSILON[str(expected.dtype)] * scale))
    wrong = np.count_nonzero(far)
    if wrong <= (FLIPPED_SHARE if may_flip else 0) * actual.size:
        return None
    at = int(np.flatnonzero(far)[0])
    return f"{wrong} of {actual.size} differ, [{at}] is {a.ravel()[at]:.9g}, expected {b.ravel()[at]:.9g}"


def forget_names(graph):
    """ONNX Runtime wants names of nodes to be unique, which the standard does not."""
    for node in graph.node:
        node.name = ""
        for attribute in node.attribute:
            forget_names(attribute.g)


def run(model, folder, optimize):
    forget_names(model.graph)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    if not optimize:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    data = folder / "test_data_set_0"
    names = [value.name for value in model.graph.input]
    feeds = dict(zip(names, tensors(data, "input", len(names))))
    wanted = {value.name for value in session.get_inputs()}
    return session.run(None, {name: value for name, value in feeds.items() if name in wanted})


def reason(error):
    """The part of a message that is the same for all graphs of its kind."""
    text = re.sub(r"\(?node_?\w*\)?|'[^']*'|\"[^\"]*\"|\d+", "", str(error).splitlines()[0])
    known = re.search(r"NOT_IMPLEMENTED.*|Could not find an implementation for \w+|[Uu]nsupported.*|Invalid .*|FAIL.*", text)
    return (known.group(0) if known else text)[:110]


def check(folder, options, counts, refused):
    model = onnx.load(folder / "model.onnx")
    family = folder.name.split("-", 1)[1]
    try:
        actual = run(model, folder, options.optimize)
    except Exception as error:  # whatever it says, it has not run
        counts["refused"] += 1
        refused[reason(error)] += 1
        if options.verbose:
            print(f"refused {folder.name}: {str(error).splitlines()[0][:300]}")
        return
    expected = tensors(folder / "test_data_set_0", "output", len(model.graph.output))
    counts["graphs"] += 1
    counts[f"family {family}"] += 1
    for value, a, b in zip(model.graph.output, actual, expected):
        found = difference(a, b, flips(model))
        if found:
            counts["findings"] += 1
            print(f"{folder.name}: {value.name} {found}")
            break


def add_results(path, counts):
    old = collections.Counter()
    if path.exists():
        for line in path.read_text().splitlines():
            key, number = line.rsplit(" ", 1)
            old[key] += int(number)
    old.update(counts)
    path.write_text("".join(f"{key} {number}\n" for key, number in sorted(old.items())))


def main():
    parser = argparse.ArgumentParser(description="Hold graphs that fuzz-graphs wrote against ONNX Runtime.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--optimize", action="store_true", help="let ONNX Runtime optimize too (off by default)")
    parser.add_argument("--results", type=pathlib.Path, help="add what was tried to this file")
    parser.add_argument("--verbose", action="store_true", help="say which graphs are refused, and why")
    options = parser.parse_args()
    counts, refused = collections.Counter(), collections.Counter()
    for folder in sorted(options.folder.iterdir()):
        if (folder / "model.onnx").exists():
            check(folder, options, counts, refused)
    for text, number in refused.most_common():
        print(f"  refused {number}: {text}")
    print(f"{counts['graphs']} graphs compared, {counts['refused']} refused, {counts['findings']} findings")
    if options.results:
        add_results(options.results, counts)
    sys.exit(1 if counts["findings"] else 0)


if __name__ == "__main__":
    main()
