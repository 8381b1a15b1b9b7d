#!/usr/bin/env python3
"""Element types: what the standard allows for each operator against what irscope runs.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI, which
Debian 12 does not have:

    python3 -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx ml_dtypes
    /tmp/onnx/bin/python tests/oracle/op-types.py build/irscope CASES WORK

CASES is a folder of ONNX node cases (python -m onnx.backend.test.cmd_tools generate-data).  From each
case of one operator come cases of the other types that the schema's type constraints allow: the
inputs of a type variable are converted together, WORK gets a folder for each, and irscope runs them
with `irscope conformance`.  The reference evaluator of onnx says what comes out; where it fails, only
whether irscope runs is of interest.  Prints, by operator and input, the types that irscope refuses and
those whose numbers differ."""

import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

NAMES = {f'tensor({name})': code for name, code in (
    ('float', 1), ('uint8', 2), ('int8', 3), ('uint16', 4), ('int16', 5), ('int32', 6), ('int64', 7),
    ('bool', 9), ('float16', 10), ('double', 11), ('uint32', 12), ('uint64', 13), ('bfloat16', 16))}
PER_OPERATOR = 2  # cases of an operator that are retyped
SKIP = {'Cast', 'CastLike', 'BitCast', 'QuantizeLinear', 'DequantizeLinear', 'Bernoulli', 'Constant'}


def load(path):
    tensor = onnx.TensorProto()
    with open(path, 'rb') as file:
        tensor.ParseFromString(file.read())
    return numpy_helper.to_array(tensor)


def variables(schema, node):
    """Type variable -> numbers of the inputs that are of it."""
    found = collections.defaultdict(list)
    for i, name in enumerate(node.input):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        if name and formal.type_str:
            found[formal.type_str].append(i)
    return found


def retype(model, arrays, slots, code, directory):
    """Writes the case with the inputs @slots as @code; returns whether there are wanted outputs."""
    dtype = helper.tensor_dtype_to_np_dtype(code)
    node = model.graph.node[0]
    arrays = dict(arrays)
    for i in slots:
        with np.errstate(all='ignore'):
            arrays[node.input[i]] = arrays[node.input[i]].astype(dtype)
    graph = helper.make_graph(
        [node], 'retyped',
        [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(arrays[v.name].dtype), arrays[v.name].shape)
         for v in model.graph.input],
        [onnx.ValueInfoProto(name=v.name) for v in model.graph.output])
    new = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    outputs = None
    try:
        with warnings.catch_warnings(), np.errstate(all='ignore'):
            warnings.simplefilter('ignore')
            outputs = ReferenceEvaluator(new).run(None, arrays)
    except Exception:  # what the evaluator cannot do
        pass
    os.makedirs(os.path.join(directory, 'test_data_set_0'))
    with open(os.path.join(directory, 'model.onnx'), 'wb') as file:
        file.write(new.SerializeToString())
    for kind, values in (('input', [arrays[v.name] for v in model.graph.input]), ('output', outputs or [])):
        for i, value in enumerate(values):
            if not isinstance(value, np.ndarray):
                value = np.asarray(value)
            with open(os.path.join(directory, 'test_data_set_0', f'{kind}_{i}.pb'), 'wb') as file:
                file.write(numpy_helper.from_array(value).SerializeToString())
    return outputs is not None


def write_cases(cases, work):
    count = collections.Counter()
    written = {}
    for path in sorted(glob.glob(os.path.join(cases, '*', 'model.onnx'))):
        model = onnx.load(path)
        if len(model.graph.node) != 1 or model.graph.initializer or model.functions:
            continue
        node = model.graph.node[0]
        if node.domain not in ('', 'ai.onnx') or node.op_type in SKIP or count[node.op_type] >= PER_OPERATOR:
            continue
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
            continue
        version = next(o.version for o in model.opset_import if o.domain in ('', 'ai.onnx'))
        try:
            schema = onnx.defs.get_schema(node.op_type, version)
            arrays = {v.name: load(os.path.join(os.path.dirname(path), 'test_data_set_0', f'input_{i}.pb'))
                      for i, v in enumerate(model.graph.input)}
        except Exception:  # sequences, or no data
            continue
        if any(v.dtype == object for v in arrays.values()):
            continue
        count[node.op_type] += 1
        allowed = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
        for variable, slots in variables(schema, node).items():
            types = allowed.get(variable, [variable])
            for code in (NAMES[t] for t in types if t in NAMES):
                name = f'{node.op_type}-{variable}-{helper.tensor_dtype_to_np_dtype(code).name}-{count[node.op_type]}'
                try:
                    written[name] = retype(model, arrays, slots, code, os.path.join(work, name))
                except Exception as error:
                    print(f'{name}: cannot be made: {error}', file=sys.stderr)
                    shutil.rmtree(os.path.join(work, name), ignore_errors=True)
    return written


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, cases, work = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    written = write_cases(cases, work)
    result = subprocess.run([program, 'conformance', '--json', work], capture_output=True, text=True, check=False)
    counts = collections.Counter()
    for case in json.loads(result.stdout)['cases']:
        reason = case.get('reason', '')
        kind = case['status'] if written[case['name']] or 'test_data_set' not in reason else 'ran, no oracle'
        counts[kind] += 1
        if kind not in ('passed', 'ran, no oracle'):
            print(f"{case['name']}: {reason}")
    print(', '.join(f'{n} {kind}' for kind, n in sorted(counts.items())))


if __name__ == '__main__':
    main()
