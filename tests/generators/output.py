"""Writes a model with its inputs, its expected outputs and a manifest that names them."""

import collections
import json
import os

import numpy as np

import onnxproto as onnx


def file_name(prefix, name):
    return f"{prefix}-{name.replace('/', '_').replace(':', '_')}.npy"


def counted(graph):
    """The nodes of a graph as irscope counts them: without Constant and ConstantOfShape of a constant."""
    constants = set(graph.initializers) | {n.outputs[0] for n in graph.nodes if n.op == "Constant"}
    total = 0
    for node in graph.nodes:
        fill = node.op == "ConstantOfShape" and node.inputs[0] in constants
        total += node.op != "Constant" and not fill
        total += sum(counted(v) for v in node.attrs.values() if isinstance(v, onnx.Graph))
    return total


def write(directory, model, inputs, expected):
    """model.onnx, input-*.npy, expected-*.npy and manifest.json in directory."""
    onnx.write_model(model, os.path.join(directory, "model.onnx"))
    manifest = {"model": "model.onnx", "nodes": counted(model.graph),
                "ops": dict(sorted(collections.Counter(n.op for n in model.graph.nodes).items()))}
    for key, prefix, arrays in (("inputs", "input", inputs), ("outputs", "expected", expected)):
        manifest[key] = []
        for name, array in arrays.items():
            np.save(os.path.join(directory, file_name(prefix, name)), array)
            manifest[key].append({"name": name, "file": file_name(prefix, name), "dtype": str(array.dtype),
                                  "shape": list(array.shape)})
    with open(os.path.join(directory, "manifest.json"), "w") as file:
        json.dump(manifest, file, indent=2)
        file.write("\n")
