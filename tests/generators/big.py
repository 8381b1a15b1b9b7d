#!/usr/bin/env python3
"""Writes a model of few nodes and many bytes, to measure that opening a file does not read its weights.

    big.py --megabytes 400 --out DIR

A chain of MatMul and Add on [1, 2048] with weights of 16 MiB each; no expected outputs are evaluated.
"""

import argparse
import os

import numpy as np

import output
from builder import Builder

WIDTH = 2048


def big(megabytes, seed=4):
    b = Builder("big", seed)
    x = b.input("x", [1, WIDTH])
    for layer in range(max(1, round(megabytes * 1e6 / (4 * WIDTH * WIDTH)))):
        with b.scope(f"layer{layer}"):
            x = b.op("Tanh", b.linear(x, WIDTH, WIDTH))
    b.output(x, "y", [1, WIDTH])
    return b.model(), {"x": b.random.standard_normal((1, WIDTH), np.float32)}


def main():
    parser = argparse.ArgumentParser(description="Write a model of few nodes and many bytes.")
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--out", required=True, metavar="DIR")
    options = parser.parse_args()
    model, inputs = big(options.megabytes)
    os.makedirs(options.out, exist_ok=True)
    output.write(options.out, model, inputs, {})
    size = os.path.getsize(os.path.join(options.out, "model.onnx"))
    print(f"{options.out}: {output.counted(model.graph)} nodes, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
