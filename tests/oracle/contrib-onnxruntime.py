#!/usr/bin/env python3
"""Random nodes of the domain com.microsoft, against ONNX Runtime.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/ort && /tmp/ort/bin/pip install numpy onnx onnxruntime
    /tmp/ort/bin/python tests/oracle/contrib-onnxruntime.py build/irscope [--cases 20] [--seed 1] [OP..]
    ... --write tests/table/contrib     a few cases of each operator as text, which tests/table runs

CASES has a function per operator that draws shapes, attributes and which inputs are given.  Each draw
runs in ONNX Runtime without its optimizer; what it refuses is counted and not compared.  irscope runs
all draws of an operator as one graph, on the reference kernels and on the CPU's.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as error:
    sys.exit(f"contrib-onnxruntime: {error.name} is missing; see the top of this file for how to get it")

R = np.random.default_rng(1)
DOMAIN = "com.microsoft"
CASES = {}


class Case:
    """One node: inputs (None where one is left out), attributes, which outputs are wanted."""

    def __init__(self, *inputs, outputs=1, steps=0, tol=2e-5, domain=DOMAIN, **attrs):
        self.inputs = list(inputs)
        while self.inputs and self.inputs[-1] is None:
            self.inputs.pop()
        self.outputs = [True] * outputs if isinstance(outputs, int) else outputs
        self.steps, self.tol, self.domain = steps, tol, domain
        self.attrs = {key: value for key, value in attrs.items() if value is not None}


def operator(function):
    CASES[function.__name__] = function
    return function


# -- draws --

def size(low=1, high=6):
    return int(R.integers(low, high))


def some(*choices):
    return choices[int(R.integers(len(choices)))]


def chance(part=0.5):
    return R.random() < part


def reals(*dims, low=-2.0, high=2.0):
    return np.asarray(R.uniform(low, high, dims), np.float32)


def wholes(dtype, *dims, low=None, high=None):
    info = np.iinfo(dtype)
    return R.integers(info.min if low is None else low, (info.max if high is None else high) + 1, dims).astype(dtype)


def shape(low=1, high=4):
    return [size() for _ in range(size(low, high))]


def byte():
    return some(np.uint8, np.int8)


def scale(*dims):
    return np.asarray(R.uniform(0.01, 0.1, dims), np.float32)


def zero(dtype, *dims):
    return np.asarray(wholes(dtype, *dims, low=np.iinfo(dtype).min // 8 if dtype == np.int8 else 100,
                             high=16 if dtype == np.int8 else 150), dtype)


def broadcast(dims):
    return [1 if chance(0.2) else dim for dim in dims[size(0, len(dims)):]] if chance() else dims


# -- quantization --

def quantized(*dims, dtype=None):
    dtype = dtype or byte()
    return wholes(dtype, *dims), scale(), zero(dtype)


@operator
def QuantizeLinear():
    dims, dtype = shape(2, 4), byte()
    axis = int(R.integers(-len(dims), len(dims)))
    if chance():
        return Case(reals(*dims), scale(), zero(dtype), steps=1)
    return Case(reals(*dims), scale(dims[axis]), zero(dtype, dims[axis]), axis=axis, steps=1)


@operator
def DequantizeLinear():
    dims, dtype = shape(2, 4), byte()
    axis = int(R.integers(-len(dims), len(dims)))
    if chance():
        return Case(wholes(dtype, *dims), scale(), zero(dtype))
    return Case(wholes(dtype, *dims), scale(dims[axis]), zero(dtype, dims[axis]), axis=axis)


def two_quantized():
    dims, dtype = shape(), byte()
    a, b = (dims, broadcast(dims)) if chance() else (broadcast(dims), dims)
    x, y = quantized(*a, dtype=dtype), quantized(*b, dtype=dtype)
    return Case(*x, *y, scale(), zero(dtype), steps=1)


@operator
def QLinearAdd():
    return two_quantized()


@operator
def QLinearMul():
    return two_quantized()


def one_quantized(**attrs):
    dtype = byte()
    return Case(*quantized(*shape(), dtype=dtype), scale(), zero(dtype), steps=1, **attrs)


@operator
def QLinearLeakyRelu():
    return one_quantized(alpha=some(None, 0.2))


@operator
def QLinearSigmoid():
    dtype = byte()
    return Case(*quantized(*shape(), dtype=dtype), np.float32(1 / 200), zero(dtype), steps=1)


@operator
def QLinearSoftmax():
    dtype, dims = byte(), shape(2, 4)
    return Case(*quantized(*dims, dtype=dtype), np.float32(1 / 256), np.array(np.iinfo(dtype).min, dtype), steps=1,
                axis=int(R.integers(0, len(dims))), opset=some(11, 13))


@operator
def QLinearConcat():
    dims, dtype = shape(2, 4), byte()
    axis = int(R.integers(-len(dims), len(dims)))
    parts = []
    for _ in range(size(1, 4)):
        dims[axis] = size()
        parts += quantized(*dims, dtype=dtype)
    return Case(scale(), zero(dtype), *parts, axis=axis, steps=1)


@operator
def QLinearWhere():
    dims, dtype = shape(), byte()
    return Case(R.random(dims) < 0.5, *quantized(*dims, dtype=dtype), *quantized(*dims, dtype=dtype), scale(), zero(dtype),
                steps=1)


def image(last):
    n, c, h, w = size(1, 3), size(), size(4, 9), size(4, 9)
    return [n, h, w, c] if last else [n, c, h, w]


@operator
def QLinearAveragePool():
    dtype, last = byte(), int(chance(0.4))
    k = [size(1, 4), size(1, 4)]
    return Case(*quantized(*image(last), dtype=dtype), scale(), zero(dtype), steps=1, kernel_shape=k, channels_last=last,
                strides=some(None, [2, 1]), pads=some(None, [0, 0, k[0] - 1, k[1] - 1]), count_include_pad=int(chance()),
                ceil_mode=int(chance(0.3)))


@operator
def QLinearGlobalAveragePool():
    dtype, last = byte(), int(chance(0.4))
    return Case(*quantized(*image(last), dtype=dtype), scale(), zero(dtype), steps=1, channels_last=last)


@operator
def NhwcMaxPool():
    k = [size(1, 4), size(1, 4)]
    return Case(wholes(byte(), *image(True)), kernel_shape=k, strides=some(None, [2, 1]), pads=some(None, [0, 0, k[0] - 1, k[1] - 1]))


@operator
def QLinearConv():
    dtype, last, group = np.uint8, int(chance(0.6)), some(1, 1, 2)
    c, m = 2 * size(1, 4), 2 * size(1, 4)
    n, h, w = size(1, 3), size(4, 8), size(4, 8)
    wtype = byte()
    per = chance()
    weight = wholes(wtype, m, c // group, size(1, 4), size(1, 4))
    return Case(*quantized(*([n, h, w, c] if last else [n, c, h, w]), dtype=dtype), weight, scale(*([m] if per else [])),
                np.zeros([m] if per else [], wtype) if wtype == np.int8 else zero(wtype), np.float32(2.5), zero(dtype),
                some(None, wholes(np.int32, m, low=-500, high=500)), channels_last=last, group=group,
                strides=some(None, [2, 1]), pads=some(None, [1, 1, 0, 1]))


@operator
def QGemm():
    m, n, k = size(), size(), size(2, 9)
    ta, tb, btype = int(chance(0.3)), int(chance(0.3)), byte()
    per, real = chance(), chance(0.3)
    a = quantized(*([k, m] if ta else [m, k]), dtype=np.uint8)
    b = wholes(btype, *([n, k] if tb else [k, n]))
    dims = [n] if per else []
    return Case(*a, b, scale(*dims), zero(btype, *dims), some(None, wholes(np.int32, n, low=-300, high=300)),
                None if real else np.float32(0.8), None if real else zero(np.uint8), transA=ta, transB=tb,
                alpha=some(None, 1.0), steps=0 if real else 1)


@operator
def MatMulIntegerToFloat():
    k, n, btype = size(2, 9), size(), byte()
    dims = [n] if chance() else []
    return Case(wholes(np.uint8, *shape(1, 3), k), wholes(btype, k, n), scale(), scale(*dims), some(None, zero(np.uint8)),
                some(None, zero(btype, *dims)), some(None, reals(n)))


@operator
def DynamicQuantizeMatMul():
    k, n, btype = size(2, 9), size(), byte()
    dims = [n] if chance() else []
    return Case(reals(*shape(1, 3), k), wholes(btype, k, n), scale(*dims), some(None, zero(btype, *dims)), some(None, reals(n)),
                tol=1e-4)


@operator
def MatMulInteger16():
    k = size(2, 9)
    return Case(wholes(np.int16, size(), k), wholes(np.int16, k, size()))


def n_bits(k, n, block, bits, zeros, real_zeros):
    blocks = -(-k // block)
    b = wholes(np.uint8, n, blocks, block * bits // 8)
    scales = scale(n, blocks)
    if not zeros:
        return b, scales, None
    if real_zeros:
        return b, scales, reals(n, blocks, low=0, high=2**bits)
    return b, scales, wholes(np.uint8, n, -(-blocks * bits // 8))


@operator
def MatMulNBits():
    k, n, block, bits = some(16, 32, 48, 64), size(), some(16, 32), some(4, 4, 8)
    b, scales, zeros = n_bits(k, n, block, bits, chance(), chance(0.3))
    return Case(reals(*shape(1, 3), k), b, scales, zeros, None, some(None, reals(n)) if chance() else None,
                K=k, N=n, block_size=block, bits=bits, tol=1e-4)


@operator
def MatMulBnb4():
    k, n, block = some(16, 32, 48), 2 * size(), 16
    return Case(reals(size(), k), wholes(np.uint8, (k * n + 1) // 2), scale(-(-k * n // block)), K=k, N=n, block_size=block,
                quant_type=some(0, 1), tol=1e-4)


@operator
def GatherBlockQuantized():
    rows, width, block = size(2, 8), some(32, 64, 48), some(16, 32)
    blocks = -(-width // block)
    return Case(wholes(np.uint8, rows, width // 2), wholes(some(np.int64, np.int32), *shape(1, 3), low=0, high=rows - 1), scale(rows, blocks),
                some(None, wholes(np.uint8, rows, -(-blocks // 2))), bits=4, block_size=block, gather_axis=0, quantize_axis=1)


# -- attention --

def mask(b, total, queries, three=True):
    kind = R.integers(0, 5 if three else 3)
    if kind == 1:
        return wholes(np.int32, b, low=1, high=total)
    if kind == 2:
        return wholes(np.int32, b, total, low=0, high=1)
    if kind == 3:
        return wholes(np.int32, b, queries, total, low=0, high=1)
    return None


def heads():
    return size(1, 3), size(1, 5), size(1, 4), 2 * size(1, 4)


@operator
def Attention():
    b, s, n, h = heads()
    h, hv = 4, some(4, 4, 8)
    width, past = n * h, size(1, 4) if chance(0.4) else 0
    hv = h if past else hv
    sizes = None if hv == h and chance() else [width, width, n * hv]
    return Case(reals(b, s, width), reals(width, 2 * width + n * hv), reals(2 * width + n * hv), mask(b, s + past, s),
                reals(2, b, n, past, h) if past else None, reals(some(1, b), some(1, n), s, s + past) if chance(0.3) else None,
                num_heads=n, unidirectional=int(chance(0.4)), qkv_hidden_sizes=sizes, scale=some(None, 0.3),
                outputs=2 if hv == h and past else 1, tol=1e-4)


@operator
def QAttention():
    b, s, n, h = heads()
    width, past, wtype = n * 4, size(1, 4) if chance(0.4) else 0, byte()
    dims = [3 * width] if chance(0.3) else []
    return Case(wholes(np.uint8, b, s, width), wholes(wtype, width, 3 * width), reals(3 * width), scale(), scale(*dims),
                mask(b, s + past, s), zero(np.uint8), zero(wtype, *dims) if wtype == np.uint8 else np.zeros(dims, wtype),
                reals(2, b, n, past, 4) if past else None, num_heads=n, unidirectional=int(chance(0.4)), outputs=2 if past else 1,
                tol=1e-4)


@operator
def MultiHeadAttention():
    b, s, n, h = heads()
    keys, hv = size(1, 6), some(h, h, 6)
    width = n * h
    if chance(0.25):  # of the packed forms its kernel for CPUs has none
        return Case(reals(b, s, width), reals(b, n, keys, h), reals(b, n, keys, h), num_heads=n, tol=1e-4)
    past = size(1, 4) if h == hv and chance(0.4) else 0  # which it ignores unless the present is wanted
    bias = reals(2 * width + n * hv) if chance() else None
    keys = s if chance() else keys
    return Case(reals(b, s, width), reals(b, keys, width), reals(b, keys, n * hv), bias, mask(b, keys + past, s, False),
                reals(some(1, b), some(1, n), s, keys + past) if chance(0.3) else None,
                reals(b, n, past, h) if past else None, reals(b, n, past, hv) if past else None,
                num_heads=n, scale=some(None, 0.4), unidirectional=int(keys == s and chance(0.3)), outputs=3 if past or chance() else 1, tol=1e-4)


@operator
def DecoderMaskedMultiHeadAttention():
    b, _, n, h = heads()
    width, room = n * h, size(3, 7)
    length = size(1, room)
    shared = 1  # all that ONNX Runtime has for CPUs
    return Case(reals(b, 1, width), reals(b, 1, width), reals(b, 1, width), None, None,
                reals(b, n, room if shared else length, h), reals(b, n, room if shared else length, h),
                np.array([length], np.int32) if shared else None, None, None, reals(3 * width) if chance() else None,
                num_heads=n, past_present_share_buffer=shared, outputs=3, tol=1e-4)


@operator
def RotaryEmbedding():
    b, s, n = size(1, 3), size(1, 5), size(1, 4)
    h = some(8, 16)
    turned = some(0, 0, 4)
    d = (turned or h) // 2
    positions = np.array([some(0, 3)], np.int64) if chance() else wholes(np.int64, b, s, low=0, high=9)
    x = reals(b, s, n * h) if turned or chance() else reals(b, n, s, h)
    return Case(x, positions, reals(10, d), reals(10, d), interleaved=int(chance()),
                rotary_embedding_dim=turned or None, num_heads=n if turned or chance() else None)


@operator
def GroupQueryAttention():
    b, kv, h = size(1, 3), size(1, 3), some(8, 16)
    n = kv * size(1, 3)
    room, packed, rotary = 8, chance(0.3), chance()
    prompt = chance(0.4)
    s = size(2, 6) if prompt else 1
    lengths = np.full([b], s, np.int32) if prompt else wholes(np.int32, b, low=2, high=7)
    total = int(lengths.max())
    q = reals(b, s, (n + 2 * kv) * h if packed else n * h)
    cache = (reals(b, kv, room, h), reals(b, kv, room, h)) if not prompt or chance() else (None, None)
    angles = (reals(room, h // 2), reals(room, h // 2)) if rotary else (None, None)
    return Case(q, None if packed else reals(b, s, kv * h), None if packed else reals(b, s, kv * h), *cache, lengths - 1,
                np.array(total, np.int32), *angles, None, reals(some(1, b), some(1, n), s, total) if chance(0.3) else None,
                reals(n) if chance(0.2) else None,
                num_heads=n, kv_num_heads=kv, do_rotary=int(rotary), rotary_interleaved=int(chance(0.3)), scale=some(None, 0.3),
                local_window_size=some(-1, -1, 2), softcap=some(None, 5.0), smooth_softmax=some(None, None, 1), outputs=3, tol=1e-4)


# -- normalization --

@operator
def SkipLayerNormalization():
    b, s, h = size(), size(), size(2, 9)
    skip = reals(*some([b, s, h], [b, s, h], [1, s, h], [s, h]))
    return Case(reals(b, s, h), skip, reals(h), some(None, reals(h)), some(None, reals(h)), epsilon=some(None, 1e-3),
                outputs=some([True], [True, False, False, True]), tol=1e-4)


@operator
def SkipSimplifiedLayerNormalization():
    b, s, h = size(), size(), size(2, 9)
    skip = reals(*some([b, s, h], [b, s, h], [1, s, h], [s, h]))
    return Case(reals(b, s, h), skip, reals(h), some(None, reals(h)), epsilon=some(None, 1e-3),
                outputs=some([True], [True, False, False, True]), tol=1e-4)


@operator
def SimplifiedLayerNormalization():
    dims = shape(2, 4)
    axis = int(R.integers(-len(dims), len(dims)))
    return Case(reals(*dims), reals(*dims[axis:]), axis=axis, epsilon=1e-3, stash_type=1, domain="")


@operator
def LayerNormalization():
    dims = shape(2, 4)
    axis = int(R.integers(-len(dims), len(dims)))
    return Case(reals(*dims), reals(*dims[axis:]), some(None, reals(*dims[axis:])), axis=axis, epsilon=1e-3, domain="")


@operator
def EmbedLayerNormalization():
    b, s, h, rows = size(), size(1, 5), size(2, 9), 7
    segments = chance()
    return Case(wholes(np.int32, b, s, low=0, high=rows - 1), wholes(np.int32, b, s, low=0, high=1) if segments else None, reals(rows, h),
                reals(6, h), reals(2, h) if segments else None, reals(h), reals(h),
                wholes(np.int32, b, s, low=0, high=1) if chance() else None,
                wholes(np.int32, b, s, low=0, high=5) if chance(0.3) else None,
                outputs=some(2, 3), tol=1e-4)


@operator
def QEmbedLayerNormalization():
    b, s, h, rows, dtype = size(), size(1, 5), size(2, 9), 7, np.uint8
    return Case(wholes(np.int32, b, s, low=0, high=rows - 1), wholes(np.int32, b, s, low=0, high=1), wholes(dtype, rows, h),
                wholes(dtype, 6, h), wholes(dtype, 2, h), wholes(dtype, h), wholes(dtype, h),
                wholes(np.int32, b, s, low=0, high=1) if chance() else None,
                *[scale() for _ in range(5)], *[zero(dtype) for _ in range(5)], outputs=2, tol=1e-4)


@operator
def GatedRMSNorm():
    dims = shape(2, 4)
    return Case(reals(*dims), reals(dims[-1]), reals(*dims), activation=some(None, "silu", "sigmoid"))


@operator
def Gelu():
    return Case(reals(*shape(), low=-4, high=4))


@operator
def QuickGelu():
    return Case(reals(*shape(), low=-4, high=4), alpha=some(None, 1.0, -0.5))


@operator
def BiasGelu():
    dims = shape()
    return Case(reals(*dims), reals(dims[-1]))


@operator
def FastGelu():
    dims = shape()
    return Case(reals(*dims), some(None, reals(dims[-1])), tol=1e-4)


@operator
def ScaledSiLU():
    dims = shape()
    return Case(reals(*dims), some(None, reals()), alpha=some(None, 0.7))


# -- products --

@operator
def FusedConv():
    c, m, group = 2 * size(1, 4), 2 * size(1, 4), some(1, 1, 2)
    n, h, w, k = size(1, 3), size(3, 8), size(3, 8), some(1, 3)
    name = some(None, "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid")
    params = {"LeakyRelu": [0.2], "Clip": [-0.5, 0.7], "HardSigmoid": [0.3, 0.4]}.get(name)
    pads = k // 2
    return Case(reals(n, c, h, w), reals(m, c // group, k, k), some(None, reals(m)), reals(n, m, h, w) if chance(0.4) else None,
                activation=name, activation_params=params, group=group, pads=[pads] * 4, kernel_shape=[k, k], tol=1e-4)


@operator
def FusedGemm():
    m, n, k = size(), size(), size()
    ta, tb = int(chance(0.3)), int(chance(0.3))
    name = some("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Softsign", "Selu", "ThresholdedRelu")
    alpha = {"LeakyRelu": 0.2, "Elu": 0.8, "HardSigmoid": 0.3, "ThresholdedRelu": 0.5, "Selu": 1.5}.get(name)
    return Case(reals(*([k, m] if ta else [m, k])), reals(*([n, k] if tb else [k, n])), some(None, reals(n), reals(m, n)),
                transA=ta, transB=tb, alpha=some(None, 0.5), beta=some(None, 2.0), activation=name, activation_alpha=alpha,
                activation_beta=0.4 if name == "HardSigmoid" else None, activation_gamma=1.2 if name == "Selu" else None, tol=1e-4)


@operator
def FusedMatMul():
    m, n, k = size(), size(), size()
    batch = [size() for _ in range(size(0, 3))]
    ta, tb, ba, bb = (int(chance(0.4)) for _ in range(4))
    ba, bb = (ba, bb) if batch else (0, 0)

    def operand(rows, columns, swapped, behind):
        last = [columns, rows] if swapped else [rows, columns]
        return reals(*([last[0]] + batch + [last[1]] if behind else batch + last))

    return Case(operand(m, k, ta, ba), operand(k, n, tb, bb), transA=ta, transB=tb, transBatchA=ba, transBatchB=bb,
                alpha=some(None, 0.5))


@operator
def TransposeMatMul():
    m, n, k = size(), size(), size()
    ta, tb = int(chance()), int(chance())
    return Case(reals(*([k, m] if ta else [m, k])), reals(*([n, k] if tb else [k, n])), transA=ta, transB=tb, alpha=some(None, 0.5))


@operator
def ConvTransposeWithDynamicPads():
    c, m = size(), size()
    return Case(reals(size(1, 3), c, size(3, 6), size(3, 6)), reals(c, m, 3, 3), np.array(some([0, 0, 0, 0], [1, 1, 1, 0]), np.int64),
                some(None, reals(m)), strides=some(None, [2, 1]), kernel_shape=[3, 3], tol=1e-4)


@operator
def CDist():
    k = size()
    return Case(reals(size(), k), reals(size(), k), metric=some("euclidean", "sqeuclidean"), tol=1e-3)


# -- the rest --

@operator
def ExpandDims():
    dims = shape()
    return Case(reals(*dims), np.array(R.integers(-len(dims) - 1, len(dims) + 1), np.int32))


@operator
def Range():
    dtype = some(np.float32, np.int64, np.int32)
    return Case(np.array(1, dtype), np.array(size(3, 9), dtype), some(None, np.array(2, dtype)))


@operator
def Pad():
    dims = shape()
    mode = some("constant", "constant", "edge", "reflect")
    pads = wholes(np.int64, 2 * len(dims), low=0, high=0 if mode == "reflect" else 3)
    return Case(reals(*dims), pads, some(None, reals(1)) if mode == "constant" else None, mode=mode)


@operator
def GridSample():
    n, c, padding = size(1, 3), size(), some("zeros", "border", "reflection")
    # Its cubic does not clamp places to the border, as the standard's reference implementation does.
    modes = ["bilinear", "nearest"] + (["bicubic"] if padding != "border" else [])
    return Case(reals(n, c, size(2, 6), size(2, 6)), reals(n, size(), size(), 2, low=-1.2, high=1.2), mode=some(*modes), padding_mode=padding,
                align_corners=int(chance()), tol=1e-4)


@operator
def Trilu():
    return Case(reals(*shape(2, 4)), some(None, np.array(R.integers(-3, 4), np.int64)), upper=int(chance()))


@operator
def GatherND():
    return Case(reals(3, 4, 2), wholes(some(np.int64, np.int32), *shape(1, 3), 2, low=0, high=2))


@operator
def Inverse():
    n = size()
    return Case(reals(*([size()] if chance() else []), n, n) + 3 * np.eye(n, dtype=np.float32), tol=1e-3)


@operator
def CropAndResize():
    n, rois = size(1, 3), size()
    return Case(reals(n, size(), size(2, 7), size(2, 7)), reals(rois, 4, low=-0.2, high=1.2), wholes(np.int32, rois, low=0, high=n - 1),
                np.array([size(), size()], np.int32), mode=some(None, "bilinear", "nearest"), extrapolation_value=some(None, 0.5))


@operator
def MurmurHash3():
    x = some(reals(*shape()), wholes(np.int32, *shape()), wholes(np.int64, *shape()), reals(*shape()).astype(np.float64))
    if chance(0.3):
        x = np.array([["a", "irscope", "ü", "0123456789abcdef" * 2]])
    return Case(x, positive=some(None, 0, 1), seed=some(None, 7))


@operator
def UnfoldTensor():
    dims = shape(1, 4)
    dim = int(R.integers(-len(dims), len(dims)))
    return Case(reals(*dims), dim=dim, size=int(R.integers(1, dims[dim] + 1)), step=some(None, 2))


@operator
def NGramRepeatBlock():
    b, s = size(), size(3, 9)
    return Case(wholes(np.int64, b, s, low=0, high=2), reals(b, 4), ngram_size=size(1, 4))


@operator
def BifurcationDetector():
    n = size(4, 12)
    start = size(0, n)
    return Case(wholes(np.int64, n, low=0, high=3), wholes(np.int64, size(1, 5), low=0, high=3), np.array(start, np.int64),
                some(None, wholes(np.int64, n + 1 - start, low=0, high=3)), outputs=2, max_ngram_size=some(None, 2))


@operator
def DynamicTimeWarping():
    return Case(reals(size(1, 6), size(1, 6)))


@operator
def Unique():
    return Case(np.round(reals(size(1, 12))), outputs=3)


@operator
def SampleOp():
    return Case(reals(*shape()))


@operator
def GatedAdd():
    dims = shape(2, 3)
    return Case(reals(*dims), reals(*dims), reals(*dims[:-1], 1))


@operator
def BranchwiseRMSNorm():
    n, h, dims = size(1, 3), size(2, 6), shape(1, 3)
    return Case(reals(*dims, n * h), some(None, reals(h), reals(n, h), reals(n * h)), num_branches=n)


@operator
def HyperConnectionPreMix():
    n, h, dims = size(1, 3), size(2, 6), shape(1, 3)
    return Case(reals(*dims, n * h), reals(*dims, n), num_branches=n, reduction_scale=some(None, 0.5))


@operator
def DynamicQuantizeLSTM():
    direction = some("forward", "reverse", "bidirectional")
    n, h, k, steps, b = 1 + (direction == "bidirectional"), size(1, 4), size(1, 5), size(1, 4), size(1, 3)
    dtype = byte()
    return Case(reals(steps, b, k), wholes(dtype, n, k, 4 * h), wholes(dtype, n, h, 4 * h), some(None, reals(n, 8 * h)), None,
                some(None, reals(n, b, h)), None, None, scale(n) / 5, zero(dtype, n), scale(n) / 5, zero(dtype, n),
                hidden_size=h, direction=direction, outputs=3, tol=0.05)  # it rounds X and the states to 8 bits


@operator
def MaxpoolWithMask():
    dims, k = [size(1, 3), size(), size(3, 7), size(3, 7)], [size(1, 3), size(1, 3)]
    return Case(reals(*dims), wholes(np.int32, *dims, low=0, high=1), kernel_shape=k, strides=some(None, [2, 1]))


@operator
def MoE():
    rows, experts, hidden, inner = size(), size(2, 5), 4, 6
    name = some("relu", "gelu", "silu", "identity", "swiglu")
    fused = 2 if name == "swiglu" else 1
    return Case(reals(rows, hidden), reals(rows, experts), reals(experts, fused * inner, hidden), some(None, reals(experts, fused * inner)),
                reals(experts, hidden, inner), some(None, reals(experts, hidden)), k=some(1, 2), activation_type=name,
                normalize_routing_weights=int(chance()), swiglu_fusion=1 if name == "swiglu" else None,
                activation_alpha=1.7 if name == "swiglu" else None, activation_beta=1.0 if name == "swiglu" else None, tol=1e-4)


@operator
def QMoE():
    rows, experts, name, bits = size(), size(2, 5), some("relu", "gelu", "silu", "identity", "swiglu"), some(4, 4, 8)
    block = some(None, 16, 32)
    hidden, inner = (some(32, 64), some(32, 64)) if block else (some(8, 16, 32), some(8, 16, 32))
    fused, pack = 2 if name == "swiglu" else 1, 8 // bits

    def layer(n, k):
        blocks = k // block if block else 1
        scales = scale(experts, n, blocks) if block else scale(experts, n)
        zeros = wholes(np.uint8, *([experts, n, -(-blocks // pack)] if block else [experts, -(-n // pack)]))
        return wholes(np.uint8, experts, n, k // pack), scales / 5, some(None, reals(experts, n)), zeros

    one, two = layer(fused * inner, hidden), layer(hidden, inner)
    # A packed zero point must fill its bytes there.
    zeros = chance() and (not block or (hidden % (block * pack) == 0 and inner % (block * pack) == 0))
    return Case(reals(rows, hidden), reals(rows, experts), *one[:3], *two[:3], None, None, None, one[3] if zeros else None,
                two[3] if zeros else None, None, reals(rows, experts, low=0.1) if chance(0.3) else None,
                k=some(1, 2), activation_type=name, normalize_routing_weights=int(chance()), swiglu_fusion=1 if name == "swiglu" else None,
                expert_weight_bits=bits, block_size=block, swiglu_limit=some(None, 7.0) if name == "swiglu" else None,
                activation_alpha=1.7 if name == "swiglu" else None, activation_beta=1.0 if name == "swiglu" else None,
                tol=0.03 if bits == 8 and block else 1e-4)  # it rounds to 8 bits what 8 bits in blocks are multiplied with


@operator
def MatMulFpQ4():
    kind, k, n = some(0, 1, 2), some(16, 32, 48, 64, 96), size()
    length, head = [(32, 4), (32, 5), (64, 4)][kind]
    blocks = -(-k // length)
    blob = wholes(np.uint8, n, blocks, head + length // 2)
    blob[..., :4] = np.frombuffer(scale(n, blocks).tobytes(), np.uint8).reshape(n, blocks, 4)
    if kind == 1:
        blob[..., 4] %= 16
    return Case(reals(*shape(1, 3), k), blob.ravel(), np.array([k, n], np.int64), blk_quant_type=kind, tol=1e-4)


@operator
def SparseAttention():
    b, kv, h, block, layouts = size(1, 3), size(1, 3), some(16, 32), 16, some(1, 1, 2)
    n = kv * layouts * size(1, 3)
    blocks = size(1, 4)
    room, packed, rotary = blocks * block, chance(0.3), chance()
    prompt = chance(0.4)
    s = size(2, min(room, 20)) if prompt else some(1, 1, 2)
    # Of samples of different lengths it reads the scores of all but the first from a wrong place.
    total = s if prompt else int(wholes(np.int32, low=s, high=room))
    lengths = np.full([b], total, np.int32)
    masks = [np.tril(R.random((blocks, blocks)) < 0.6) | np.eye(blocks, dtype=bool) for _ in range(layouts)]
    rows = np.array([[0, *np.cumsum(mask.sum(1))] for mask in masks], np.int32)
    columns = np.full([layouts, max(int(mask.sum()) for mask in masks)], -1, np.int32)
    for layout, mask in enumerate(masks):
        columns[layout, :mask.sum()] = np.nonzero(mask)[1]
    angles = (reals(room, h // 2), reals(room, h // 2)) if rotary else (None, None)
    return Case(reals(b, s, (n + 2 * kv) * h if packed else n * h), None if packed else reals(b, s, kv * h),
                None if packed else reals(b, s, kv * h), reals(b, kv, room, h), reals(b, kv, room, h), rows, columns,
                np.array([total], np.int32), lengths, *angles, num_heads=n, kv_num_heads=kv, do_rotary=int(rotary),
                rotary_interleaved=int(chance(0.3)), scale=some(None, 0.3), sparse_block_size=block, outputs=3, tol=1e-4)


@operator
def MRotaryEmbedding():
    b, s, n, h = size(1, 3), size(1, 5), size(1, 4), some(8, 16, 24)
    turned = some(0, 0, h // 2)
    d = (turned or h) // 2
    layout = some(0, 0, 1)
    width = int(R.integers(0, d // 3 + 1))
    height = int(R.integers(0, d // 3 + 1))
    x = reals(b, s, n * h) if turned or chance() else reals(b, n, s, h)
    return Case(x, wholes(np.int64, 3, b, s, low=0, high=9), reals(10, d), reals(10, d), interleaved=int(chance()),
                mrope_section=[d - height - width, height, width], mrope_layout=layout, rotary_embedding_dim=turned or None,
                num_heads=n if turned or chance() else None)


@operator
def LinearAttentionGate():
    b, s, h = size(1, 3), size(1, 5), size()
    both = chance()
    return Case(reals(b, s, h, low=-8, high=8), reals(h), reals(h, low=-3, high=0), reals(b, s, h, low=-8, high=8) if both else None,
                outputs=2 if both else 1)


@operator
def EngramGate():
    b, s, m, h = size(1, 3), size(1, 5), size(1, 4), size(1, 9)
    return Case(reals(b, s, m, h), reals(b, s, m, h), reals(b, s, h), reals(m, h), reals(m, h), epsilon=some(None, 1e-3), tol=1e-4)


@operator
def NGramHashMapping():
    b, s, most, heads = size(1, 3), size(1, 6), size(2, 5), size(1, 4)
    dtype = some(np.int32, np.int64)
    return Case(wholes(dtype, b, s), wholes(dtype, most), wholes(dtype, (most - 1) * heads, low=1, high=some(7, 100003)),
                wholes(dtype, b, most - 1) if chance() else None, max_ngram_size=most, n_head_per_ngram=heads,
                pad_id=int(R.integers(-5, 100)), outputs=some(1, 2))


@operator
def WordConvEmbedding():
    words, letters, filters, length = size(), size(2, 8), size(), size(1, 4)
    window, rows = min(size(1, 4), letters), size(2, 9)
    ids = wholes(np.int32, words, letters, low=1, high=rows - 1)
    for row in ids:
        row[int(R.integers(1, letters + 1)):] = 0  # it leaves the vector of no word as it finds it
    return Case(ids, reals(filters, 1, window, length), reals(filters), reals(rows, length),
                embedding_size=some(None, filters), conv_window_size=some(None, window), char_embedding_size=some(None, length))


@operator
def Tokenizer():
    words = ["irscope", "a", "", "one two", "x,y, z", "über", "  ", "tab\tbed", "a--b-c", "日本 語", "12 34", "a1b22"]
    dims = some([size()], [size(1, 3), size(1, 4)])
    x = np.array([some(*words) for _ in range(int(np.prod(dims)))]).reshape(dims)
    separators = some(None, [""], [" "], [","], [" ", ","], ["-"], ["-+", " "], [", ?"], ["\\s"], ["[0-9]+"])
    tokens = None if separators else some(".", "[a-z]+", "[0-9]", "\\w\\w", "a|b", "[^ ]+", "b*")
    letters = separators == [""] or tokens == "."
    return Case(x, mark=int(chance()), mincharnum=1 if letters else some(1, 1, 2, 3), pad_value=some("", "#"), separators=separators,
                tokenexp=tokens)


@operator
def AttnLSTM():
    direction = some("forward", "reverse", "bidirectional")
    n, h, k, steps, b = 1 + (direction == "bidirectional"), size(1, 5), size(1, 5), size(1, 5), size(1, 4)
    memory, depth, inner, layer = size(1, 6), size(1, 5), size(1, 5), some(None, size(1, 5))
    columns = k + (layer or depth)
    functions = some(None, None, ["Sigmoid", "Tanh", "Softsign"], ["HardSigmoid", "Relu", "Tanh"])
    return Case(reals(steps, b, k), reals(n, 4 * h, columns, low=-1, high=1), reals(n, 4 * h, h, low=-1, high=1), some(None, reals(n, 8 * h)),
                some(None, wholes(np.int32, b, low=1, high=steps)), some(None, reals(n, b, h)), some(None, reals(n, b, h)),
                some(None, reals(n, 3 * h)), reals(n, h, inner), reals(n, depth, inner), reals(n, inner), reals(b, memory, depth),
                some(None, wholes(np.int32, b, low=1, high=memory)), None if layer is None else reals(n, h + depth, layer),
                hidden_size=h, direction=direction, clip=some(None, None, 1.5), input_forget=some(None, 1),
                activations=None if functions is None else functions * n, outputs=3, tol=2e-4)


# -- ai.onnx on trial, before opset 10 --

def on_trial(*inputs, **attrs):
    return Case(*inputs, domain="", **attrs)


@operator
def Affine():
    return on_trial(reals(*shape()), alpha=some(None, 1.0, -0.7), beta=some(None, 0.3))


@operator
def Scale():
    return on_trial(reals(*shape()), scale=some(None, 1.0, 2.5))


@operator
def ScaledTanh():
    return on_trial(reals(*shape()), alpha=some(1.0, 1.7), beta=some(1.0, 0.6))


@operator
def ParametricSoftplus():
    return on_trial(reals(*shape()), alpha=some(1.0, 1.7), beta=some(1.0, -0.6))


@operator
def ImageScaler():
    c = size()
    return on_trial(reals(size(), c, size(), size()), bias=[float(x) for x in reals(c)], scale=some(None, 0.5))


@operator
def Crop():
    h, w = size(3, 9), size(3, 9)
    border = [int(R.integers(0, 2)) for _ in range(4)]
    return on_trial(reals(size(), size(), h, w), border=border, scale=some(None, [h - 2, w - 2]))


@operator
def DynamicSlice():
    dims = shape()
    axes = [int(a) for a in R.permutation(len(dims))[:size(1, len(dims) + 1)]] if chance() else None
    n = len(axes) if axes else len(dims)
    dtype = some(np.int64, np.int32)
    return on_trial(reals(*dims), wholes(dtype, n, low=-2, high=1), wholes(dtype, n, low=2, high=9), None if axes is None else np.array(axes, dtype))


@operator
def ThresholdedRelu():
    return on_trial(reals(*shape()), alpha=some(None, 0.3))


@operator
def MeanVarianceNormalization():
    return Case(reals(size(), size(), size(), size(2, 6)), domain="", across_channels=some(None, 0, 1), normalize_variance=some(None, 1), tol=1e-4)


@operator
def LinearAttention():
    b, s, n, h = size(1, 3), size(1, 5), size(1, 3), 4
    rule = some("linear", "gated", "delta", "gated_delta")
    return Case(reals(b, s, n * h), reals(b, s, n * h), reals(b, s, n * h), reals(b, n, h, h) if chance() else None,
                reals(b, s, n, low=-1, high=0) if "gated" in rule else None, reals(b, s, n, low=0, high=1) if "delta" in rule else None,
                q_num_heads=n, kv_num_heads=n, update_rule=rule, outputs=2, tol=1e-3)


@operator
def CausalConvWithState():
    b, c, s, k = size(1, 3), size(), size(), size(2, 4)
    return Case(reals(b, c, s), reals(c, 1, k), some(None, reals(c)), reals(b, c, k - 1) if chance() else None,
                activation=some("none", "silu"), outputs=2)


# -- both programs --

# Of ai.onnx, where it is not 17.
OPSETS = {name: 9 for name in ("Affine", "Scale", "ScaledTanh", "ParametricSoftplus", "ImageScaler", "Crop", "DynamicSlice", "ThresholdedRelu")}
OPSETS["MeanVarianceNormalization"] = 8

def info(name, array):
    if array.dtype.kind == "U":
        return helper.make_tensor_value_info(name, onnx.TensorProto.STRING, array.shape)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def untyped(name):
    value = onnx.ValueInfoProto()
    value.name = name
    return value


def imports(op):
    return [helper.make_opsetid("", OPSETS.get(op, 17)), helper.make_opsetid(DOMAIN, 1)]


def node_of(op, case, prefix):
    names = [f"{prefix}x{i}" if x is not None else "" for i, x in enumerate(case.inputs)]
    outputs = [f"{prefix}y{i}" if wanted else "" for i, wanted in enumerate(case.outputs)]
    return helper.make_node(op, names, outputs, name=prefix + op, domain=case.domain, **case.attrs), names, outputs


def model_of(op, nodes, inputs, initializers, outputs):
    graph = helper.make_graph(nodes, "g", [info(*item) for item in inputs.items()], [untyped(name) for name in outputs],
                              [numpy_helper.from_array(array, name) for name, array in initializers.items()])
    return helper.make_model(graph, opset_imports=imports(op), ir_version=10)


def expected(op, case):
    node, names, outputs = node_of(op, case, "")
    feeds = {name: np.asarray(x) for name, x in zip(names, case.inputs) if name}
    # Weights are constants there: some of its kernels want them so.
    constants = {name: x for name, x in feeds.items() if name != names[0]} if op not in FREE else {}
    inputs = {name: x for name, x in feeds.items() if name not in constants}
    model = model_of(op, [node], inputs, constants, [name for name in outputs if name])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return run_shared(session, inputs, SHARED[op]) if op in SHARED else session.run(None, inputs)


def run_shared(session, inputs, shared):
    """The outputs, some of which are written over inputs, as the kernel asks for."""
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x.copy()) for name, x in inputs.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for output in session.get_outputs():
        if output.name in shared:
            binding.bind_ortvalue_output(output.name, values[shared[output.name]])
        else:
            binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    return [value.numpy().copy() for value in binding.get_outputs()]


FREE = {"QuantizeLinear", "DecoderMaskedMultiHeadAttention", "SparseAttention"}
SHARED = {"SparseAttention": {"y1": "x3", "y2": "x4"}}


def run_all(irscope, cases, device, folder):
    """The outputs of all cases, by name; what irscope says on the way."""
    nodes, inputs, outputs = [], {}, []
    for number, (op, case, _) in enumerate(cases):
        node, names, wanted = node_of(op, case, f"n{number}_")
        nodes.append(node)
        inputs.update({name: np.asarray(x) for name, x in zip(names, case.inputs) if name})
        outputs += [name for name in wanted if name]
    # Every third input is a constant, so that both ways are tried.
    constants = {name: x for i, (name, x) in enumerate(inputs.items()) if i % 3 == 2 or x.dtype.kind == "U"}
    feeds = {name: x for name, x in inputs.items() if name not in constants}
    path = folder / "model.onnx"
    path.write_bytes(model_of(cases[0][0], nodes, feeds, constants, outputs).SerializeToString())
    np.savez(folder / "inputs.npz", **feeds)
    out = folder / f"out-{device}"
    given = ["-i", str(folder / "inputs.npz")] if feeds else []
    done = subprocess.run([irscope, "run", str(path), "--device", device, "--pass", "eliminate-identity", "-q", *given, "-o", str(out)],
                          capture_output=True, text=True, timeout=300)
    return {name: value for name in outputs if (value := written(out, name)) is not None}, done.stderr


def written(folder, name):
    """An output: strings are in a file of ONNX's own."""
    if (folder / f"{name}.npy").exists():
        return np.load(folder / f"{name}.npy")
    if not (folder / f"{name}.pb").exists():
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString((folder / f"{name}.pb").read_bytes())
    return np.array([item.decode() for item in tensor.string_data], object).reshape(tensor.dims)


