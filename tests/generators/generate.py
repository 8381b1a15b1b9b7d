#!/usr/bin/env python3
"""Writes one of the reference networks with inputs and the outputs that numpy computes in float64.

    generate.py resnet50 --size 32 --layers 1 --width 16 --out DIR
    generate.py bert-base --layers 2 --hidden 64 --heads 4 --vocab 500 --seq 16 --static --out DIR

Without options a network has its full size (ResNet-50 and MobileNetV2 at 224x224, BERT-base with 12
layers of 768, GPT-2 small).  DIR gets model.onnx, input-NAME.npy, expected-NAME.npy (float64) and
manifest.json.
"""

import argparse
import os
import sys
import time

import output
from evaluate import evaluate
from nets import NETS

OPTIONS = {
    "layers": "blocks per stage, or layers of a transformer", "width": "channels of the first stage",
    "size": "height and width of the image", "classes": "classes of the image networks",
    "hidden": "width of a transformer", "heads": "attention heads", "vocab": "tokens in the vocabulary",
    "positions": "longest sequence", "seq": "tokens in the test input", "batch": "batch of the test input",
    "seed": "of the weights and inputs",
}


def main():
    parser = argparse.ArgumentParser(description="Write a reference network with expected outputs.")
    parser.add_argument("name", choices=NETS)
    for option, text in OPTIONS.items():
        parser.add_argument(f"--{option}", type=int, help=text)
    parser.add_argument("--causal", choices=["where", "arithmetic"], help="form of GPT-2's mask")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--symbolic", action="store_true", default=None, help="symbolic batch and sequence")
    shape.add_argument("--static", dest="symbolic", action="store_false", help="known shapes")
    parser.add_argument("--no-expected", action="store_true", help="skip the evaluation")
    parser.add_argument("--out", required=True, metavar="DIR")
    options = vars(parser.parse_args())

    build, out = NETS[options.pop("name")], options.pop("out")
    skip = options.pop("no_expected")
    chosen = {key: value for key, value in options.items() if value is not None}
    known = build.__code__.co_varnames[:build.__code__.co_argcount]
    foreign = [key for key in chosen if key not in known]
    if foreign:
        sys.exit(f"generate: this network has no option --{foreign[0]}")
    model, inputs = build(**chosen)
    start = time.monotonic()
    expected = {} if skip else evaluate(model, inputs)
    os.makedirs(out, exist_ok=True)
    output.write(out, model, inputs, expected)
    print(f"{out}: {output.counted(model.graph)} nodes, evaluated in {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()
