"""Builds ONNX graphs the way an exporter does: scoped node names, one Constant per use."""

import numpy as np

import onnxproto as onnx


class Builder:
    """Collects the nodes of one graph.  Weights come from one seeded generator."""

    def __init__(self, name, seed):
        self.graph = onnx.Graph(name)
        self.random = np.random.default_rng(seed)
        self._scopes = []
        self._taken = set()

    # A scope is a context manager: with b.scope("layer1"): ...
    def scope(self, name):
        return _Scope(self._scopes, name)

    def path(self, name):
        """The first free name /scope/.../name, numbered as exporters number repeats."""
        base = "/" + "/".join(self._scopes + [name])
        path, count = base, 0
        while path in self._taken:
            count += 1
            path = f"{base}_{count}"
        self._taken.add(path)
        return path

    def input(self, name, shape, dtype=onnx.FLOAT):
        self.graph.inputs.append(onnx.ValueInfo(name, dtype, list(shape)))
        return name

    def output(self, value, name, shape, dtype=onnx.FLOAT):
        """Makes the node output `value` the graph output `name`."""
        for node in self.graph.nodes:
            node.inputs = [name if i == value else i for i in node.inputs]
            node.outputs = [name if o == value else o for o in node.outputs]
        self.graph.outputs.append(onnx.ValueInfo(name, dtype, list(shape)))

    def weight(self, name, array):
        """An initializer named scope.scope.name, as in a state dictionary."""
        path = ".".join(self._scopes + [name])
        array = np.asarray(array)
        self.graph.initializers[path] = array.astype(np.float32) if array.dtype == np.float64 else array
        return path

    def normal(self, name, shape, scale):
        return self.weight(name, self.random.standard_normal(shape, np.float32) * np.float32(scale))

    def uniform(self, name, shape, low, high):
        return self.weight(name, self.random.uniform(low, high, shape).astype(np.float32))

    def op(self, kind, *inputs, outputs=1, name=None, **attrs):
        """Adds a node; returns its output, or the list of them."""
        path = self.path(name or kind)
        names = [f"{path}_output_{i}" for i in range(outputs)]
        self.graph.nodes.append(onnx.Node(kind, list(inputs), names, path, attrs))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=np.float32):
        return self.op("Constant", value=np.array(value, dtype))

    def ints(self, *values):
        return self.constant(list(values), np.int64)

    def dim(self, value, axis):
        """The size of one axis as an int64 scalar: Shape then Gather."""
        return self.op("Gather", self.op("Shape", value), self.constant(axis, np.int64), axis=0)

    def reshape(self, value, *dims):
        """Reshape to dims; names of int64 scalars among them are concatenated at run time."""
        if all(isinstance(d, int) for d in dims):
            return self.op("Reshape", value, self.ints(*dims))
        parts = [self.ints(d) if isinstance(d, int) else self.op("Unsqueeze", d, self.ints(0)) for d in dims]
        return self.op("Reshape", value, self.op("Concat", *parts, axis=0))

    def layer_norm(self, value, width, epsilon=1e-5):
        """Layer normalization in nine nodes, as exporters write it before opset 17."""
        centred = self.op("Sub", value, self.op("ReduceMean", value, axes=[-1]))
        square = self.op("Pow", centred, self.constant(2.0))
        variance = self.op("Add", self.op("ReduceMean", square, axes=[-1]), self.constant(epsilon))
        scaled = self.op("Div", centred, self.op("Sqrt", variance))
        scaled = self.op("Mul", scaled, self.uniform("weight", [width], 0.5, 1.5))
        return self.op("Add", scaled, self.normal("bias", [width], 0.1))

    def linear(self, value, rows, columns):
        """value [.., rows] times a weight, plus a bias: MatMul and Add (bias first, as PyTorch exports)."""
        weight = self.normal("weight", [rows, columns], rows**-0.5)
        bias = self.normal("bias", [columns], 0.02)
        return self.op("Add", bias, self.op("MatMul", value, weight))

    def model(self, opset=17, ir_version=8, **fields):
        return onnx.Model(self.graph, ir_version, {"": opset}, **fields)


class _Scope:
    def __init__(self, scopes, name):
        self.scopes, self.name = scopes, name

    def __enter__(self):
        self.scopes.append(self.name)

    def __exit__(self, *_):
        self.scopes.pop()