def differs(actual, wanted, case):
    if actual is None:
        return "is missing"
    if actual.shape != wanted.shape or actual.dtype != wanted.dtype:
        return f"is {actual.dtype}{list(actual.shape)}, expected {wanted.dtype}{list(wanted.shape)}"
    if wanted.size == 0:
        return None
    if wanted.dtype.kind not in "iufb":
        return None if (actual == wanted).all() else "differs"
    a, b = actual.astype(np.float64), wanted.astype(np.float64)
    bound = case.steps if wanted.dtype.kind in "iub" else case.tol * max(1.0, float(np.nanmax(np.abs(b), initial=0)))
    far = ~((a == b) | (np.abs(a - b) <= bound) | (np.isnan(a) & np.isnan(b)))
    return f"{far.sum()} of {a.size} differ, by up to {np.nanmax(np.abs(a - b)):.3g}" if far.any() else None


def draw(op, n):
    """Cases that ONNX Runtime runs, with its results; why it does not run the others."""
    cases, refusals = [], []
    for _ in range(3 * n):
        case = CASES[op]()
        try:
            cases.append((op, case, expected(op, case)))
        except Exception as error:  # noqa: BLE001, whatever ONNX Runtime throws
            refusals.append(str(error).strip().splitlines()[-1][-160:])
        if len(cases) == n:
            break
    return cases, refusals


