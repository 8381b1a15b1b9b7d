"""Evaluates ONNX models with numpy in float64: the independent oracle of the model tests.

Every real tensor is held in float64, whatever type the model declares, so the result is the value of
the graph as mathematics and not as a rounding of it.  Integer and boolean tensors keep their types.
Convolutions go through im2col and a matrix product; nothing here is shared with the program.

    python3 evaluate.py MODEL.onnx --input NAME=FILE.npy ... --out DIR
"""

import argparse
import math
import os
import sys
from dataclasses import dataclass

import numpy as np

import onnxproto as onnx

REAL = np.float64
_IM2COL_BYTES = 256 << 20


class Unsupported(Exception):
    """The model uses something that this evaluator has no definition for."""


@dataclass
class Call:
    """What an operator may want to know beside its inputs."""

    node: onnx.Node
    opset: int
    scope: dict

    def get(self, name, default=None):
        return self.node.attrs.get(name, default)

    def text(self, name, default):
        value = self.node.attrs.get(name, default)
        return value.decode() if isinstance(value, bytes) else value


OPS = {}


def op(*names):
    def register(function):
        for name in names:
            OPS[name] = function
        return function
    return register


def _real(array):
    """Arrays of any float type become float64, others stay as they are."""
    array = np.asarray(array)
    return array.astype(REAL) if array.dtype.kind == "f" and array.dtype != REAL else array


# --- elementwise -----------------------------------------------------------------------------------


def _unary(name, function):
    OPS[name] = lambda call, x: function(x)


def _binary(name, function):
    OPS[name] = lambda call, a, b: function(a, b)


def _erf(x):
    return np.frompyfunc(math.erf, 1, 1)(x).astype(REAL)


def _sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


for _name, _function in {
    "Relu": lambda x: np.maximum(x, 0), "Tanh": np.tanh, "Sigmoid": _sigmoid, "Exp": np.exp, "Log": np.log,
    "Sin": np.sin, "Cos": np.cos, "Sqrt": np.sqrt, "Neg": np.negative, "Abs": np.abs, "Erf": _erf,
    "Floor": np.floor, "Ceil": np.ceil, "Reciprocal": np.reciprocal, "Not": np.logical_not, "Identity": lambda x: x,
}.items():
    _unary(_name, _function)


def _divide(a, b):
    if a.dtype.kind in "iu":
        return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)
    return a / b


for _name, _function in {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _divide, "Equal": np.equal,
    "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal, "GreaterOrEqual": np.greater_equal,
    "And": np.logical_and, "Or": np.logical_or,
}.items():
    _binary(_name, _function)


@op("Pow")
def _pow(call, a, b):
    return np.power(a, b).astype(a.dtype)


@op("Sum", "Max", "Min", "Mean")
def _variadic(call, *inputs):
    function = {"Sum": np.add, "Mean": np.add, "Max": np.maximum, "Min": np.minimum}[call.node.op]
    total = inputs[0]
    for other in inputs[1:]:
        total = function(total, other)
    return total / len(inputs) if call.node.op == "Mean" else total


@op("LeakyRelu")
def _leaky_relu(call, x):
    return np.where(x < 0, call.get("alpha", 0.01) * x, x)


@op("Clip")
def _clip(call, x, low=None, high=None):
    low = call.get("min") if low is None else low
    high = call.get("max") if high is None else high
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


@op("Where")
def _where(call, condition, a, b):
    return np.where(condition, a, b)


@op("Cast")
def _cast(call, x):
    to = call.get("to")
    if to in (onnx.FLOAT, onnx.DOUBLE, onnx.FLOAT16):
        return x.astype(REAL)
    return x.astype(onnx.DTYPE_OF[to])


@op("Dropout")
def _dropout(call, x, ratio=None, training=None):
    if training is not None and bool(training):
        raise Unsupported(f"{call.node.name}: Dropout in training mode is random")
    return [x, np.ones(x.shape, bool)][:len(call.node.outputs)]


# --- constants, shapes and movement ----------------------------------------------------------------


@op("Constant")
def _constant(call):
    attrs = call.node.attrs
    if "value" in attrs:
        return _real(attrs["value"])
    if "value_int" in attrs:
        return np.array(attrs["value_int"], np.int64)
    if "value_ints" in attrs:
        return np.array(attrs["value_ints"], np.int64)
    if "value_float" in attrs:
        return np.array(attrs["value_float"], REAL)
    if "value_floats" in attrs:
        return np.array(attrs["value_floats"], REAL)
    raise Unsupported(f"{call.node.name}: a Constant without a tensor value")


@op("ConstantOfShape")
def _constant_of_shape(call, shape):
    value = _real(call.get("value", np.zeros(1, np.float32)))
    return np.full([int(d) for d in shape], value.reshape(-1)[0])


