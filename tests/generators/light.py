#!/usr/bin/env python3
"""Gives a "light" ONNX network (true shapes, every weight a constant fill) real random weights.

    light.py ../shared/data/light/light_resnet50.onnx --out DIR [--transpose-one]

Every ConstantOfShape fill becomes a seeded initializer that suits its use: He-normal for Conv and Gemm,
scale and variance in [0.5, 2] for BatchNormalization.  The last weighted layer is scaled so that the
scores before a final Softmax have deviation 2: the expected output is neither flat nor one-hot.
DIR gets the files that output.py describes; expected outputs are evaluated in float64.

With --transpose-one the model that is written has one weight transposed, while the expected outputs
stay those of the right one: a comparison that accepts it does not look at values.
"""

import argparse
import os
import sys
import time

import numpy as np

import onnxproto as onnx
import output
from evaluate import Unsupported, evaluate
from nets import norm_statistics

SCORE_DEVIATION = 2.0


class Uses:
    """Who reads each value, as (node, input index); Unsqueeze passes its reader on."""

    def __init__(self, graph):
        self.readers = {}
        for node in graph.nodes:
            for index, name in enumerate(node.inputs):
                self.readers.setdefault(name, []).append((node, index))

    def role(self, name):
        node, index = self.readers.get(name, [(None, 0)])[0]
        if node is not None and node.op in ("Unsqueeze", "Reshape") and index == 0:
            return self.role(node.outputs[0])
        return node, index


def fill(random, uses, name, shape, norms):
    """The weight that takes the place of the fill `name`."""
    node, index = uses.role(name)
    op = node.op if node is not None else ""
    if op == "BatchNormalization":
        # Scale and variance of one node belong together and are drawn at once.
        if id(node) not in norms:
            norms[id(node)] = norm_statistics(random, shape[0])
        if index in (1, 4):
            return norms[id(node)][0 if index == 1 else 1]
        return (random.standard_normal(shape) * 0.2).astype(np.float32)
    if op in ("Conv", "Gemm") and index == 1:
        # The fill of a Gemm may have leading axes of 1, which a Reshape takes away.
        fan_in = int(np.prod(shape[1:])) if op == "Conv" else shape[-1 if node.attrs.get("transB", 0) else -2]
        return (random.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / fan_in)))
    if op == "Mul":
        return random.uniform(0.75, 1.25, shape).astype(np.float32)
    return (random.standard_normal(shape, np.float32) * np.float32(0.1))


def with_weights(model, seed):
    """A copy of model whose constant fills are initializers; also says which value feeds a last Softmax."""
    graph, random = model.graph, np.random.default_rng(seed)
    uses, norms, kept, weights = Uses(graph), {}, [], {}
    for node in graph.nodes:
        if node.op == "ConstantOfShape" and node.inputs[0] in graph.initializers:
            shape = [int(d) for d in graph.initializers[node.inputs[0]]]
            weights[node.outputs[0]] = fill(random, uses, node.outputs[0], shape, norms)
        else:
            kept.append(node)
    read = {name for node in kept for name in node.inputs}
    weights.update((name, array) for name, array in graph.initializers.items() if name in read)
    inputs = [info for info in graph.inputs if info.name not in graph.initializers]
    listed = list(inputs)
    if model.ir_version < 4:
        # Such files list every initializer among the inputs too.
        listed += [onnx.ValueInfo(name, onnx.CODE_OF[a.dtype], list(a.shape)) for name, a in weights.items()]
    new = onnx.Graph(graph.name, kept, listed, graph.outputs, weights)
    return onnx.Model(new, model.ir_version, dict(model.opsets)), inputs


def part(model, nodes, names):
    """The nodes as a model of their own that computes names from whatever it is given."""
    graph = onnx.Graph(model.graph.name, nodes, [], [onnx.ValueInfo(n) for n in names], model.graph.initializers)
    return onnx.Model(graph, model.ir_version, model.opsets)


def calibrate_and_evaluate(model, inputs):
    """The expected outputs; before, the last weighted layer is scaled where a Softmax ends the network.

    What lies before that layer is evaluated once.
    """
    nodes, weights = model.graph.nodes, model.graph.initializers
    if nodes[-1].op != "Softmax":
        return evaluate(model, inputs)
    last = [i for i, n in enumerate(nodes) if n.op in ("Conv", "Gemm")][-1]
    # The weight may come through a Reshape, which then belongs to the layer.
    shaping = [n for n in nodes[:last] if n.outputs[0] in nodes[last].inputs[1:]]
    head, tail = [n for n in nodes[:last] if n not in shaping], shaping + nodes[last:]
    features = evaluate(part(model, head, nodes[last].inputs[:1]), inputs)
    scores = evaluate(part(model, tail[:-1], tail[-1].inputs), features)[tail[-1].inputs[0]]
    factor = np.float32(SCORE_DEVIATION / scores.std())
    for name in [n.inputs[0] for n in shaping] + [n for n in nodes[last].inputs[1:] if n in weights]:
        weights[name] = weights[name] * factor
    return evaluate(part(model, tail, tail[-1].outputs), features)


def transpose_one(graph):
    """Transposes the middle one of the weights whose shape survives it; returns its name."""
    candidates = []
    for node in graph.nodes:
        weight = graph.initializers.get(node.inputs[1]) if node.op in ("Conv", "Gemm") else None
        if weight is not None and weight.shape[0] == weight.shape[1]:
            candidates.append((node.inputs[1], [1, 0] + list(range(2, weight.ndim))))
        elif weight is not None and weight.ndim == 4 and weight.shape[2] == weight.shape[3] > 1:
            candidates.append((node.inputs[1], [0, 1, 3, 2]))
    if not candidates:
        sys.exit("light: no weight keeps its shape when it is transposed")
    name, order = candidates[len(candidates) // 2]
    graph.initializers[name] = np.ascontiguousarray(graph.initializers[name].transpose(order))
    return name


def main():
    parser = argparse.ArgumentParser(description="Give a light network random weights and expected outputs.")
    parser.add_argument("model")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transpose-one", action="store_true", help="write a model that is wrong in one weight")
    options = parser.parse_args()
    try:
        model, infos = with_weights(onnx.read_model(options.model), options.seed)
        random = np.random.default_rng(options.seed + 1)
        inputs = {i.name: random.standard_normal(i.shape).astype(np.float32) for i in infos}
        start = time.monotonic()
        expected = calibrate_and_evaluate(model, inputs)
    except (OSError, Unsupported, onnx.FormatError) as error:
        sys.exit(f"light: {options.model}: {error}")
    if options.transpose_one:
        print(f"transposed {transpose_one(model.graph)}")
    os.makedirs(options.out, exist_ok=True)
    output.write(options.out, model, inputs, expected)
    spread = ", ".join(f"{name} deviation {a.std():.3g} of {np.abs(a).max():.3g}" for name, a in expected.items())
    print(f"{options.out}: {output.counted(model.graph)} nodes, evaluated in {time.monotonic() - start:.1f} s, {spread}")


if __name__ == "__main__":
    main()