def check(op, irscope, n):
    cases, refusals = draw(op, n)
    findings = []
    for device in ("ref", "cpu"):
        with tempfile.TemporaryDirectory() as folder:
            actual, said = run_all(irscope, cases, device, pathlib.Path(folder))
        if said and not actual:
            findings.append(f"{device}: {said.strip()[:300]}")
        for number, (_, case, wanted) in enumerate(cases):
            names = [f"n{number}_y{i}" for i, flag in enumerate(case.outputs) if flag]
            for name, array in zip(names, wanted):
                why = differs(actual.get(name), np.asarray(array), case)
                if why:
                    shapes = [None if x is None else f"{np.asarray(x).dtype}{list(np.shape(x))}" for x in case.inputs]
                    line = next((text for text in said.splitlines() if f"n{number}_" in text), "")
                    findings.append(f"{device} {name}: {why}; {shapes} {case.attrs} {line[:200]}")
    print(f"{op}: {len(cases)} cases, {len(refusals)} refused, {len(findings)} findings", flush=True)
    if not cases and refusals:
        print("    ONNX Runtime:", refusals[0])
    for finding in findings[:4]:
        print("    " + finding)
    return len(findings)


# -- golden cases --

def number_text(value):
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        return np.format_float_positional(value, trim="0") if abs(value) < 1e6 and (value == 0 or abs(value) > 1e-6) else f"{value:.9e}"
    return str(int(value))


