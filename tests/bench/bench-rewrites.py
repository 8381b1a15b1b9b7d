#!/usr/bin/env python3
"""Whether rewrites make what they rewrite faster: each kind on a grid of shapes, before and after its passes.

    ninja -C build tests/bench/bench-pipelines
    tests/bench/bench-rewrites.py build/tests/bench/bench-pipelines [--only PREFIX..] [--dtype float64] [--pairs 9] [--slower]

A row per case and size: times on one thread, the ratio after / before (median and quartiles, run in
turns, time of the processor) and what the passes made.  --slower prints only those whose lower quartile is over 1.05.
Needs numpy.  Nothing is judged by it; docs/BENCHMARKS.md has what it said."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'generators'))
import onnxproto  # noqa: E402
from builder import Builder  # noqa: E402

CASES = []


def case(name, passes, sizes, opset=17):
    """Registers a function (builder, *size) -> (value, its shape)."""
    def register(function):
        for size in sizes:
            CASES.append((name, passes.split(), size, opset, function))
        return function
    return register


def x_of(b, *shape, name='x'):
    return b.input(name, shape)


def linear(b, x, k, m):
    """With weights of its own."""
    with b.scope(f'linear{len(b.graph.initializers)}'):
        return b.linear(x, k, m)


# -- products --

PRODUCTS = [(1, 1, 16, 16), (1, 4, 64, 64), (1, 1, 1024, 1024), (1, 1, 256, 4096), (1, 128, 256, 256), (4, 64, 64, 64),
            (1, 512, 768, 768), (16, 2, 32, 32), (1, 1000, 16, 16), (1, 64, 512, 3)]


@case('bias.stack', 'fuse-bias', PRODUCTS)
def bias_stack(b, n, s, k, m):
    return linear(b, x_of(b, n, s, k), k, m), (n, s, m)


@case('bias.matrix', 'fuse-bias', PRODUCTS)
def bias_matrix(b, n, s, k, m):
    return linear(b, x_of(b, n * s, k), k, m), (n * s, m)


ADDENDS = {'mask': lambda n, h, s, t: (n, 1, s, t), 'one-mask': lambda n, h, s, t: (1, 1, s, t), 'keys': lambda n, h, s, t: (n, 1, 1, t),
           'heads': lambda n, h, s, t: (1, h, s, t), 'column': lambda n, h, s, t: (n, h, s, 1), 'full': lambda n, h, s, t: (n, h, s, t),
           'head': lambda n, h, s, t: (h, 1, 1), 'number': lambda n, h, s, t: (1,), 'matrix-of-rows': lambda n, h, s, t: (1, 1, s, 1),
           'samples': lambda n, h, s, t: (n, 1, 1, 1)}
SCORES = [(1, 1, 4, 4, 8), (2, 4, 16, 16, 16), (2, 8, 128, 128, 64), (1, 12, 1, 256, 64), (1, 4, 512, 512, 32), (32, 4, 49, 49, 32)]
for _kind, _shape in ADDENDS.items():
    @case('bias.scores.' + _kind, 'fuse-bias', SCORES)
    def bias_scores(b, n, h, s, t, d, shape=_shape):
        p = b.op('MatMul', x_of(b, n, h, s, d), x_of(b, n, h, d, t, name='k'))
        return b.op('Add', p, x_of(b, *shape(n, h, s, t), name='m')), (n, h, s, t)


def gelu(b, x):
    return b.op('Mul', b.op('Mul', x, b.op('Add', b.op('Erf', b.op('Div', x, b.constant(1.4142135))), b.constant(1.0))), b.constant(0.5))


def gelu_tanh(b, x):
    cube = b.op('Mul', b.op('Pow', x, b.constant(3.0)), b.constant(0.044715))
    inner = b.op('Tanh', b.op('Mul', b.op('Add', x, cube), b.constant(0.7978845608)))
    return b.op('Mul', b.op('Mul', x, b.op('Add', inner, b.constant(1.0))), b.constant(0.5))


def silu(b, x):
    return b.op('Mul', x, b.op('Sigmoid', x))


def hard_swish(b, x):
    return b.op('Div', b.op('Mul', x, b.op('Clip', b.op('Add', x, b.constant(3.0)), b.constant(0.0), b.constant(6.0))), b.constant(6.0))


ACTIVATIONS = {'relu': lambda b, x: b.op('Relu', x), 'clip': lambda b, x: b.op('Clip', x, b.constant(0.0), b.constant(6.0)),
               'leaky': lambda b, x: b.op('LeakyRelu', x, alpha=0.1), 'sigmoid': lambda b, x: b.op('Sigmoid', x),
               'tanh': lambda b, x: b.op('Tanh', x), 'hard-swish': hard_swish, 'silu': silu, 'gelu': gelu, 'gelu-tanh': gelu_tanh}
for _kind, _act in ACTIVATIONS.items():
    @case('activation.gemm.' + _kind, 'fuse-gelu fuse-bias fuse-activation', [PRODUCTS[i] for i in (0, 1, 2, 4, 6, 8)])
    def activation_gemm(b, n, s, k, m, act=_act):
        return act(b, linear(b, x_of(b, n * s, k), k, m)), (n * s, m)

    @case('activation.stack.' + _kind, 'fuse-gelu fuse-bias fuse-activation', [PRODUCTS[i] for i in (0, 1, 2, 4, 6, 8)])
    def activation_stack(b, n, s, k, m, act=_act):
        return act(b, linear(b, x_of(b, n, s, k), k, m)), (n, s, m)

# -- convolutions: channels in, out, side, kernel, groups, stride --

CONVS = [(3, 16, 32, 3, 1, 2), (4, 4, 16, 3, 1, 1), (16, 16, 8, 1, 1, 1), (64, 64, 28, 3, 1, 1), (64, 64, 28, 1, 1, 1), (64, 64, 28, 3, 64, 1),
         (256, 256, 7, 3, 1, 1), (32, 32, 56, 5, 32, 2), (7, 9, 20, 3, 1, 1), (512, 512, 1, 1, 1, 1)]


def conv(b, x, ci, co, k, g, stride=1, pad=None, bias=True, dims=2):
    w = b.normal('w', [co, ci // g] + [k] * dims, (ci // g * k**dims)**-0.5)
    more = [b.normal('b', [co], 0.1)] if bias else []
    p = k // 2 if pad is None else pad
    return b.op('Conv', x, w, *more, kernel_shape=[k] * dims, pads=[p] * (2 * dims), strides=[stride] * dims, group=g)


def side_of(side, k, stride, pad=None):
    p = k // 2 if pad is None else pad
    return (side + 2 * p - k) // stride + 1


for _kind, _act in ACTIVATIONS.items():
    @case('activation.conv.' + _kind, 'fuse-gelu fuse-activation', CONVS)
    def activation_conv(b, ci, co, side, k, g, stride, act=_act):
        s = side_of(side, k, stride)
        return act(b, conv(b, x_of(b, 1, ci, side, side), ci, co, k, g, stride)), (1, co, s, s)

    @case('activation.conv-add.' + _kind, 'fuse-gelu fuse-residual fuse-activation', [CONVS[i] for i in (1, 3, 4, 5, 8)])
    def activation_conv_add(b, ci, co, side, k, g, stride, act=_act):
        s = side_of(side, k, stride)
        y = conv(b, x_of(b, 1, ci, side, side), ci, co, k, g, stride)
        return act(b, b.op('Add', y, x_of(b, 1, co, s, s, name='z'))), (1, co, s, s)


@case('residual.conv', 'fuse-residual', CONVS)
def residual(b, ci, co, side, k, g, stride):
    s = side_of(side, k, stride)
    return b.op('Add', conv(b, x_of(b, 1, ci, side, side), ci, co, k, g, stride), x_of(b, 1, co, s, s, name='z')), (1, co, s, s)


@case('activation.conv1d.relu', 'fuse-activation', [(13, 24, 101, 3), (64, 64, 400, 3), (1, 8, 1000, 9)])
def activation_conv1d(b, ci, co, n, k):
    return b.op('Relu', conv(b, x_of(b, 1, ci, n), ci, co, k, 1, dims=1)), (1, co, n)


@case('activation.conv3d.relu', 'fuse-activation', [(3, 8, 12, 3), (16, 16, 16, 3)])
def activation_conv3d(b, ci, co, n, k):
    return b.op('Relu', conv(b, x_of(b, 1, ci, n, n, n), ci, co, k, 1, dims=3)), (1, co, n, n, n)


@case('fold-bn', 'fold-conv-bn', CONVS)
def fold_bn(b, ci, co, side, k, g, stride):
    s = side_of(side, k, stride)
    y = conv(b, x_of(b, 1, ci, side, side), ci, co, k, g, stride)
    parts = [b.uniform(n, [co], 0.5, 1.5) for n in ('scale', 'beta', 'mean', 'var')]
    return b.op('BatchNormalization', y, *parts), (1, co, s, s)


@case('fold-affine', 'fold-conv-affine', CONVS)
def fold_affine(b, ci, co, side, k, g, stride):
    s = side_of(side, k, stride)
    y = conv(b, x_of(b, 1, ci, side, side), ci, co, k, g, stride)
    return b.op('Add', b.op('Mul', y, b.normal('m', [co, 1, 1], 1)), b.normal('a', [co, 1, 1], 1)), (1, co, s, s)


PADS = {'even': (1, 1, 1, 1), 'behind': (0, 0, 1, 1), 'wide': (3, 3, 3, 3), 'mixed': (0, 2, 1, 0)}
for _kind, _pads in PADS.items():
    def padded(b, c, side, pads):
        full = b.ints(0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3])
        return b.op('Pad', x_of(b, 1, c, side, side), full), (side + pads[0] + pads[2], side + pads[1] + pads[3])

    @case('fold-pad.conv.' + _kind, 'fold-pad', CONVS)
    def pad_conv(b, ci, co, side, k, g, stride, pads=_pads):
        x, sides = padded(b, ci, side, pads)
        return conv(b, x, ci, co, k, g, stride, 0), (1, co, *(side_of(n, k, stride, 0) for n in sides))

    @case('fold-pad.max-pool.' + _kind, 'fold-pad', [(16, 8), (64, 56), (5, 20)])
    def pad_pool(b, c, side, pads=_pads):
        x, sides = padded(b, c, side, pads)
        x = b.op('Pad', b.op('Relu', x_of(b, 1, c, side, side, name='z')), b.ints(0, 0, *pads[:2], 0, 0, *pads[2:]))
        return b.op('MaxPool', x, kernel_shape=[4, 4], strides=[2, 2]), (1, c, *((n - 4) // 2 + 1 for n in sides))

    @case('fold-pad.average-pool.' + _kind, 'fold-pad', [(16, 8), (64, 56), (5, 20)])
    def pad_average(b, c, side, pads=_pads):
        x, sides = padded(b, c, side, pads)
        return b.op('AveragePool', x, kernel_shape=[4, 4], strides=[2, 2]), (1, c, *((n - 4) // 2 + 1 for n in sides))


@case('fold-reduce.mean', 'fold-reduce', [(1, 16, 7), (1, 512, 7), (1, 64, 112), (8, 3, 5), (1, 1280, 1)])
def reduce_mean(b, n, c, side):
    return b.op('ReduceMean', x_of(b, n, c, side, side), axes=[2, 3], keepdims=1), (n, c, 1, 1)


@case('fold-reduce.max', 'fold-reduce', [(1, 16, 7), (1, 512, 7), (1, 64, 112), (8, 3, 5)])
def reduce_max(b, n, c, side):
    return b.op('ReduceMax', x_of(b, n, c, side, side), axes=[2, 3], keepdims=1), (n, c, 1, 1)


# -- rows --

ROWS = [(1, 8), (1, 768), (128, 64), (128, 768), (2048, 1024), (4096, 32), (65536, 4), (9, 33)]


@case('norm.layer.17', 'fuse-layer-norm', ROWS)
def layer_norm(b, n, w):
    return b.layer_norm(x_of(b, n, w), w), (n, w)


@case('norm.layer.13', 'fuse-layer-norm', ROWS, 13)
def layer_norm_old(b, n, w):
    return b.layer_norm(x_of(b, n, w), w), (n, w)


def rms(b, n, w):
    x = x_of(b, n, w)
    square = b.op('Pow', x, b.constant(2.0))
    root = b.op('Sqrt', b.op('Add', b.op('ReduceMean', square, axes=[-1]), b.constant(1e-6)))
    return b.op('Mul', b.normal('g', [w], 1), b.op('Mul', x, b.op('Reciprocal', root))), (n, w)


case('norm.rms.17', 'fuse-layer-norm', ROWS)(rms)


def sum_of(b, n, w):
    return b.op('Add', x_of(b, n, w), x_of(b, n, w, name='z'))


def norm(b, x, w):
    return b.op('LayerNormalization', x, b.uniform('g', [w], 0.5, 1.5), b.normal('b', [w], 0.1))


@case('norm.skip', 'fuse-skip-layer-norm', ROWS)
def skip(b, n, w):
    return norm(b, sum_of(b, n, w), w), (n, w)


@case('norm.shared', 'fuse-shared-residual', ROWS)
def shared(b, n, w):
    s = sum_of(b, n, w)
    return b.op('Sub', norm(b, s, w), s), (n, w)


@case('norm.embed', 'fuse-embed-layer-norm', [(1, 4, 32), (2, 24, 64), (1, 128, 768), (8, 512, 128)])
def embed(b, n, s, w):
    ids = b.input('ids', [n, s], onnxproto.INT64)
    words = b.op('Gather', b.normal('words', [50, w], 1), ids)
    kinds = b.op('Gather', b.normal('kinds', [50, w], 1), ids)
    return norm(b, b.op('Add', b.op('Add', words, kinds), b.normal('places', [1, s, w], 1)), w), (n, s, w)


ELEMENTS = [(16,), (1024,), (16384,), (262144,), (4194304,)]
for _kind in ('gelu', 'gelu-tanh', 'silu'):
    for _opset in (17, 20):
        @case(f'rows.{_kind}.{_opset}', 'fuse-gelu', ELEMENTS, _opset)
        def element(b, n, act=ACTIVATIONS[_kind]):
            return act(b, x_of(b, n)), (n,)


@case('rows.quick-gelu', 'fuse-gelu', ELEMENTS)
def quick_gelu(b, n):
    x = x_of(b, n)
    return b.op('Mul', x, b.op('Sigmoid', b.op('Mul', x, b.constant(1.702)))), (n,)


for _kind, _of in {'pow-two': lambda b, x: b.op('Pow', x, b.constant(2.0)), 'divide': lambda b, x: b.op('Div', x, b.constant(3.0)),
                   'pow-half': lambda b, x: b.op('Pow', x, b.constant(0.5)), 'one-over': lambda b, x: b.op('Div', b.constant(1.0), x),
                   'divide-two': lambda b, x: b.op('Div', x, b.constant(4.0)),
                   'inverse-root': lambda b, x: b.op('Mul', x, b.op('Reciprocal', b.op('Sqrt', x)))}.items():
    @case('strength.' + _kind, 'reduce-strength', ELEMENTS)
    def strength(b, n, of=_of):
        return of(b, x_of(b, n)), (n,)


@case('strength.inverse-root-of-rows', 'reduce-strength', ROWS)
def strength_rows(b, n, w):
    return b.op('Mul', x_of(b, n, w), b.op('Reciprocal', b.op('Sqrt', x_of(b, n, 1, name='z')))), (n, w)


@case('strength.log-softmax', 'reduce-strength', ROWS)
def log_softmax(b, n, w):
    return b.op('Log', b.op('Softmax', x_of(b, n, w))), (n, w)


@case('strength.shuffle', 'reduce-strength', [(8, 2, 7), (48, 3, 28), (116, 2, 28), (24, 4, 56)])
def shuffle(b, c, g, side):
    t = b.op('Transpose', b.reshape(x_of(b, 1, c, side, side), 1, g, c // g, side, side), perm=[0, 2, 1, 3, 4])
    return b.reshape(t, 1, c, side, side), (1, c, side, side)


@case('factor.sum', 'factor-sums', ROWS)
def factor(b, n, w):
    c = x_of(b, 1, w, name='c')
    return b.op('Add', b.op('Mul', x_of(b, n, w), c), b.op('Mul', x_of(b, n, w, name='z'), c)), (n, w)


@case('factor.sum-of-columns', 'factor-sums', ROWS)
def factor_columns(b, n, w):
    c = x_of(b, n, w, name='c')
    return b.op('Add', b.op('Mul', x_of(b, n, 1), c), b.op('Mul', x_of(b, n, 1, name='z'), c)), (n, w)


@case('factor.matmul', 'factor-sums', PRODUCTS)
def factor_matmul(b, n, s, k, m):
    w = b.normal('w', [k, m], 0.1)
    return b.op('Add', b.op('MatMul', x_of(b, n, s, k), w), b.op('MatMul', x_of(b, n, s, k, name='z'), w)), (n, s, m)


# -- attention: batch, heads, queries, keys, size --

ATTENTIONS = [(1, 1, 4, 4, 8), (1, 4, 9, 9, 8), (2, 4, 24, 24, 16), (1, 12, 128, 128, 64), (1, 8, 512, 512, 64), (1, 4, 1024, 1024, 32),
              (1, 12, 1, 256, 64), (32, 4, 49, 49, 32), (1, 3, 197, 197, 64), (1, 16, 64, 64, 4), (4, 8, 1, 16, 8), (1, 2, 2048, 2048, 16),
              (1, 8, 16, 1024, 64), (1, 2, 100, 3, 128)]


def masked(b, s, n, h, q, t, kind):
    if kind == 'plain':
        return s
    if kind in ('where', 'where-not'):
        keep = b.input('m', [n, 1, q, t], onnxproto.BOOL)
        low = b.constant(-np.inf if kind == 'where' else -1e9)
        return b.op('Where', keep, s, low) if kind == 'where' else b.op('Where', keep, low, s)
    shape = {'add': (n, 1, q, t), 'keys': (n, 1, 1, t), 'one': (q, t), 'heads': (1, h, q, t)}[kind]
    return b.op('Add', s, x_of(b, *shape, name='m'))


for _kind in ('plain', 'add', 'keys', 'one', 'heads', 'where', 'where-not'):
    for _opset in (17, 23):
        @case(f'attention.{_kind}.{_opset}', 'fuse-attention', ATTENTIONS, _opset)
        def attention(b, n, h, q, t, d, kind=_kind):
            s = b.op('MatMul', x_of(b, n, h, q, d), x_of(b, n, h, d, t, name='k'))
            s = b.op('Mul', s, b.constant(d**-0.5))
            p = b.op('Softmax', masked(b, s, n, h, q, t, kind), axis=-1)
            return b.op('MatMul', p, x_of(b, n, h, t, d, name='v')), (n, h, q, d)


def heads_of(b, x, n, s, h, d, perm=(0, 2, 1, 3)):
    return b.op('Transpose', b.reshape(x, n, s, h, d), perm=list(perm))


BLOCKS = [(1, 1, 4, 8), (1, 4, 9, 8), (2, 4, 24, 16), (1, 12, 128, 64), (1, 8, 512, 64), (32, 4, 49, 32), (1, 3, 197, 64), (1, 12, 1, 64)]
EVERYTHING = ('fuse-bias cancel-transposes push-transposes cancel-reshapes absorb-transposes fuse-attention share-heads fuse-bias '
              'merge-matmuls fuse-heads absorb-reshapes')


def attend(b, q, k, v, n, h, s, d, mask):
    scores = b.op('Mul', b.op('MatMul', q, k), b.constant(d**-0.5))
    y = b.op('MatMul', b.op('Softmax', masked(b, scores, n, h, s, s, mask), axis=-1), v)
    return b.reshape(b.op('Transpose', y, perm=[0, 2, 1, 3]), n, s, h * d)


for _kind in ('plain', 'keys', 'one'):
    for _opset in (17, 23):
        @case(f'heads.apart.{_kind}.{_opset}', 'fuse-attention fuse-heads', BLOCKS, _opset)
        def heads_apart(b, n, h, s, d, mask=_kind):
            q, k, v = (x_of(b, n, s, h * d, name=name) for name in 'qkv')
            return attend(b, heads_of(b, q, n, s, h, d), heads_of(b, k, n, s, h, d, (0, 2, 3, 1)), heads_of(b, v, n, s, h, d),
                          n, h, s, d, mask), (n, s, h * d)

        @case(f'heads.block.{_kind}.{_opset}', EVERYTHING, BLOCKS, _opset)
        def heads_block(b, n, h, s, d, mask=_kind):
            x = x_of(b, n, s, h * d)
            q, k, v = (linear(b, x, h * d, h * d) for _ in 'qkv')
            y = attend(b, heads_of(b, q, n, s, h, d), heads_of(b, k, n, s, h, d, (0, 2, 3, 1)), heads_of(b, v, n, s, h, d),
                       n, h, s, d, mask)
            return b.op('Add', x, linear(b, y, h * d, h * d)), (n, s, h * d)

        @case(f'heads.packed.{_kind}.{_opset}', 'fuse-bias fuse-attention fuse-heads', BLOCKS, _opset)
        def heads_packed(b, n, h, s, d, mask=_kind):
            x = linear(b, x_of(b, n, s, h * d), h * d, 3 * h * d)
            q, k, v = b.op('Split', x, b.ints(h * d, h * d, h * d), outputs=3, axis=2)
            return attend(b, heads_of(b, q, n, s, h, d), heads_of(b, k, n, s, h, d, (0, 2, 3, 1)), heads_of(b, v, n, s, h, d),
                          n, h, s, d, mask), (n, s, h * d)

        @case(f'heads.shared.{_kind}.{_opset}', 'fuse-attention share-heads fuse-heads', [z for z in BLOCKS if z[1] % 4 == 0], _opset)
        def heads_shared(b, n, h, s, d, mask=_kind):
            g = h // 4
            q = heads_of(b, x_of(b, n, s, h * d, name='q'), n, s, h, d)

            def repeat(name):
                y = b.op('Unsqueeze', heads_of(b, x_of(b, n, s, g * d, name=name), n, s, g, d), b.ints(2))
                return b.reshape(b.op('Expand', y, b.ints(n, g, 4, s, d)), n, h, s, d)
            k, v = b.op('Transpose', repeat('k'), perm=[0, 1, 3, 2]), repeat('v')
            return attend(b, q, k, v, n, h, s, d, mask), (n, s, h * d)


@case('rotary.17', 'fuse-rotary', [(1, 1, 4, 8), (1, 4, 24, 16), (1, 12, 128, 64), (1, 32, 1, 128), (2, 8, 512, 64)])
def rotary(b, n, h, s, d):
    x = x_of(b, n, h, s, d)
    cos, sin = (b.normal(name, [1, 1, s, d], 1) for name in ('cos', 'sin'))
    low = b.op('Slice', x, b.ints(0), b.ints(d // 2), b.ints(3), b.ints(1))
    high = b.op('Slice', x, b.ints(d // 2), b.ints(2**62), b.ints(3), b.ints(1))
    turned = b.op('Concat', b.op('Neg', high), low, axis=-1)
    return b.op('Add', b.op('Mul', x, cos), b.op('Mul', turned, sin)), (n, h, s, d)


# -- what moves data --

for _n in (3, 4):
    @case(f'merge-matmuls.{_n}', 'fuse-bias merge-matmuls', PRODUCTS)
    def merge(b, n, s, k, m, many=_n):
        x = x_of(b, n, s, k)
        parts = [linear(b, x, k, m) for _ in range(many)]
        y = parts[0]
        for part in parts[1:]:
            y = b.op('Mul', y, part)
        return y, (n, s, m)


@case('absorb.gemm-a', 'absorb-transposes', PRODUCTS)
def absorb_a(b, n, s, k, m):
    return b.op('MatMul', b.op('Transpose', x_of(b, k, n * s), perm=[1, 0]), b.normal('w', [k, m], 1)), (n * s, m)


@case('absorb.gemm-b', 'absorb-transposes', PRODUCTS)
def absorb_b(b, n, s, k, m):
    return b.op('MatMul', x_of(b, n * s, k), b.op('Transpose', x_of(b, m, k, name='w'), perm=[1, 0])), (n * s, m)


@case('absorb.reshapes', 'fuse-bias absorb-reshapes', PRODUCTS)
def absorb_reshapes(b, n, s, k, m):
    return b.reshape(linear(b, b.reshape(x_of(b, n, s, k), n * s, k), k, m), n, s, m), (n, s, m)


IMAGES = [(3, 8), (16, 28), (64, 56), (5, 33)]


@case('push.elementwise', 'push-transposes cancel-transposes', IMAGES)
def push(b, c, side):
    x = b.op('Transpose', x_of(b, 1, side, side, c), perm=[0, 3, 1, 2])
    x = b.op('Mul', b.op('Relu', x), b.normal('m', [c, 1, 1], 1))
    return b.op('Transpose', x, perm=[0, 2, 3, 1]), (1, side, side, c)


@case('push.sums', 'push-transposes cancel-transposes', IMAGES)
def push_sums(b, c, side):
    x = b.op('Transpose', x_of(b, 1, side, side, c), perm=[0, 3, 1, 2])
    x = b.op('Softmax', b.op('Relu', x), axis=1)
    return b.op('Transpose', x, perm=[0, 2, 3, 1]), (1, side, side, c)


@case('push.mean', 'push-transposes cancel-transposes', IMAGES)
def push_mean(b, c, side):
    x = b.op('Transpose', x_of(b, 1, side, side, c), perm=[0, 3, 1, 2])
    return b.op('ReduceMean', x, axes=[2, 3], keepdims=1), (1, c, 1, 1)


@case('push.pad', 'push-transposes cancel-transposes', IMAGES)
def push_pad(b, c, side):
    x = b.op('Transpose', x_of(b, 1, side, side, c), perm=[0, 3, 1, 2])
    x = b.op('Pad', x, b.ints(0, 0, 1, 1, 0, 0, 1, 1))
    return b.op('Transpose', x, perm=[0, 2, 3, 1]), (1, side + 2, side + 2, c)


@case('push.concat', 'push-transposes cancel-transposes', IMAGES)
def push_concat(b, c, side):
    x, z = (b.op('Transpose', x_of(b, 1, side, side, c, name=name), perm=[0, 3, 1, 2]) for name in 'xz')
    return b.op('Transpose', b.op('Concat', x, z, axis=1), perm=[0, 2, 3, 1]), (1, side, side, 2 * c)


@case('push.layer-norm-of-channels', 'push-transposes cancel-transposes', IMAGES)
def push_norm(b, c, side):
    x = b.op('Transpose', x_of(b, 1, c, side, side), perm=[0, 2, 3, 1])
    return b.op('Transpose', norm(b, x, c), perm=[0, 3, 1, 2]), (1, c, side, side)


@case('split-slices', 'split-slices', [(1, 16), (16, 96), (128, 2304), (4096, 64)])
def split_slices(b, n, w):
    x = x_of(b, n, w)
    parts = [b.op('Slice', x, b.ints(i * w // 2), b.ints((i + 1) * w // 2), b.ints(1), b.ints(1)) for i in range(2)]
    return b.op('Mul', parts[0], b.op('Sigmoid', parts[1])), (n, w // 2)


@case('reassociate', 'reassociate-matmuls', [(4, 64, 64, 1), (128, 128, 128, 4), (512, 16, 512, 16), (1, 64, 256, 64), (64, 8, 64, 60)])
def reassociate(b, m, k, n, p):
    y = b.op('MatMul', x_of(b, m, k), x_of(b, k, n, name='z'))
    return b.op('MatMul', y, x_of(b, n, p, name='w')), (m, p)


@case('elementwise.chain', 'fuse-elementwise', ELEMENTS)
def chain(b, n):
    x = x_of(b, n)
    return b.op('Exp', b.op('Neg', b.op('Mul', b.op('Add', x, b.constant(1.0)), x))), (n,)


@case('elementwise.rows', 'fuse-elementwise', ROWS)
def chain_rows(b, n, w):
    x = x_of(b, n, w)
    return b.op('Mul', b.op('Tanh', b.op('Add', x, b.normal('a', [w], 1))), x_of(b, n, 1, name='z')), (n, w)


# -- measuring --

ROW = re.compile(r'(\d+) -> +(\d+) nodes +([\d.]+) -> +([\d.]+) ms +([\d.]+) \(([\d.]+) to ([\d.]+)\)')


def retype(graph, dtype):
    """All that is float32 becomes @dtype."""
    code, element = onnxproto.CODE_OF[dtype], np.dtype(np.float32)
    for value in graph.inputs + graph.outputs:
        value.dtype = code if value.dtype == onnxproto.FLOAT else value.dtype
    graph.initializers = {name: array.astype(dtype) if array.dtype == element else array for name, array in graph.initializers.items()}
    for node in graph.nodes:
        if node.op == 'Constant' and node.attrs['value'].dtype == element:
            node.attrs['value'] = node.attrs['value'].astype(dtype)


def write_case(folder, one, dtype):
    """Files: the model, and a pipeline of the passes."""
    _, passes, size, opset, function = one
    b = Builder('g', 1)
    value, shape = function(b, *size)
    b.output(value, 'y', shape)
    retype(b.graph, dtype)
    model, pipeline = os.path.join(folder, 'model.onnx'), os.path.join(folder, 'passes.json')
    onnxproto.write_model(b.model(opset, 8 if opset < 19 else 10), model)
    with open(pipeline, 'w', encoding='utf-8') as file:
        json.dump({'name': 'passes', 'title': 'Passes', 'doc': 'Of a case.', 'max_iterations': 4,
                   'passes': passes + ['eliminate-dead-code']}, file)
    return model, pipeline


def measure(bench, folder, one, pairs, dtype):
    """Nodes before and after, times, ratio and quartiles."""
    model, pipeline = write_case(folder, one, dtype)
    done = subprocess.run([bench, '--processor', '--pairs', str(pairs), '--pipelines', pipeline, model], capture_output=True, text=True, check=False)
    found = ROW.search(done.stdout)
    if found is None:
        sys.exit(f'{one[0]} {one[2]}: {done.stderr.strip() or done.stdout}')
    return [int(found[1]), int(found[2]), *(float(found[i]) for i in range(3, 8))]


def main():
    parser = argparse.ArgumentParser(description='Rewrites before and after, on a grid of shapes.')
    parser.add_argument('bench')
    parser.add_argument('--only', nargs='*', metavar='PREFIX')
    parser.add_argument('--dtype', type=np.dtype, default=np.dtype(np.float32), help='float32, float16 or float64')
    parser.add_argument('--pairs', type=int, default=9)
    parser.add_argument('--slower', action='store_true')
    arguments = parser.parse_args()
    n = n_slower = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in CASES:
            if arguments.only and not one[0].startswith(tuple(arguments.only)):
                continue
            before, after, ms_before, ms_after, ratio, low, high = measure(arguments.bench, folder, one, arguments.pairs, arguments.dtype)
            slower = low > 1.05
            n, n_slower = n + 1, n_slower + slower
            if slower or not arguments.slower:
                print(f'{one[0]:32} {"x".join(map(str, one[2])):20} {before:3} -> {after:3} {ms_before * 1e3:10.1f} -> '
                      f'{ms_after * 1e3:10.1f} us  {ratio:.2f} ({low:.2f} to {high:.2f}){"  slower" if slower else ""}', flush=True)
    print(f'{n} cases, {n_slower} slower')
    return 0


if __name__ == '__main__':
    sys.exit(main())
