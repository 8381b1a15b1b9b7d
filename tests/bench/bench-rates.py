#!/usr/bin/env python3
"""The table of rates by which passes refuse rewrites: core/exec/schedule/rates.def.

    tests/bench/bench-rates.py build/irscope [--only PREFIX..] [--samples FILE.json] [--write]

Runs the graphs of bench-rewrites.py whose passes ask, before and after them, on one thread, in
float and in double where kernels differ, and takes the shortest time of every node.  For each operator and kernel (its own,
or the reference's) it fits nanoseconds per call, picoseconds per operation and per byte, none
below 0, to the least squares of relative errors.  --samples keeps what was measured: with the file
there, nothing is measured again.  --write writes the table, which nothing else changes.  Needs
numpy."""

import argparse
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, '..', '..', 'core', 'exec', 'schedule', 'rates.def')
ASKING = ('attention', 'merge-matmuls', 'strength')
DOUBLE = ('merge-matmuls.3', 'strength')
# What touches or moves elements: rates of calls, operations and bytes.
MEASURED = 'Add Sub Mul Div Pow Sqrt Reciprocal Where Not Transpose Split'.split()
# What stands on both sides of the rewrites that ask, and is as long there: the call alone.
CALLS = {'MatMul': 'MatMul', 'MatMulAdd': 'MatMul', 'Softmax': 'Softmax', 'LogSoftmax': 'Softmax'}
ATTENTIONS = ('Attention', 'MaskedAttention', 'SafeMaskedAttention', 'SelectedAttention')  # two products and a Softmax
HEAD = """/* Rates of kernels on one thread: nanoseconds of a call, picoseconds of an operation and of a byte as
 * the cost model counts them (core/op/cost.c). Products, Softmax and attention stand on both sides
 * of the rewrites that ask, so of them the call counts alone; what has no row counts nothing. Made
 * by tests/bench/bench-rates.py --write; do not edit.
 *
 *       operator, a kernel of cpu's own, call, operation, byte */
/* clang-format off */
"""

spec = importlib.util.spec_from_file_location('rewrites', os.path.join(HERE, 'bench-rewrites.py'))
rewrites = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rewrites)


def nodes_of(irscope, model, *more):
    done = subprocess.run([irscope, 'run', model, '--json', '-q', '--nodes', '--threads', '1', '--runs', '15', '--warmup', '3', *more],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{model}: {done.stderr.strip()}')
    return json.loads(done.stdout)['nodes']


def measure(irscope, only):
    """(operator, own, flops, bytes, ns) of every node of every graph."""
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        for one, dtype in itertools.product(rewrites.CASES, (np.float32, np.float64)):
            if not one[0].startswith(tuple(only or ASKING)) or (dtype == np.float64 and not one[0].startswith(DOUBLE)):
                continue
            model, pipeline = rewrites.write_case(folder, one, np.dtype(dtype))
            for more in ((), ('-p', pipeline)):
                samples += [(node['op'], node['kernel'] != 'ref', node['flops'], node['bytes'], node['ms']['min'] * 1e6)
                            for node in nodes_of(irscope, model, *more)]
            print(f'{one[0]} {one[2]}: {len(samples)}', file=sys.stderr, flush=True)
    return samples


def fit(rows):
    """The rates with the least squares of relative errors; those that would be below 0 are left out."""
    rows = np.array(rows, float)
    weights = 1 / np.maximum(rows[:, 2], 100)
    columns = np.stack([np.ones(len(rows)), rows[:, 0] / 1e3, rows[:, 1] / 1e3], axis=1) * weights[:, None]
    best = None
    for chosen in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        found, *_ = np.linalg.lstsq(columns[:, chosen], rows[:, 2] * weights, rcond=None)
        error = float(np.sum((columns[:, chosen] @ found - rows[:, 2] * weights)**2))
        if np.all(found >= 0) and (best is None or error < best[0]):
            best = error, dict(zip(chosen, found))
    return [best[1].get(i, 0.0) for i in range(3)], (best[0] / len(rows))**0.5


def table(samples):
    groups = {}
    for op, own, flops, moved, ns in samples:
        groups.setdefault((op, own), []).append((flops, moved, ns))
    found = {key: fit(rows) for key, rows in groups.items() if key[0] in (*MEASURED, *CALLS)}
    rows = {key: (rates, f'{len(groups[key])} samples, off by {error:.0%}') for key, (rates, error) in found.items() if key[0] in MEASURED}
    for own in (False, True):
        for op, like in CALLS.items():
            rows[op, own] = ([found[like, own][0][0], 0, 0], f'as {like}')
        for op in ATTENTIONS:
            rows[op, own] = ([2 * found['MatMul', own][0][0] + found['Softmax', own][0][0], 0, 0], 'as two MatMul and Softmax')
    return HEAD + ''.join(f'IR_RATE ("{op}", {"TRUE" if own else "FALSE"}, {call:.0f}, {flop:.4g}, {byte:.4g}) /* {note} */\n'
                          for (op, own), ((call, flop, byte), note) in sorted(rows.items()))


def main():
    parser = argparse.ArgumentParser(description='Rates of kernels, by which rewrites are refused.')
    parser.add_argument('irscope')
    parser.add_argument('--only', nargs='*', metavar='PREFIX')
    parser.add_argument('--samples')
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args()
    if arguments.samples and os.path.exists(arguments.samples):
        with open(arguments.samples, encoding='utf-8') as file:
            samples = json.load(file)
    else:
        samples = measure(arguments.irscope, arguments.only)
    if arguments.samples:
        with open(arguments.samples, 'w', encoding='utf-8') as file:
            json.dump(samples, file)
    text = table(samples)
    print(text, end='')
    if arguments.write:
        with open(TABLE, 'w', encoding='utf-8') as file:
            file.write(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
