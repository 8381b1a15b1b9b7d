#!/usr/bin/env python3
"""Shape inference of irscope against that of the onnx package.

An extra oracle for developers; nothing in ./check depends on it.  It needs a package from PyPI,
which Debian 12 does not have:

    python3 -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx
    /tmp/onnx/bin/python tests/oracle/shape-inference.py build/irscope FOLDER-OR-MODEL...

Below each folder every *.onnx is taken, e.g. the ONNX backend cases, networks, or what
tests/generators/generate.py writes.  For every value of the main graph whose type
onnx.shape_inference.infer_shapes (data_prop=True) finds, irscope must have one that is equal or more
specific: the same element type, the rank where that has one, the number where that has a number.
The declarations of values inside are taken away first, and those of outputs reduced to their
element type, so that both must infer.

    --outputs   leave the declared shapes of the outputs in

Exit status 1 if a value is missing, less specific, or different."""

import argparse
import os
import subprocess
import sys
import tempfile

try:
    import onnx
    from onnx import shape_inference
except ImportError as error:
    sys.exit(f'shape-inference: {error.name} is missing; see the top of this file for how to get it')


def models(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, files in sorted(os.walk(path)):
            for name in sorted(files):
                if name.endswith('.onnx'):
                    yield os.path.join(folder, name)


def strip(model, keep_outputs):
    """Without what the file declares beside its inputs."""
    del model.graph.value_info[:]
    if not keep_outputs:
        for output in model.graph.output:
            if output.type.HasField('tensor_type'):
                output.type.tensor_type.ClearField('shape')


def types(model):
    graph = model.graph
    return {value.name: value.type for value in [*graph.value_info, *graph.output] if value.type.WhichOneof('value')}


def describe(type_):
    if type_ is None:
        return 'nothing'
    kind = type_.WhichOneof('value')
    if kind != 'tensor_type':
        return kind or 'nothing'
    name = onnx.TensorProto.DataType.Name(type_.tensor_type.elem_type).lower()
    if not type_.tensor_type.HasField('shape'):
        return name
    dims = [str(dim.dim_value) if dim.HasField('dim_value') else dim.dim_param or '?' for dim in type_.tensor_type.shape.dim]
    return f'{name}[{",".join(dims)}]'


def compare(theirs, ours):
    """None, or what is wrong with ours: missing, less or different."""
    if ours is None or ours.WhichOneof('value') is None:
        return 'missing'
    if theirs.WhichOneof('value') != ours.WhichOneof('value'):
        return 'different'
    if theirs.WhichOneof('value') == 'sequence_type':
        return compare(theirs.sequence_type.elem_type, ours.sequence_type.elem_type)
    if theirs.WhichOneof('value') == 'optional_type':
        return compare(theirs.optional_type.elem_type, ours.optional_type.elem_type)
    if theirs.WhichOneof('value') != 'tensor_type':
        return None
    a, b = theirs.tensor_type, ours.tensor_type
    if a.elem_type != b.elem_type and a.elem_type != 0:
        return 'missing' if b.elem_type == 0 else 'different'
    if not a.HasField('shape'):
        return None
    if not b.HasField('shape'):
        return 'less'
    if len(a.shape.dim) != len(b.shape.dim):
        return 'different'
    for dim, own in zip(a.shape.dim, b.shape.dim):
        if dim.HasField('dim_value'):
            if not own.HasField('dim_value'):
                return 'less'
            if dim.dim_value != own.dim_value:
                return 'different'
        elif dim.dim_param and not dim.dim_param.startswith('unk__') and not own.HasField('dim_value') and not own.dim_param:
            return 'less'
    return None


def infer(irscope, model, scratch):
    """Types as irscope infers them; None and the reason if it cannot open the model."""
    source, target = os.path.join(scratch, 'in.onnx'), os.path.join(scratch, 'out.onnx')
    with open(source, 'wb') as file:
        file.write(model.SerializeToString())
    done = subprocess.run([irscope, 'convert', '--types', source, target], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return types(onnx.load(target, load_external_data=False)), None


def main():
    parser = argparse.ArgumentParser(description='Shape inference of irscope against that of onnx.')
    parser.add_argument('irscope')
    parser.add_argument('paths', nargs='+', metavar='FOLDER-OR-MODEL')
    parser.add_argument('--outputs', action='store_true', help='leave the declared shapes of the outputs in')
    options = parser.parse_args()
    counts = dict.fromkeys(('models', 'refused', 'values', 'missing', 'less', 'different', 'more'), 0)
    with tempfile.TemporaryDirectory() as scratch:
        for path in models(options.paths):
            model = onnx.load(path, load_external_data=False)
            strip(model, options.outputs)
            try:
                theirs = types(shape_inference.infer_shapes(model, data_prop=True))
            except Exception as error:
                counts['refused'] += 1
                print(f'{path}: onnx cannot infer: {" ".join(str(error).split())[:120]}')
                continue
            counts['models'] += 1
            ours, why = infer(options.irscope, model, scratch)
            if ours is None:
                print(f'{path}: {why}')
                counts['missing'] += len(theirs)
                continue
            operators = {name: node.op_type for node in model.graph.node for name in node.output}
            for name, type_ in theirs.items():
                if name not in operators:
                    continue
                counts['values'] += 1
                wrong = compare(type_, ours.get(name))
                if wrong:
                    counts[wrong] += 1
                    print(f'{wrong:9} {path}: {name} ({operators[name]}): onnx {describe(type_)}, '
                          f'irscope {describe(ours.get(name))}')
                elif describe(type_) != describe(ours.get(name)) and compare(ours[name], type_):
                    counts['more'] += 1
    print(', '.join(f'{number} {what}' for what, number in counts.items()))
    return 1 if counts['missing'] + counts['less'] + counts['different'] else 0


if __name__ == '__main__':
    sys.exit(main())
