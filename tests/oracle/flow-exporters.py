#!/usr/bin/env python3
"""Control flow as exporters write it: loops, scans and choices by torch.onnx (dynamo) and by jax2onnx, through what irscope does with them.

    flow-exporters.py IRSCOPE [--only WORD] [--folder DIR]

Needs torch with onnxscript, or jax with jax2onnx, from PyPI; who is not there is left out. Of each program the values are held
against the framework's, every step of `default`, of lowering and raising, of closures and back, and of unrolling is proved, the
files that come back have the same bits, and `run --check all` judges the execution. DIR keeps the files."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

PROGRAMS = {}  # name: function that writes FILE and returns (inputs, outputs)
RTOL = 2e-6


def program(name):
    def keep(function):
        PROGRAMS[name] = function
        return function
    return keep


def torch_programs():
    import torch
    from torch import nn
    from torch._higher_order_ops.scan import scan
    from torch._higher_order_ops.while_loop import while_loop

    class Cond(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            y = torch.cond(x.sum() > 0, lambda x: torch.relu(self.a(x)), lambda x: torch.tanh(self.b(x)) - 1, (x,))
            inner = lambda y: torch.cond(y.max() > 1, lambda y: y * 2, lambda y: y + 1, (y,))  # noqa: E731
            return torch.cond(y.mean() > 0.1, inner, lambda y: y - 3, (y,))

    class Scan(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Linear(8, 8)

        def forward(self, h, xs):
            def step(h, x):
                n = torch.tanh(self.w(h) + x)
                return n, n * 2
            return scan(step, h, xs)

    class While(nn.Module):
        def forward(self, x):
            return while_loop(lambda i, x: i < 7, lambda i, x: (i + 1, x * 0.5 + torch.sin(x)), (torch.tensor(0), x))

    def writes(module, *shapes):
        def write(path):
            torch.manual_seed(5)
            inputs = [torch.randn(*shape) for shape in shapes]
            made = module().eval()
            torch.onnx.export(made, tuple(inputs), dynamo=True, verbose=False).save(path)
            outputs = made(*inputs)
            return [x.numpy() for x in inputs], [y.detach().numpy() for y in (outputs if isinstance(outputs, tuple) else (outputs,))]
        return write

    for name, module, shapes in (('torch cond', Cond, [(3, 8)]), ('torch scan', Scan, [(8,), (12, 8)]), ('torch while', While, [(3, 8)])):
        PROGRAMS[name] = writes(module, *shapes)


def jax_programs():
    import jax
    import jax.numpy as jnp
    import onnx
    from jax import lax
    from jax2onnx import to_onnx

    def fori(x):
        return lax.fori_loop(0, 9, lambda i, c: c * 0.5 + jnp.sin(c + i.astype(jnp.float32)), x)

    def while_sum(x):
        return lax.while_loop(lambda s: (s[0] < 50) & (jnp.sum(s[1]) < 100.), lambda s: (s[0] + 1, s[1] * 1.1 + 0.1), (jnp.int32(0), x))[1]

    def scan(xs, h):
        def step(c, x):
            n = jnp.tanh(c * 0.5 + x)
            return n, (n * 2, n.sum())
        return lax.scan(step, h, xs)

    def cond(x):
        return lax.cond(x.sum() > 0, lambda x: jnp.exp(-x),
                        lambda x: lax.cond(x.max() > 1, lambda x: x * 2, lambda x: x - 1, x), x)

    def while_in_scan(xs):
        def step(c, x):
            y = lax.while_loop(lambda v: jnp.max(jnp.abs(v)) > 0.1, lambda v: v * 0.5, x)
            return c + y.sum(), y
        return lax.scan(step, jnp.float32(0), xs)

    def writes(function, *shapes):
        def write(path):
            made = to_onnx(function, [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes], model_name='g')
            onnx.save(made, path)
            draws = np.random.default_rng(3)
            inputs = [draws.standard_normal(shape).astype(np.float32) for shape in shapes]
            return inputs, [np.asarray(y) for y in jax.tree_util.tree_leaves(function(*inputs))]
        return write

    for function, shapes in ((fori, [(4,)]), (while_sum, [(4,)]), (scan, [(10, 3), (3,)]), (cond, [(3, 3)]), (while_in_scan, [(8, 5)])):
        PROGRAMS[f'jax {function.__name__}'] = writes(function, *shapes)


class Journey:
    """One file, and what irscope says of it."""

    def __init__(self, irscope, path, inputs):
        self.irscope, self.path, self.steps = irscope, path, 0
        self.info = json.loads(self.call('info', path, '--json'))
        self.given = []
        for k, (value, array) in enumerate(zip(self.info['inputs'], inputs)):
            np.save(f'{path}-{k}.npy', array)
            self.given += ['--input', f'{value["name"]}={path}-{k}.npy']

    def call(self, *arguments):
        done = subprocess.run([self.irscope, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f'{" ".join(arguments)}: {done.stdout[-500:]}{done.stderr[-500:]}')
        return done.stdout

    def values(self, path):
        with tempfile.TemporaryDirectory() as folder:
            self.call('run', path, *self.given, '-o', folder)
            return [np.load(os.path.join(folder, f'{output["name"]}.npy')) for output in self.info['outputs']]

    def passed(self, path, option, name):
        """The file behind proved passes"""
        out = f'{self.path}-{name}.onnxtxt'
        said = json.loads(self.call('optimize', path, option, name, '--prove', *self.given, '-o', out, '--json'))
        proof = said['proof']
        assert proof['broken'] == 0 and proof['skipped'] == 0, (name, proof)
        self.steps += proof['exact'] + proof['rounding']
        return out

    def go(self, expected):
        plain = self.values(self.path)
        for found, wanted in zip(plain, expected):
            np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=RTOL * max(1, np.abs(wanted).max()))
        self.call('run', self.path, *self.given, '--check', 'all')
        self.passed(self.path, '--pipeline', 'default')
        self.passed(self.path, '--pass', 'unroll-loops')
        for there, back in (('lower-control-flow', 'raise-control-flow'), ('to-closures', 'from-closures')):
            lowered = self.passed(self.path, '--pass', there)
            for path in (lowered, self.passed(lowered, '--pass', back)):
                for found, wanted in zip(self.values(path), plain):
                    assert found.tobytes() == wanted.tobytes(), path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('irscope')
    parser.add_argument('--only', default='')
    parser.add_argument('--folder')
    given = parser.parse_args()
    for make in (torch_programs, jax_programs):
        try:
            make()
        except ImportError as missing:
            print(f'left out: {missing}')
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        for name, write in PROGRAMS.items():
            if given.only not in name:
                continue
            path = os.path.join(folder, f'{name.replace(" ", "-")}.onnx')
            inputs, outputs = write(path)
            journey = Journey(given.irscope, path, inputs)
            try:
                journey.go(outputs)
                print(f'{name}: {journey.info["nodes"]} nodes, {journey.steps} steps proved, all equal')
            except AssertionError as wrong:
                failed += 1
                print(f'{name}: {wrong}')
    return 1 if failed or not PROGRAMS else 0


if __name__ == '__main__':
    sys.exit(main())
