"""A small ONNX reader and writer: numpy and the protobuf wire format, nothing else.

The classes below mirror the messages of onnx.proto as far as the generators need them.  Tensors are
numpy arrays; string tensors are arrays of dtype object holding bytes.  Writing is deterministic: the
same model gives the same bytes.
"""

import struct
from dataclasses import dataclass, field

import numpy as np

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(1, 14)

DTYPE_OF = {
    FLOAT: np.dtype("<f4"), UINT8: np.dtype("u1"), INT8: np.dtype("i1"), UINT16: np.dtype("<u2"),
    INT16: np.dtype("<i2"), INT32: np.dtype("<i4"), INT64: np.dtype("<i8"), BOOL: np.dtype("?"),
    FLOAT16: np.dtype("<f2"), DOUBLE: np.dtype("<f8"), UINT32: np.dtype("<u4"), UINT64: np.dtype("<u8"),
}
CODE_OF = {dtype: code for code, dtype in DTYPE_OF.items()}


class FormatError(Exception):
    """The bytes are not an ONNX model, or use a feature that this reader does not know."""


@dataclass
class ValueInfo:
    """A typed name.  shape is None (unknown rank) or a list of int, str (symbol) or None (unknown)."""

    name: str
    dtype: int = FLOAT
    shape: list = None


@dataclass
class Node:
    op: str
    inputs: list
    outputs: list
    name: str = ""
    attrs: dict = field(default_factory=dict)
    domain: str = ""
    doc: str = ""


@dataclass
class Graph:
    name: str = "graph"
    nodes: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    initializers: dict = field(default_factory=dict)
    value_infos: list = field(default_factory=list)
    doc: str = ""


@dataclass
class Model:
    graph: Graph
    ir_version: int = 8
    opsets: dict = field(default_factory=lambda: {"": 17})
    producer: str = "irscope-generators"
    producer_version: str = ""
    doc: str = ""
    metadata: dict = field(default_factory=dict)


# --- writing ---------------------------------------------------------------------------------------


class _Message:
    """Collects the chunks of one message; large arrays stay views until the file is written."""

    def __init__(self):
        self.chunks = []
        self.size = 0

    def raw(self, data):
        self.chunks.append(data)
        self.size += len(data)

    def key(self, number, wire):
        self.raw(_varint(number << 3 | wire))

    def integer(self, number, value):
        self.key(number, 0)
        self.raw(_varint(int(value) & 0xFFFFFFFFFFFFFFFF))

    def float32(self, number, value):
        self.key(number, 5)
        self.raw(struct.pack("<f", value))

    def data(self, number, value):
        if isinstance(value, str):
            value = value.encode("utf-8")
        self.key(number, 2)
        self.raw(_varint(len(value)))
        if len(value):
            self.raw(value)

    def text(self, number, value):
        if value:
            self.data(number, value)

    def message(self, number, other):
        self.key(number, 2)
        self.raw(_varint(other.size))
        self.chunks.extend(other.chunks)
        self.size += other.size


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tensor_message(array, name=""):
    array = np.asarray(array)
    message = _Message()
    for dim in array.shape:
        message.integer(1, dim)
    if array.dtype == object:
        message.integer(2, STRING)
        for item in array.reshape(-1):
            message.data(6, item)
        message.text(8, name)
        return message
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    message.integer(2, CODE_OF[little.dtype])
    message.text(8, name)
    # memoryview cannot be cast when the array is empty.
    message.data(9, memoryview(little.reshape(-1)).cast("B") if little.size else b"")
    return message


def _value_info_message(info):
    tensor = _Message()
    tensor.integer(1, info.dtype)
    if info.shape is not None:
        shape = _Message()
        for dim in info.shape:
            item = _Message()
            if isinstance(dim, str):
                item.data(2, dim)
            elif dim is not None:
                item.integer(1, dim)
            shape.message(1, item)
        tensor.message(2, shape)
    kind = _Message()
    kind.message(1, tensor)
    message = _Message()
    message.data(1, info.name)
    message.message(2, kind)
    return message


