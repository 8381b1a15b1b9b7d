#!/usr/bin/env python3
"""Writes graphs of many tiny nodes, for layout, history and pass timings.

    synthetic.py --shape chain --nodes 10000 --out DIR
    synthetic.py --shape wide --nodes 100000 --out DIR [--width 64]

chain   one node after another
wide    layers of `width` nodes, each reading the node below and a value of the few layers before
blocks  repeated scoped blocks (as layers of a network) with a shortcut around each
All nodes are elementwise on float32 [4] and keep their values within [-1, 1] (a block within [-9, 9]), so
that a graph of any size can also be run.
"""

import argparse
import os

import numpy as np

import onnxproto as onnx
import output
from evaluate import evaluate

UNARY = ("Tanh", "Sigmoid", "Neg", "Sin")
BINARY = ("Mul", "Max", "Min")
SHAPE = [4]


class Maker:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes = []

    def add(self, op, *inputs, scope=""):
        index = len(self.nodes)
        self.nodes.append(onnx.Node(op, list(inputs), [f"v{index}"], f"{scope}/{op}_{index}"))
        return f"v{index}"

    def unary(self, value, scope=""):
        return self.add(UNARY[self.random.integers(len(UNARY))], value, scope=scope)

    def binary(self, a, b, scope=""):
        return self.add(BINARY[self.random.integers(len(BINARY))], a, b, scope=scope)


def chain(make, count, width):
    value = make.add("Tanh", "x")
    while len(make.nodes) < count:
        value = make.unary(value)
    return [value]


def wide(make, count, width):
    below = pool = [make.add("Tanh", "x")]
    while len(make.nodes) < count:
        layer = []
        for i in range(min(width, count - len(make.nodes))):
            # Reading the node below keeps every node in use; the other input comes from a layer nearby.
            a, b = below[i % len(below)], pool[make.random.integers(len(pool))]
            layer.append(make.unary(a) if make.random.random() < 0.3 else make.binary(a, b))
        # A last layer that is not full leaves the rest of the one below as outputs.
        below, pool = layer, (pool + layer)[-3 * width:]
    read = {name for node in make.nodes for name in node.inputs}
    return [node.outputs[0] for node in make.nodes if node.outputs[0] not in read]


def blocks(make, count, width):
    value, block = "x", 0
    while len(make.nodes) + 8 <= count or not make.nodes:
        scope, shortcut = f"/layer{block // 8}/block{block}", value
        for _ in range(3):
            value = make.unary(value, scope)
        other = make.unary(make.unary(shortcut, scope), scope)
        value = make.add("Tanh", make.add("Add", value, other, scope=scope), scope=scope)
        value = make.add("Add", value, shortcut, scope=scope) if block % 8 else make.add("Tanh", value, scope=scope)
        block += 1
    while len(make.nodes) < count:
        value = make.add("Tanh", value)
    return [value]


SHAPES = {"chain": chain, "wide": wide, "blocks": blocks}


def synthetic(shape, count, width=64, seed=7):
    """A model of exactly count nodes of the given shape, and its input."""
    make = Maker(seed)
    names = SHAPES[shape](make, count, width)
    outputs = [onnx.ValueInfo(name, onnx.FLOAT, list(SHAPE)) for name in names]
    graph = onnx.Graph(f"{shape}_{count}", make.nodes, [onnx.ValueInfo("x", onnx.FLOAT, list(SHAPE))], outputs)
    return onnx.Model(graph), {"x": np.array([-1.5, -0.5, 0.25, 1.0], np.float32)}


def main():
    parser = argparse.ArgumentParser(description="Write a graph of many tiny nodes.")
    parser.add_argument("--shape", choices=SHAPES, default="wide")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", required=True, metavar="DIR")
    options = parser.parse_args()
    model, inputs = synthetic(options.shape, options.nodes, options.width, options.seed)
    os.makedirs(options.out, exist_ok=True)
    output.write(options.out, model, inputs, evaluate(model, inputs))
    print(f"{options.out}: {len(model.graph.nodes)} nodes, {len(model.graph.outputs)} outputs")


if __name__ == "__main__":
    main()
