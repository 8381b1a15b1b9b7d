#!/usr/bin/env python3
"""Writes a chain of loops and conditionals as ONNX text, to measure how they are lowered and raised.

    constructs.py --constructs 200 [--nodes 40] --out FILE.onnxtxt

Every second is a Loop over its predecessor, the others are an If; each has that many nodes in its body, or in a branch. Needs
nothing but Python."""

import argparse


def chain(nodes, prefix, value):
    lines = []
    for i in range(nodes):
        lines.append(f'{prefix}_{i} = Neg ({value})')
        value = f'{prefix}_{i}'
    return ' '.join(lines), value


def constructs(n, nodes):
    yield '<ir_version: 10, opset_import: ["" : 21]>\nconstructs (float[4] x, bool p, int64 n) => (float[4] y) {\n'
    last = 'x'
    for i in range(n):
        if i % 2:
            body, result = chain(nodes, f'a{i}', last)
            yield (f'  v{i} = If (p) <then_branch = t{i} () => (float[4] {result}) {{ {body} }}, '
                   f'else_branch = e{i} () => (float[4] z{i}) {{ z{i} = Abs ({last}) }}>\n')
        else:
            body, result = chain(nodes, f'a{i}', f's{i}')
            yield (f'  v{i} = Loop (n, "", {last}) <body = b{i} (int64 i{i}, bool g{i}, float[4] s{i}) => (bool c{i}, float[4] {result}) '
                   f'{{ c{i} = Identity (g{i}) {body} }}>\n')
        last = f'v{i}'
    yield f'  y = Identity ({last})\n}}\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--constructs', type=int, default=200)
    parser.add_argument('--nodes', type=int, default=40)
    parser.add_argument('--out', required=True)
    args = parser.parse_args()
    with open(args.out, 'w') as file:
        file.writelines(constructs(args.constructs, args.nodes))


if __name__ == '__main__':
    main()