def _attribute_message(name, value):
    message = _Message()
    message.data(1, name)
    if isinstance(value, (bool, int, np.integer)):
        message.integer(3, value)
        message.integer(20, 2)
    elif isinstance(value, (float, np.floating)):
        message.float32(2, value)
        message.integer(20, 1)
    elif isinstance(value, (str, bytes)):
        message.data(4, value)
        message.integer(20, 3)
    elif isinstance(value, np.ndarray):
        message.message(5, _tensor_message(value))
        message.integer(20, 4)
    elif isinstance(value, Graph):
        message.message(6, _graph_message(value))
        message.integer(20, 5)
    elif isinstance(value, (list, tuple)):
        _list_attribute(message, name, list(value))
    else:
        raise TypeError(f"attribute {name}: {type(value).__name__} has no ONNX form")
    return message


def _list_attribute(message, name, values):
    if all(isinstance(v, (int, np.integer)) for v in values):
        for value in values:
            message.integer(8, value)
        message.integer(20, 7)
    elif all(isinstance(v, (int, float, np.number)) for v in values):
        for value in values:
            message.float32(7, value)
        message.integer(20, 6)
    elif all(isinstance(v, (str, bytes)) for v in values):
        for value in values:
            message.data(9, value)
        message.integer(20, 8)
    else:
        raise TypeError(f"attribute {name}: a list of mixed types has no ONNX form")


def _node_message(node):
    message = _Message()
    for name in node.inputs:
        message.data(1, name)
    for name in node.outputs:
        message.data(2, name)
    message.text(3, node.name)
    message.data(4, node.op)
    for name, value in node.attrs.items():
        message.message(5, _attribute_message(name, value))
    message.text(6, node.doc)
    message.text(7, node.domain)
    return message


def _graph_message(graph):
    message = _Message()
    for node in graph.nodes:
        message.message(1, _node_message(node))
    message.data(2, graph.name)
    for name, array in graph.initializers.items():
        message.message(5, _tensor_message(array, name))
    message.text(10, graph.doc)
    for number, infos in ((11, graph.inputs), (12, graph.outputs), (13, graph.value_infos)):
        for info in infos:
            message.message(number, _value_info_message(info))
    return message


def write_model(model, path):
    """Writes model to path."""
    message = _Message()
    message.integer(1, model.ir_version)
    message.text(2, model.producer)
    message.text(3, model.producer_version)
    message.text(6, model.doc)
    message.message(7, _graph_message(model.graph))
    for domain, version in model.opsets.items():
        opset = _Message()
        opset.data(1, domain)
        opset.integer(2, version)
        message.message(8, opset)
    for key, value in model.metadata.items():
        entry = _Message()
        entry.data(1, key)
        entry.data(2, value)
        message.message(14, entry)
    with open(path, "wb") as file:
        file.writelines(message.chunks)


def write_tensor(array, path, name=""):
    """Writes array as a TensorProto, as the ONNX test data does (.pb)."""
    with open(path, "wb") as file:
        file.writelines(_tensor_message(array, name).chunks)


# --- reading ---------------------------------------------------------------------------------------


