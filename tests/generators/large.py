#!/usr/bin/env python3
"""Writes a graph of many small nodes as ONNX text, to measure how the window draws it.

    large.py --nodes 50000 [--scopes 10] [--wide 300] [--seed 1] --out FILE.onnxtxt

Binary and unary nodes whose inputs are values that were made not long before; with --scopes N each N nodes in a row lie
in a scope of their own, and with --wide W inputs are any of the last W values, which makes layers of many nodes. Needs nothing but Python."""

import argparse
import random

UNARY = ['Relu', 'Tanh', 'Sigmoid', 'Abs', 'Exp', 'Neg', 'Sqrt', 'Floor']
BINARY = ['Add', 'Mul', 'Sub', 'Max']


def large(n, per_scope, wide, seed):
    draw = random.Random(seed)
    yield '<ir_version: 8, opset_import: ["" : 17]>\nlarge (float[4] v0) => (float[4] v%d) {\n' % n
    for i in range(1, n + 1):
        near = lambda: 'v%d' % max(0, i - 1 - (draw.randrange(wide) if wide else int(draw.expovariate(0.25))))
        last = near() if wide else f'v{i - 1}'
        name = f'layers.{(i - 1) // per_scope}/op{i}' if per_scope else f'op{i}'
        if draw.random() < 0.4 and i > 1:
            yield f'  ["{name}"] v{i} = {draw.choice(BINARY)} ({last}, {near()})\n'
        else:
            yield f'  ["{name}"] v{i} = {draw.choice(UNARY)} ({last if draw.random() < 0.6 else near()})\n'
    yield '}\n'


def main():
    parser = argparse.ArgumentParser(description='Write a graph of many small nodes.')
    parser.add_argument('--nodes', type=int, default=10000)
    parser.add_argument('--scopes', type=int, default=0, metavar='N', help='nodes in each scope; 0: no scopes')
    parser.add_argument('--wide', type=int, default=0, metavar='W', help='reach of inputs; 0: a chain')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--out', required=True, metavar='FILE')
    options = parser.parse_args()
    if not options.out.endswith('.onnxtxt'):
        parser.error(f'--out {options.out}: what is written is ONNX text; needs a name that ends in .onnxtxt')
    with open(options.out, 'w', encoding='utf-8') as file:
        file.writelines(large(options.nodes, options.scopes, options.wide, options.seed))


if __name__ == '__main__':
    main()
