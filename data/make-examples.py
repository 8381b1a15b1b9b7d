#!/usr/bin/env python3
"""Writes the bundled example graphs other than the trained one; the same bytes every time.

    python3 data/make-examples.py [--out data/examples]

worked-example.onnx     f = ln (x1) + x1 * x2 - sin (x2), the classic of automatic differentiation
worked-example.onnxtxt  the same graph in ONNX's textual syntax, and the template of a new graph
transformer-block.onnx  one encoder block, decomposed: 32 wide, 4 heads, batch and sequence symbolic
if-branch.onnx          a choice between two subgraphs that capture values of the graph around them
"""

import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "generators"))

import onnxproto as onnx  # noqa: E402
from builder import Builder  # noqa: E402
from evaluate import evaluate  # noqa: E402
from nets import Tokens, encoder_layer  # noqa: E402

WORKED_TEXT = """\
<
  ir_version: 8,
  opset_import: ["" : 17],
  producer_name: "irscope",
  doc_string: "f = ln (x1) + x1 * x2 - sin (x2); at x1 = 2, x2 = 5 it is 11.652."
>
worked_example (float x1, float x2) => (float f)
<
  float x1 = {2},
  float x2 = {5}
>
{
  [ln] v1 = Log (x1)
  [product] v2 = Mul (x1, x2)
  [sine] v3 = Sin (x2)
  [sum] v4 = Add (v1, v2)
  [difference] f = Sub (v4, v3)
}
"""


def worked_example():
    nodes = [onnx.Node("Log", ["x1"], ["v1"], "ln"), onnx.Node("Mul", ["x1", "x2"], ["v2"], "product"),
             onnx.Node("Sin", ["x2"], ["v3"], "sine"), onnx.Node("Add", ["v1", "v2"], ["v4"], "sum"),
             onnx.Node("Sub", ["v4", "v3"], ["f"], "difference")]
    scalars = [onnx.ValueInfo(name, onnx.FLOAT, []) for name in ("x1", "x2", "f")]
    point = {"x1": np.array(2, np.float32), "x2": np.array(5, np.float32)}  # what the inputs hold by default
    graph = onnx.Graph("worked_example", nodes, scalars[:2], scalars[2:], point)
    return onnx.Model(graph, producer="irscope",
                      doc="f = ln (x1) + x1 * x2 - sin (x2); at x1 = 2, x2 = 5 it is 11.652.")


def transformer_block():
    b = Builder("transformer_block", 32)
    shape = ["batch", "sequence", 32]
    with b.scope("encoder"):
        x = encoder_layer(b, b.input("tokens", shape), Tokens(1, 6, True), hidden=32, heads=4, inner=64)
    b.output(x, "encoded", shape)
    return b.model(producer="irscope", doc="One transformer encoder block with random weights, decomposed.")


def if_branch():
    """Where the mean of x is positive, relu (h) + x; else -h * scale, with h = x * scale + shift."""
    def branch(name, nodes):
        return onnx.Graph(name, nodes, [], [onnx.ValueInfo(nodes[-1].outputs[0], onnx.FLOAT, [4])])

    warm = branch("warm", [onnx.Node("Relu", ["hidden"], ["open"], "/warm/Relu"),
                           onnx.Node("Add", ["open", "x"], ["warm_result"], "/warm/Add")])
    cold = branch("cold", [onnx.Node("Neg", ["hidden"], ["negated"], "/cold/Neg"),
                           onnx.Node("Mul", ["negated", "scale"], ["cold_result"], "/cold/Mul")])
    nodes = [
        onnx.Node("Mul", ["x", "scale"], ["scaled"], "/Mul"),
        onnx.Node("Add", ["scaled", "shift"], ["hidden"], "/Add"),
        onnx.Node("ReduceMean", ["x"], ["mean"], "/ReduceMean", {"keepdims": 0}),
        onnx.Node("Greater", ["mean", "zero"], ["is_warm"], "/Greater"),
        onnx.Node("If", ["is_warm"], ["chosen"], "/If", {"then_branch": warm, "else_branch": cold}),
        onnx.Node("Tanh", ["chosen"], ["y"], "/Tanh"),
    ]
    weights = {"scale": np.array([0.5, -1.0, 1.5, 2.0], np.float32),
               "shift": np.array([0.1, 0.2, -0.3, 0.4], np.float32), "zero": np.array(0.0, np.float32)}
    vector = [onnx.ValueInfo(name, onnx.FLOAT, [4]) for name in ("x", "y")]
    graph = onnx.Graph("if_branch", nodes, vector[:1], vector[1:], weights)
    return onnx.Model(graph, producer="irscope", doc="An If whose branches capture values of the outer graph.")


def main():
    parser = argparse.ArgumentParser(description="Write the bundled example graphs.")
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples"))
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    models = {"worked-example": worked_example(), "transformer-block": transformer_block(), "if-branch": if_branch()}
    for name, model in models.items():
        onnx.write_model(model, os.path.join(out, name + ".onnx"))
    with open(os.path.join(out, "worked-example.onnxtxt"), "w") as file:
        file.write(WORKED_TEXT)

    f = evaluate(models["worked-example"], {"x1": np.float32(2), "x2": np.float32(5)})["f"]
    tokens = np.random.default_rng(1).standard_normal((1, 6, 32))
    encoded = evaluate(models["transformer-block"], {"tokens": tokens})["encoded"]
    y = [evaluate(models["if-branch"], {"x": sign * np.arange(1.0, 5.0)})["y"] for sign in (1, -1)]
    print(f"worked-example: f (2, 5) = {f:.6f}")
    print(f"transformer-block: {list(encoded.shape)}, standard deviation {encoded.std():.3f}")
    print(f"if-branch: {np.round(y[0], 4)} or {np.round(y[1], 4)}")


if __name__ == "__main__":
    main()