@op("Shape")
def _shape(call, x):
    return np.array(x.shape[call.get("start", 0):call.get("end")], np.int64)


@op("Reshape")
def _reshape(call, x, shape=None):
    target = [int(d) for d in (call.get("shape") if shape is None else shape)]
    if not call.get("allowzero", 0):
        target = [x.shape[i] if d == 0 else d for i, d in enumerate(target)]
    return x.reshape(target)


@op("Flatten")
def _flatten(call, x):
    axis = call.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    return x.reshape(math.prod(x.shape[:axis]), -1)


@op("Transpose")
def _transpose(call, x):
    return np.transpose(x, call.get("perm"))


def _axes(call, axes):
    axes = call.get("axes") if axes is None else axes
    return None if axes is None else [int(a) for a in np.asarray(axes).reshape(-1)]


@op("Unsqueeze")
def _unsqueeze(call, x, axes=None):
    return np.expand_dims(x, tuple(_axes(call, axes)))


@op("Squeeze")
def _squeeze(call, x, axes=None):
    axes = _axes(call, axes)
    return np.squeeze(x, None if axes is None else tuple(axes))


@op("Concat")
def _concat(call, *inputs):
    return np.concatenate(inputs, call.get("axis"))


@op("Split")
def _split(call, x, sizes=None):
    sizes = call.get("split") if sizes is None else sizes
    axis = call.get("axis", 0)
    if sizes is None:
        return np.array_split(x, len(call.node.outputs), axis)
    return np.split(x, np.cumsum([int(s) for s in sizes])[:-1], axis)


@op("Slice")
def _slice(call, x, starts=None, ends=None, axes=None, steps=None):
    starts, ends = (call.get("starts"), call.get("ends")) if starts is None else (starts, ends)
    axes = call.get("axes") if axes is None else axes
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        start, end, step = int(start), int(end), int(step)
        # A backward slice that runs past the front ends before element 0, which Python spells None.
        index[int(axis)] = slice(start, None if step < 0 and end < -x.shape[int(axis)] else end, step)
    return x[tuple(index)]


@op("Gather")
def _gather(call, x, indices):
    return np.take(x, indices, call.get("axis", 0))


@op("Expand")
def _expand(call, x, shape):
    return x * np.ones([int(d) for d in shape], x.dtype) if x.dtype != bool else x | np.zeros(shape, bool)


@op("Tile")
def _tile(call, x, repeats):
    return np.tile(x, [int(r) for r in repeats])


@op("Range")
def _range(call, start, limit, delta):
    return np.arange(start, limit, delta, dtype=start.dtype)


@op("Trilu")
def _trilu(call, x, k=0):
    return (np.triu if call.get("upper", 1) else np.tril)(x, int(k))


# --- reductions, softmax, normalization ------------------------------------------------------------


@op("ReduceMean", "ReduceSum", "ReduceMax")
def _reduce(call, x, axes=None):
    axes = _axes(call, axes)
    if not axes and axes is not None and call.get("noop_with_empty_axes", 0):
        return x
    function = {"ReduceMean": np.mean, "ReduceSum": np.sum, "ReduceMax": np.max}[call.node.op]
    return function(x, axis=tuple(axes) if axes else None, keepdims=bool(call.get("keepdims", 1)))


@op("ArgMax")
def _argmax(call, x):
    if call.get("select_last_index", 0):
        raise Unsupported(f"{call.node.name}: ArgMax with select_last_index")
    return np.argmax(x, axis=call.get("axis", 0), keepdims=bool(call.get("keepdims", 1))).astype(np.int64)


@op("Softmax", "LogSoftmax")
def _softmax(call, x):
    axis = call.get("axis", 1 if call.opset < 13 else -1)
    axis += x.ndim if axis < 0 else 0
    # Before opset 13 the input counts as a matrix whose rows are all axes from `axis` on.
    flat = x.reshape(math.prod(x.shape[:axis]), -1) if call.opset < 13 else x
    along = 1 if call.opset < 13 else axis
    shifted = flat - flat.max(along, keepdims=True)
    total = np.exp(shifted).sum(along, keepdims=True)
    out = shifted - np.log(total) if call.node.op == "LogSoftmax" else np.exp(shifted) / total
    return out.reshape(x.shape)


def _channels(vector, rank):
    return np.asarray(vector).reshape([-1] + [1] * (rank - 2))


@op("BatchNormalization")
def _batch_normalization(call, x, scale, bias, mean, variance):
    if call.get("training_mode", 0):
        raise Unsupported(f"{call.node.name}: BatchNormalization in training mode")
    factor = scale / np.sqrt(variance + call.get("epsilon", 1e-5))
    return x * _channels(factor, x.ndim) + _channels(bias - mean * factor, x.ndim)


