#!/usr/bin/env python3
"""Random whole graphs of fuzz-graphs, against ONNX Runtime.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/ort && /tmp/ort/bin/pip install numpy onnx onnxruntime ml_dtypes
    build/tests/fuzz/fuzz-graphs --from 1 --graphs 1000 --write /tmp/graphs
    /tmp/ort/bin/python tests/oracle/graphs-onnxruntime.py /tmp/graphs [--results FILE] [--optimize]

Each folder holds model.onnx and, as the tests of the standard do, inputs and the outputs of the
reference kernels, node by node.  Floats may differ by so many units in the last place of the largest
number of the output (UNITS below), in units of the coarsest type of the graph; what rounding flips on the
way, as quantizing does, exceeds that: of those outputs few elements may differ by more.  What differs is held
against onnx's own reference as well, and is no finding where that has what we have.  What ONNX Runtime cannot
load (types and operators that it lacks) is counted by its reason, and so is what it dies of or never ends: each
graph is tried in a process of its own, for a minute at most.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import signal
import sys

try:
    import ml_dtypes  # noqa: F401, which gives numpy bfloat16
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    sys.exit(f"graphs-onnxruntime: {error.name} is missing; see the top of this file for how to get it")

UNITS = 200
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
FLIPPING = {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"}
AS_ONNX = "differ, as onnx"
SECONDS = 60  # for a graph, at most
FLIPPED_SHARE = 0.1  # of the elements of an output, at most, behind what rounding may flip


def tensor(path):
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(proto)


def tensors(folder, stem, n):
    return [tensor(folder / f"{stem}_{i}.pb") for i in range(n)]


def flips(model):
    return any(node.op_type in FLIPPING for node in model.graph.node)


def coarsest(model, expected):
    """The largest step of rounding of a type in the graph."""
    types = {v.type.tensor_type.elem_type for v in [*model.graph.input, *model.graph.output]}
    types |= {tensor.data_type for tensor in model.graph.initializer}
    types |= {attribute.i for node in model.graph.node if node.op_type == "Cast" for attribute in node.attribute if attribute.name == "to"}
    steps = [EPSILON.get(str(expected.dtype), 0)]
    steps += [EPSILON["float16"]] * (onnx.TensorProto.FLOAT16 in types) + [EPSILON["bfloat16"]] * (onnx.TensorProto.BFLOAT16 in types)
    return max(steps)


def difference(model, actual, expected):
    """None, or what differs."""
    may_flip = flips(model)
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
        far = ~((a == b) | (np.abs(a - b) <= UNITS * coarsest(model, expected) * scale))
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


def is_as_reference(model, folder, slot, expected):
    """Whether onnx's reference has what we have."""
    data = folder / "test_data_set_0"
    feeds = dict(zip([value.name for value in model.graph.input], tensors(data, "input", len(model.graph.input))))
    try:
        return difference(model, ReferenceEvaluator(model).run(None, feeds)[slot], expected) is None
    except Exception:  # it lacks much
        return False


def check(folder, optimize):
    """What became of a graph: refused with its reason, compared, differs."""
    model = onnx.load(folder / "model.onnx")
    try:
        actual = run(model, folder, optimize)
    except Exception as error:  # whatever it says, it has not run
        return {"refused": reason(error), "whole": str(error).splitlines()[0][:300]}
    expected = tensors(folder / "test_data_set_0", "output", len(model.graph.output))
    for slot, (value, a, b) in enumerate(zip(model.graph.output, actual, expected)):
        found = difference(model, a, b)
        if found:
            return {"differs": f"{value.name} {found}", "as_reference": is_as_reference(model, folder, slot, b)}
    return {}


def check_apart(folder, optimize):
    """The same in a process of its own."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        with os.fdopen(here, "w") as out:
            json.dump(check(folder, optimize), out)
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as answer:
        text = answer.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if status == 0 else {"refused": f"ends the process, status {status}", "whole": ""}


def count(folder, found, options, counts, refused):
    if "refused" in found:
        counts["refused"] += 1
        refused[found["refused"]] += 1
        if options.verbose:
            print(f"refused {folder.name}: {found['refused']} {found['whole']}")
        return
    counts["graphs"] += 1
    counts["family " + folder.name.split("-", 1)[1]] += 1
    if "differs" in found:
        counts[AS_ONNX if found["as_reference"] else "findings"] += 1
        print(f"{folder.name}: {found['differs']}{', as onnx has it' if found['as_reference'] else ''}")


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
            count(folder, check_apart(folder, options.optimize), options, counts, refused)
    for text, number in refused.most_common():
        print(f"  refused {number}: {text}")
    print(f"{counts['graphs']} graphs compared, {counts['refused']} refused, "
          f"{counts[AS_ONNX]} differ where onnx has what we have, {counts['findings']} findings")
    if options.results:
        add_results(options.results, counts)
    sys.exit(1 if counts["findings"] else 0)


if __name__ == "__main__":
    main()