def _read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise FormatError("a varint runs past its end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data):
    """Yields (field number, wire type, value) of a message; bytes come as memoryviews."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = _read_varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = _read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise FormatError(f"wire type {wire} is not used by ONNX")
        if at > len(data):
            raise FormatError("a field runs past the end of its message")
        yield key >> 3, wire, value


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(value):
    return bytes(value).decode("utf-8")


def _packed(wire, value):
    """The integers of a repeated field, which may be packed or not."""
    if wire == 0:
        return [_signed(value)]
    out, at = [], 0
    while at < len(value):
        item, at = _read_varint(value, at)
        out.append(_signed(item))
    return out


def _decode_tensor(data):
    dims, code, name, raw, typed, strings = [], 0, "", None, [], []
    for number, wire, value in _fields(data):
        if number == 1:
            dims += _packed(wire, value)
        elif number == 2:
            code = value
        elif number == 4:
            typed.append(np.frombuffer(value, "<f4"))
        elif number in (5, 7, 11):
            typed.append(np.array(_packed(wire, value), np.int64))
        elif number == 6:
            strings.append(bytes(value))
        elif number == 8:
            name = _text(value)
        elif number == 9:
            raw = value
        elif number == 10:
            typed.append(np.frombuffer(value, "<f8"))
        elif number == 14 and value:
            raise FormatError("tensors in external files are not read here")
    if code == STRING:
        array = np.empty(len(strings), object)
        array[:] = strings
        return name, array.reshape(dims)
    if code not in DTYPE_OF:
        raise FormatError(f"tensor {name}: element type {code} is not read here")
    dtype = DTYPE_OF[code]
    if raw is not None:
        return name, np.frombuffer(raw, dtype).reshape(dims)
    flat = np.concatenate(typed) if typed else np.zeros(0, dtype)
    if code == FLOAT16:
        flat = flat.astype(np.uint16).view(np.float16)
    return name, flat.astype(dtype).reshape(dims)


def _decode_value_info(data):
    info = ValueInfo("")
    for number, _, value in _fields(data):
        if number == 1:
            info.name = _text(value)
        elif number == 2:
            for kind, _, tensor in _fields(value):
                if kind == 1:
                    _decode_tensor_type(info, tensor)
    return info


def _decode_tensor_type(info, data):
    for number, _, value in _fields(data):
        if number == 1:
            info.dtype = value
        elif number == 2:
            info.shape = []
            for _, _, dim in _fields(value):
                entry = {n: v for n, _, v in _fields(dim)}
                info.shape.append(_signed(entry[1]) if 1 in entry else _text(entry[2]) if 2 in entry else None)


def _decode_attribute(data):
    name, kind, single, many = "", 0, None, []
    for number, wire, value in _fields(data):
        if number == 1:
            name = _text(value)
        elif number == 2:
            single = struct.unpack("<f", value)[0]
        elif number == 3:
            single = _signed(value)
        elif number == 4:
            single = bytes(value)
        elif number == 5:
            single = _decode_tensor(value)[1]
        elif number == 6:
            single = _decode_graph(value)
        elif number == 7:
            many += [float(v) for v in np.frombuffer(value, "<f4")]
        elif number == 8:
            many += _packed(wire, value)
        elif number == 9:
            many.append(bytes(value))
        elif number == 20:
            kind = value
        elif number in (10, 11, 21, 22, 23):
            raise FormatError(f"attribute {name}: field {number} is not read here")
    return name, many if kind in (6, 7, 8) or single is None else single


def _decode_node(data):
    node = Node("", [], [])
    for number, _, value in _fields(data):
        if number == 1:
            node.inputs.append(_text(value))
        elif number == 2:
            node.outputs.append(_text(value))
        elif number == 3:
            node.name = _text(value)
        elif number == 4:
            node.op = _text(value)
        elif number == 5:
            name, attribute = _decode_attribute(value)
            node.attrs[name] = attribute
        elif number == 7:
            node.domain = _text(value)
    return node


def _decode_graph(data):
    graph = Graph()
    for number, _, value in _fields(data):
        if number == 1:
            graph.nodes.append(_decode_node(value))
        elif number == 2:
            graph.name = _text(value)
        elif number == 5:
            name, array = _decode_tensor(value)
            graph.initializers[name] = array
        elif number in (11, 12, 13):
            {11: graph.inputs, 12: graph.outputs, 13: graph.value_infos}[number].append(_decode_value_info(value))
    return graph


def read_model(path):
    """Reads an ONNX file.  Functions, sparse and external tensors are refused with FormatError."""
    with open(path, "rb") as file:
        data = memoryview(file.read())
    model = Model(Graph(), opsets={}, producer="")
    for number, _, value in _fields(data):
        if number == 1:
            model.ir_version = value
        elif number == 2:
            model.producer = _text(value)
        elif number == 7:
            model.graph = _decode_graph(value)
        elif number == 8:
            entry = {n: v for n, _, v in _fields(value)}
            model.opsets[_text(entry.get(1, b""))] = entry[2]
        elif number == 14:
            entry = {n: _text(v) for n, _, v in _fields(value)}
            model.metadata[entry.get(1, "")] = entry.get(2, "")
        elif number == 25:
            raise FormatError("model-local functions are not read here")
    return model


def read_tensor(path):
    """Reads a TensorProto file (.pb) as an array."""
    with open(path, "rb") as file:
        return _decode_tensor(memoryview(file.read()))[1]