@op("LayerNormalization")
def _layer_normalization(call, x, scale, bias=None):
    axis = call.get("axis", -1)
    axes = tuple(range(axis + x.ndim if axis < 0 else axis, x.ndim))
    centred = x - x.mean(axes, keepdims=True)
    out = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + call.get("epsilon", 1e-5)) * scale
    return out if bias is None else out + bias


@op("LRN")
def _lrn(call, x):
    size = call.get("size")
    before = (size - 1) // 2
    squares = np.pad(x**2, [(0, 0), (before, size - 1 - before)] + [(0, 0)] * (x.ndim - 2))
    total = sum(squares[:, i:i + x.shape[1]] for i in range(size))
    return x / (call.get("bias", 1.0) + call.get("alpha", 1e-4) / size * total) ** call.get("beta", 0.75)


# --- products, convolution, pooling ----------------------------------------------------------------


@op("MatMul")
def _matmul(call, a, b):
    return np.matmul(a, b)


@op("Gemm")
def _gemm(call, a, b, c=None):
    a = a.T if call.get("transA", 0) else a
    b = b.T if call.get("transB", 0) else b
    out = call.get("alpha", 1.0) * (a @ b)
    return out if c is None else out + call.get("beta", 1.0) * c


@dataclass
class Windows:
    """The geometry of a sliding window over the spatial axes of an NCHW array."""

    kernel: list
    strides: list
    dilations: list
    before: list
    after: list
    out: list

    @classmethod
    def of(cls, call, spatial, kernel):
        rank = len(spatial)
        strides = call.get("strides") or [1] * rank
        dilations = call.get("dilations") or [1] * rank
        pads = list(call.get("pads") or [0] * (2 * rank))
        before, after, out = pads[:rank], pads[rank:], []
        auto = call.text("auto_pad", "NOTSET")
        for i in range(rank):
            extent = dilations[i] * (kernel[i] - 1) + 1
            if auto in ("SAME_UPPER", "SAME_LOWER"):
                needed = max((-(-spatial[i] // strides[i]) - 1) * strides[i] + extent - spatial[i], 0)
                small, large = needed // 2, needed - needed // 2
                before[i], after[i] = (small, large) if auto == "SAME_UPPER" else (large, small)
            span = spatial[i] + before[i] + after[i] - extent
            count = (-(-span // strides[i]) if call.get("ceil_mode", 0) else span // strides[i]) + 1
            # A window that starts in the end padding does not count, even with ceil_mode.
            if call.get("ceil_mode", 0) and (count - 1) * strides[i] >= spatial[i] + before[i]:
                count -= 1
            out.append(count)
        return cls(list(kernel), list(strides), list(dilations), before, after, out)

    def pad(self, x, value):
        """x with its padding, and with what ceil_mode reads beyond that."""
        spatial = x.shape[2:]
        reach = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(self.out, self.strides, self.dilations, self.kernel)]
        width = [(b, max(a, r - n - b)) for b, a, r, n in zip(self.before, self.after, reach, spatial)]
        return np.pad(x, [(0, 0), (0, 0)] + width, constant_values=value)

    def taps(self, padded):
        """Yields one strided view of padded for each element of the kernel, in row-major order."""
        for position in np.ndindex(*self.kernel):
            index = tuple(slice(p * d, p * d + (o - 1) * s + 1, s)
                          for p, d, o, s in zip(position, self.dilations, self.out, self.strides))
            yield padded[(slice(None), slice(None)) + index]


@op("Conv")
def _conv(call, x, weight, bias=None):
    groups = call.get("group", 1)
    window = Windows.of(call, x.shape[2:], weight.shape[2:])
    padded = window.pad(x, 0)
    batch, channels, features = x.shape[0], x.shape[1], weight.shape[0]
    if groups == channels and features == channels:
        out = sum(tap * _channels(weight.reshape(channels, -1)[:, i], x.ndim)
                  for i, tap in enumerate(window.taps(padded)))
    else:
        out = np.empty([batch, features] + window.out)
        for n in range(batch):
            for g in range(groups):
                _conv_group(window, padded[n:n + 1], weight, g, groups, out[n:n + 1])
    return out if bias is None else out + _channels(bias, x.ndim)


def _conv_group(window, padded, weight, g, groups, out):
    per_in, per_out = weight.shape[1], weight.shape[0] // groups
    part = padded[:, g * per_in:(g + 1) * per_in]
    matrix = weight[g * per_out:(g + 1) * per_out].reshape(per_out, -1)
    target = out[0, g * per_out:(g + 1) * per_out].reshape(per_out, -1)
    taps = [tap[0].reshape(per_in, -1) for tap in window.taps(part)]
    # The column matrix is [channels * taps, positions]; it is made in slices to bound its memory.
    step = max(1, _IM2COL_BYTES // (8 * per_in * len(taps)))
    for start in range(0, target.shape[1], step):
        columns = np.stack([tap[:, start:start + step] for tap in taps], 1)
        target[:, start:start + step] = matrix @ columns.reshape(matrix.shape[1], -1)
    out[0, g * per_out:(g + 1) * per_out] = target.reshape([per_out] + window.out)


@op("MaxPool")
def _max_pool(call, x):
    window = Windows.of(call, x.shape[2:], call.get("kernel_shape"))
    out = None
    for tap in window.taps(window.pad(x, -np.inf)):
        out = tap.copy() if out is None else np.maximum(out, tap)
    return out


@op("AveragePool")
def _average_pool(call, x):
    window = Windows.of(call, x.shape[2:], call.get("kernel_shape"))
    total = sum(window.taps(window.pad(x, 0)))
    inside = np.ones((1, 1) + x.shape[2:])
    if call.get("count_include_pad", 0):
        # The declared padding counts, what ceil_mode adds beyond it does not.
        inside = np.pad(inside, [(0, 0), (0, 0)] + list(zip(window.before, window.after)), constant_values=1)
        shifted = Windows(window.kernel, window.strides, window.dilations, [0] * len(window.out),
                          [0] * len(window.out), window.out)
        return total / sum(shifted.taps(shifted.pad(inside, 0)))
    return total / sum(window.taps(window.pad(inside, 0)))


@op("GlobalAveragePool")
def _global_average_pool(call, x):
    return x.mean(tuple(range(2, x.ndim)), keepdims=True)


# --- graphs ----------------------------------------------------------------------------------------


@op("If")
def _if(call, condition):
    branch = call.get("then_branch" if bool(np.asarray(condition).reshape(-1)[0]) else "else_branch")
    values = _run(branch, dict(call.scope), call.opset)
    return [values[info.name] for info in branch.outputs]


def _last_uses(graph):
    """Maps each value to the index of the last node that reads it; captures count at their node."""
    last = {}

    def visit(nodes, at):
        for index, node in enumerate(nodes):
            here = index if at is None else at
            for name in node.inputs:
                last[name] = here
            for value in node.attrs.values():
                if isinstance(value, onnx.Graph):
                    visit(value.nodes, here)
                    for info in value.outputs:
                        last[info.name] = here

    visit(graph.nodes, None)
    return last


def _run(graph, values, opset, keep_all=True):
    for name, array in graph.initializers.items():
        values.setdefault(name, array)
    last = {} if keep_all else _last_uses(graph)
    wanted = {info.name for info in graph.outputs}
    for index, node in enumerate(graph.nodes):
        if node.domain not in ("", "ai.onnx") or node.op not in OPS:
            raise Unsupported(f"{node.name} ({node.domain or 'ai.onnx'}.{node.op}): no definition")
        inputs = [_real(values[name]) if name else None for name in node.inputs]
        try:
            results = OPS[node.op](Call(node, opset, values), *inputs)
        except (ValueError, IndexError, TypeError) as error:
            shapes = [None if i is None else i.shape for i in inputs]
            raise Unsupported(f"{node.name} ({node.op}) on {shapes}: {error}") from error
        results = results if isinstance(results, list) else [results]
        values.update((name, np.asarray(r)) for name, r in zip(node.outputs, results) if name)
        for name in set(node.inputs) if not keep_all else ():
            if last.get(name) == index and name not in wanted:
                values.pop(name, None)
    return values


def evaluate(model, inputs, keep_all=False):
    """Returns {name: array} of the model's outputs, or of every value with keep_all.

    inputs maps the names of the graph inputs to arrays; an input with an initializer may be left out.
    """
    values = {name: _real(array) for name, array in inputs.items()}
    for info in model.graph.inputs:
        if info.name not in values and info.name not in model.graph.initializers:
            raise Unsupported(f"input {info.name} has no value")
    values = _run(model.graph, values, model.opsets.get("", 1), keep_all)
    return values if keep_all else {info.name: values[info.name] for info in model.graph.outputs}


def main():
    parser = argparse.ArgumentParser(description="Evaluate an ONNX model in float64.")
    parser.add_argument("model")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("--out", metavar="DIR", help="write each output as a .npy file")
    options = parser.parse_args()
    inputs = {}
    for item in options.input:
        name, _, path = item.partition("=")
        inputs[name] = np.load(path)
    try:
        outputs = evaluate(onnx.read_model(options.model), inputs)
    except (Unsupported, onnx.FormatError) as error:
        sys.exit(f"evaluate: {error}")
    for name, array in outputs.items():
        print(f"{name} {array.dtype} {list(array.shape)}")
        if options.out:
            os.makedirs(options.out, exist_ok=True)
            np.save(os.path.join(options.out, name.replace("/", "_") + ".npy"), array)


if __name__ == "__main__":
    main()
