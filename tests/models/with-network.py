#!/usr/bin/env python3
"""Makes a network in a temporary folder and runs a test program on it.

    with-network.py GENERATOR [ARGUMENT..] -- PROGRAM [ARGUMENT..]

The program gets the folder as its first argument; its TAP output is passed on.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile


def main():
    split = sys.argv.index("--")
    generator, program = sys.argv[1:split], sys.argv[split + 1:]
    missing = [a for a in generator if a.endswith(".onnx") and not os.path.exists(a)]
    if missing:
        print("1..0 # SKIP there is no", missing[0])
        return 0
    if importlib.util.find_spec("numpy") is None:
        print("1..0 # SKIP numpy, which makes the network, is not installed")
        return 0
    with tempfile.TemporaryDirectory(prefix="irscope-") as folder:
        made = subprocess.run([sys.executable, *generator, "--out", folder], stdout=subprocess.PIPE, text=True)
        print("\n".join("# " + line for line in made.stdout.splitlines()), flush=True)
        if made.returncode != 0:
            print("1..1\nnot ok 1 the network can be made")
            return 1
        return subprocess.run([program[0], folder, *program[1:]]).returncode


sys.exit(main())