def string_text(value):
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def attr_text(value):
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(attr_text(item) for item in value) + "]"
    return number_text(value)


TYPES = {"float32": "float", "float64": "double"}


def type_text(name, array):
    dims = f"[{','.join(map(str, array.shape))}]" if array.ndim else ""
    kind = "string" if array.dtype.kind in "OU" else TYPES.get(str(array.dtype), str(array.dtype))
    return f"{kind}{dims} {name}"


def initializer_text(name, array):
    array = np.asarray(array)
    text = array.dtype.kind in "OU"
    numbers = ", ".join(string_text(item) if text else number_text(item) for item in array.ravel())
    return f"{type_text(name, array)} = {{{numbers}}}"


def is_small(case, wanted):
    arrays = [np.asarray(x) for x in case.inputs if x is not None] + [np.asarray(x) for x in wanted]
    return all(0 < x.size <= 300 and (x.dtype.kind not in "f" or np.isfinite(x).all()) for x in arrays)


def write(op, folder, n):
    """n cases as one graph: what is computed is y, what ONNX Runtime gave is wanted_y."""
    cases = [case for case in draw(op, 8 * n)[0] if is_small(case[1], case[2])]
    cases = sorted(cases, key=lambda item: sum(np.size(x) for x in item[1].inputs if x is not None))
    cases = [cases[i * len(cases) // n] for i in range(n)] if len(cases) >= n else cases
    if not cases:
        return
    nodes, data, outputs = [], [], []
    for number, (_, case, wanted) in enumerate(cases):
        node, names, made = node_of(op, case, f"n{number}_")
        data += [initializer_text(name, x) for name, x in zip(names, case.inputs) if name]
        made = [name for name in made if name]
        data += [initializer_text(f"wanted_{name}", x) for name, x in zip(made, wanted)]
        outputs += [type_text(name, np.asarray(x)) for name, x in zip(made, wanted)]
        attrs = ", ".join(f"{key} = {attr_text(value)}" for key, value in sorted(case.attrs.items()))
        results = ", ".join(name or '""' for name in node.output)
        name = f"{case.domain}.{op}" if case.domain else op
        given = ", ".join(name or '""' for name in names)
        nodes.append(f"  {results} = {name}{f' <{attrs}>' if attrs else ''} ({given})")
    signature = ", ".join(outputs)
    version = f'<ir_version: 10, opset_import: ["" : {OPSETS.get(op, 17)}, "com.microsoft" : 1]>'
    text = (f"{version}\n{op} () => ({signature})\n<\n  "
            + ",\n  ".join(data) + "\n>\n{\n" + "\n".join(nodes) + "\n}\n")
    (folder / f"{op}.onnxtxt").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("irscope")
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    global R
    findings = 0
    for op in options.ops or sorted(CASES):
        R = np.random.default_rng([options.seed, *op.encode()])
        if options.write:
            write(op, options.write, 3)
        else:
            findings += check(op, options.irscope, options.cases)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
