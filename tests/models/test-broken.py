#!/usr/bin/env python3
"""Whether a step is broken must not depend on the machine: correct rewrites never are (TAP, and a table).

    test-broken.py IRSCOPE GENERATORS PIPELINES LIGHT [NETWORK..]

Every light network and every family of GENERATORS/exported.py is proven under two pipelines, by the
reference kernels and by those of the CPU at three widths of its vector units.
"""

import json
import os
import subprocess
import sys
import tempfile

IRSCOPE, GENERATORS, PIPELINES, LIGHT = (os.path.abspath(a) for a in sys.argv[1:5])
CHOSEN = sys.argv[5:]
MACHINES = {"ref": ("ref", None), "SSE4.1": ("cpu", "SSE41"), "AVX2": ("cpu", "AVX2"), "widest": ("cpu", None)}
VERDICTS = ("exact", "rounding", "broken", "skipped")


def prove(model, pipeline, machine):
    """What the steps were found to be, or why there is nothing to say."""
    device, isa = MACHINES[machine]
    environment = dict(os.environ, **({"ONEDNN_MAX_CPU_ISA": isa} if isa else {}))
    done = subprocess.run([IRSCOPE, "optimize", model, "--pipeline", os.path.join(PIPELINES, pipeline + ".json"), "--prove",
                           "--device", device, "--json"], capture_output=True, text=True, env=environment)
    try:
        return json.loads(done.stdout)["proof"], ""
    except (ValueError, KeyError):
        return None, done.stderr.strip()


def networks(folder):
    """(name, path): those that are there."""
    for file in sorted(os.listdir(LIGHT)) if os.path.isdir(LIGHT) else []:
        if file.endswith(".onnx"):
            yield file[:-len(".onnx")], os.path.join(LIGHT, file)
    sys.path.insert(0, GENERATORS)
    try:
        from exported import FAMILIES
        import onnxproto
    except ImportError as missing:
        print("#", missing)
        return
    for name, make in FAMILIES.items():
        if CHOSEN and name not in CHOSEN:
            continue
        path = os.path.join(folder, name + ".onnx")
        onnxproto.write_model(make()[0], path)
        yield name, path


def main():
    count = failed = 0
    with tempfile.TemporaryDirectory(prefix="irscope-broken-") as folder:
        for name, path in networks(folder):
            if CHOSEN and name not in CHOSEN:
                continue
            for pipeline in ("basic", "default"):
                count, problems = count + 1, []
                for machine in MACHINES:
                    found, error = prove(path, pipeline, machine)
                    row = "  ".join(f"{v} {found[v]:5}" for v in VERDICTS) if found else error
                    print(f"# {name:24} {pipeline:8} {machine:7} {row}")
                    if not found or found["broken"] > 0 or found["skipped"] > 0:
                        problems.append(machine)
                failed += bool(problems)
                print("not ok" if problems else "ok", count, "-", name, "under", pipeline, "has no broken step",
                      "but on " + ", ".join(problems) if problems else "", flush=True)
    print(f"1..{count}" if count else "1..0 # SKIP no network is here")
    return failed > 0


sys.exit(main())
