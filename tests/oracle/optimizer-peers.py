#!/usr/bin/env python3
"""Nodes that optimizers leave: irscope's pipeline "default" against onnxsim, OnnxSlim and ONNX Runtime.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/peers
    /tmp/peers/bin/pip install onnx onnxruntime onnxsim onnxslim
    /tmp/peers/bin/python tests/oracle/optimizer-peers.py build/irscope FOLDER-OR-MODEL... [--write]

Below each folder every model.onnx is taken, named after its folder, and every other *.onnx, named after itself:
what tests/oracle/torch-models.py writes, the light networks of the ONNX project, PP-OCR's models in the wheel of
rapidocr_onnxruntime.

Each peer runs on each model in a process of its own, with a limit of time, by its own package and with its own
defaults; ONNX Runtime with ORT_ENABLE_EXTENDED on its CPU provider, saving the optimized model.  Its results are
kept (--results), with the sizes of the files that they came from, because some take minutes.  Counted are all nodes,
those of subgraphs too, without Constant, and without ConstantOfShape of a constant.

The outputs of the original and of each optimized model are compared on random inputs of two sizes, all of them run
by ONNX Runtime without optimization; the error is relative to the largest output.

Time: the whole pipeline of irscope to its fixed point, as `optimize --json` prints it, against the call into onnxsim's
library (which takes and gives a serialized model), without its checks, imports, and files.  And the pipeline's time per
node on 100,000 synthetic nodes against that on 10,000 (tests/generators/synthetic.py).

--write writes docs/OPTIMIZER.md.  Exit status 1 if something is over its bar."""

import argparse
import collections
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = ('onnxsim', 'onnxslim', 'onnxruntime')
SECONDS = 1200  # for one peer on one model
RUNS = 5
FASTER = 5  # how much faster than onnxsim the pipeline has to be
GROWTH = 1.3  # of the time per node from 10,000 nodes to 100,000
TOLERANCE = 1e-3  # of the largest output
SHAPES = {'det': (224, 320), 'rec': (48, 320), 'cls': (48, 192)}  # of pictures whose size is symbolic
SYNTHETIC = ('chain', 'wide', 'blocks')


# -- counting --

def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField('g') else attribute.graphs:
                yield from graphs(inner)


def operators(model):
    """How many nodes of each operator count."""
    found, constants = collections.Counter(), set()
    for graph in graphs(model.graph):
        constants.update(tensor.name for tensor in graph.initializer)
        constants.update(tensor.values.name for tensor in graph.sparse_initializer)
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type == 'Constant' or node.op_type == 'ConstantOfShape' and node.input[0] in constants:
                constants.update(node.output)
            else:
                found[f'{node.domain}.{node.op_type}' if node.domain not in ('', 'ai.onnx') else node.op_type] += 1
    return dict(found)


def opset(model):
    return max((entry.version for entry in model.opset_import if entry.domain in ('', 'ai.onnx')), default=0)


# -- what runs in a process of its own --

def child_onnxsim(path, output):
    import onnx
    from onnxsim import onnx_simplifier

    model, times, cpu, native = onnx.load(path), [], [], onnx_simplifier.C.simplify

    def timed(*arguments):
        start, start_cpu = time.perf_counter(), time.process_time()
        result = native(*arguments)
        times.append((time.perf_counter() - start) * 1e3)
        cpu.append((time.process_time() - start_cpu) * 1e3)
        return result

    onnx_simplifier.C.simplify = timed
    for run in range(3):
        simple, _ = onnx_simplifier.simplify(model)
        if sum(times) > 60e3:
            break
    onnx.save(simple, output)
    return {'ms': times, 'cpu_ms': cpu}


def child_onnxslim(path, output):
    import onnx
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(path)), output)
    return {}


def child_onnxruntime(path, output):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = output
    options.log_severity_level = 3
    ort.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    return {}


def dims_of(value, name, size):
    """Sizes for symbolic dimensions: of a batch, of a sequence, of a picture."""
    dims = []
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        known = dim.dim_value if dim.HasField('dim_value') else 0
        if known > 0:
            dims.append(known)
        elif len(value.type.tensor_type.shape.dim) == 4 and axis >= 2:
            picture = next((shape for key, shape in SHAPES.items() if key in name), (64, 64))
            dims.append(picture[axis - 2] * (1 if axis == 2 and size else 1 + size))
        else:
            dims.append((2, 1)[size] if axis == 0 else (19, 7)[size])
    return dims


def random_inputs(model, name, size):
    import numpy as np
    import onnx

    random, given, feed = np.random.default_rng(7 + size), {t.name for t in model.graph.initializer}, {}
    for value in model.graph.input:
        if value.name in given:
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        dims = dims_of(value, name, size)
        if np.issubdtype(dtype, np.floating):
            feed[value.name] = random.standard_normal(dims).astype(dtype)
        elif 'mask' in value.name:
            feed[value.name] = (random.random(dims) < 0.8).astype(dtype)
            feed[value.name][..., 0] = 1
        else:
            feed[value.name] = random.integers(0, 100, dims).astype(dtype)
    return feed


def outputs(path, feed, level=0):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel(level)
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=['CPUExecutionProvider']).run(None, feed)


def child_compare(path, other, name):
    """The largest difference of the outputs, relative to the largest output."""
    import numpy as np
    import onnx

    model, worst = onnx.load(path), 0.0
    for size in 0, 1:
        feed = random_inputs(model, name, size)
        for a, b in zip(outputs(path, feed), outputs(other, feed), strict=True):
            if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
                return {'error': float('inf')}
            scale = max(float(np.nanmax(np.abs(a), initial=0)), 1e-12)
            worst = max(worst, float(np.nanmax(np.abs(a.astype(float) - b), initial=0)) / scale)
    return {'error': worst}


def child(kind, *arguments):
    """Prints one line of JSON last, whatever the packages print before."""
    import onnx

    sys.setrecursionlimit(100000)
    result = globals()[f'child_{kind}'](*arguments)
    if kind != 'compare':
        model = onnx.load(arguments[1], load_external_data=False)
        result |= {'ops': operators(model), 'opset': opset(model)}
    print('\n' + json.dumps(result))


# -- running them --

def run_child(*arguments):
    command = [sys.executable, os.path.abspath(__file__), '--child', *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {'failed': f'more than {SECONDS} s'}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    reason = done.stderr.strip().splitlines() or [f'exit status {done.returncode}']
    return {'failed': reason[-1][:120]}


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def peer(kind, name, path, folder):
    """What a peer leaves, from the results kept if neither it nor the model changed."""
    key = [version(kind), os.path.getsize(path), int(os.path.getmtime(path))]
    kept, output = os.path.join(folder, f'{name}.{kind}.json'), os.path.join(folder, f'{name}.{kind}.onnx')
    if os.path.exists(kept):
        with open(kept, encoding='utf-8') as file:
            result = json.load(file)
        if result['key'] == key:
            return result
    result = run_child(kind, path, output)
    if 'failed' not in result:
        result |= run_child('compare', path, output, name)
    result['key'] = key
    with open(kept, 'w', encoding='utf-8') as file:
        json.dump(result, file)
    return result


def optimize(irscope, path, *options):
    command = [irscope, 'optimize', path, '--json', '--quiet', '--pipeline=default', *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f'irscope: exit status {done.returncode}')
    return json.loads(done.stdout)


def ours(irscope, name, path, folder):
    output = os.path.join(folder, f'{name}.irscope.onnx')
    try:
        first = optimize(irscope, path, f'--output={output}')
        runs = [optimize(irscope, path) for _ in range(RUNS)]
        result = {key: [run[key] for run in runs] for key in ('ms', 'cpu_ms')} | run_child('irscope', path, output)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return {'failed': str(error)[:300]}
    result |= {'before': first['nodes_before'], 'after': first['nodes_after'], 'steps': first['steps']}
    return result if 'failed' in result else result | run_child('compare', path, output, name)


def child_irscope(path, output):
    return {}


def scaling(irscope, shape, folder):
    """Microseconds per node at 10,000 and at 100,000 nodes, runs of both in turn."""
    times = {10_000: [], 100_000: []}
    for count in times:
        path = os.path.join(folder, f'{shape}-{count}')
        if not os.path.exists(os.path.join(path, 'model.onnx')):
            subprocess.run([sys.executable, os.path.join(ROOT, 'tests/generators/synthetic.py'), '--shape', shape,
                            '--nodes', str(count), '--out', path], check=True)
    for _ in range(RUNS):
        for count, found in times.items():
            result = optimize(irscope, os.path.join(folder, f'{shape}-{count}', 'model.onnx'))
            found.append(result['cpu_ms'] / count * 1e3)
    return times


# -- the report --

def total(result):
    return sum(result['ops'].values()) if 'ops' in result else None


def cell(result, best):
    count = total(result)
    if count is None:
        return 'fails'
    text = f'**{count}**' if count == best else str(count)
    if 'failed' in result:
        return text + ' [2]'
    return text + (' [1]' if result['error'] > TOLERANCE else '')


def spread(times):
    return f'{statistics.median(times):.1f} ({min(times):.1f}–{max(times):.1f})'


class Row:
    """A model: what each optimizer leaves of it, and how long two of them take."""

    def __init__(self, name, own, peers):
        self.name, self.own, self.peers = name, own, peers
        counts = [total(result) for result in peers.values() if total(result) is not None]
        self.best = min(counts, default=None)
        self.count = total(own)
        theirs = peers.get('onnxsim', {}).get('cpu_ms')
        self.ratio = statistics.median(theirs) / statistics.median(own['cpu_ms']) if theirs and 'cpu_ms' in own else None

    def over(self):
        """What is over a bar, in words."""
        if 'failed' in self.own:
            yield f"irscope: {self.own['failed']}"
            return
        if self.best is not None and self.count > self.best:
            names = ', '.join(kind for kind, result in self.peers.items()
                              if total(result) is not None and total(result) < self.count)
            yield f'{self.count - self.best} nodes more than the least, of {names}'
        if self.own['error'] > TOLERANCE:
            yield f"outputs differ by {self.own['error']:.1e}"
        if self.ratio is not None and self.ratio < FASTER:
            yield f'only {self.ratio:.1f} times as fast as onnxsim'

    def nodes(self):
        least = min(count for count in (self.best, self.count) if count is not None)
        cells = [cell(self.peers[kind], least) for kind in PEERS]
        error = f"{self.own['error']:.0e}" if 'error' in self.own else ''
        mark = ' ⚠' if self.count is None or self.best is not None and self.count > self.best else ''
        return f"| {self.name} | {self.own.get('before', '')} | {' | '.join(cells)} | {cell(self.own, least)}{mark} | {error} |"

    def time(self):
        theirs, own = self.peers.get('onnxsim', {}), self.own
        mark = ' ⚠' if self.ratio is not None and self.ratio < FASTER else ''
        cells = [spread(result[key]) if key in result else 'fails' for key in ('cpu_ms', 'ms') for result in (theirs, own)]
        return f"| {self.name} | {' | '.join(cells)} | {f'{self.ratio:.1f}' if self.ratio else ''}{mark} |"


def growth(times):
    return statistics.median(times[100_000]) / statistics.median(times[10_000])


def report(rows, scales, arguments):
    versions = ', '.join(f'{name} {version(name)}' for name in (*PEERS, 'onnx'))
    over = [f'{row.name}: {text}' for row in rows for text in row.over()]
    over += [f'{shape}, 100,000 nodes: {growth(times):.2f} times the time per node of 10,000'
             for shape, times in scales.items() if growth(times) > GROWTH]
    failures = sorted({f'{kind} on {row.name}: {result["failed"]}' for row in rows
                       for kind, result in row.peers.items() if 'failed' in result})
    lines = [
        '# Optimizers compared', '',
        'Nodes that optimizers leave on networks as exporters write them. Generated; do not edit by hand:', '',
        '    ' + 'tests/oracle/optimizer-peers.py build/irscope MODELS --write', '',
        f'{versions}, Python {platform.python_version()}, {os.cpu_count()} cores. Each peer ran with its defaults, ONNX Runtime at',
        'ORT_ENABLE_EXTENDED on its CPU provider; irscope with the pipeline `default`. Counted are all nodes, those of subgraphs',
        'too, a fused operator as one, without Constant and ConstantOfShape of a constant. The least is bold. The last column is',
        "the largest difference of irscope's outputs from the original's, on random inputs of two sizes, relative to the largest",
        f"output, both run by ONNX Runtime without optimization; the bar is {TOLERANCE:g}.", '',
        '| model | before | onnxsim | OnnxSlim | ONNX Runtime | irscope | error |', '|---|---:|---:|---:|---:|---:|---:|',
        *(row.nodes() for row in rows), '',
        f'[1] its outputs differ from the original\'s by more than {TOLERANCE:g}. [2] ONNX Runtime does not run it. ⚠ over the bar:',
        'more nodes than a peer leaves.', '',
        '## Time', '',
        'Milliseconds, median (least–largest), of the whole pipeline to its fixed point, against the call into the library of',
        'onnxsim: both in the process, without imports, checks and files. What counts is the time of the processor, which',
        'other work on the machine changes less than that of the clock.', '',
        '| model | onnxsim, processor | irscope, processor | onnxsim, clock | irscope, clock | times as fast |',
        '|---|---:|---:|---:|---:|---:|', *(row.time() for row in rows), '',
        f'⚠ over the bar: less than {FASTER} times as fast.', '']
    if scales:
        lines += ['## Growth', '', 'Microseconds of the processor per node of synthetic graphs (tests/generators/synthetic.py),'
                  f' median of {RUNS} runs (least–largest);', f'the bar for the ratio is {GROWTH}.', '',
                  '| graph | 10,000 nodes | 100,000 nodes | ratio |', '|---|---:|---:|---:|',
                  *(f"| {shape} | {spread(times[10_000])} | {spread(times[100_000])} | {growth(times):.2f}"
                    f"{' ⚠' if growth(times) > GROWTH else ''} |" for shape, times in scales.items()), '']
    lines += ['## Over a bar', '', *([f'- {text}' for text in over] or ['Nothing.']), '']
    if failures:
        lines += ['## Where peers fail', '', *(f'- {text}' for text in failures), '']
    if arguments.note:
        lines += [*(f'- {text}' for text in arguments.note), '']
    return '\n'.join(lines), over


def found(paths):
    """(name, path) of every model below the paths."""
    for path in paths:
        if os.path.isfile(path):
            yield os.path.splitext(os.path.basename(path))[0], path
            continue
        for folder, inner, files in os.walk(path):
            inner.sort()
            for name in sorted(files):
                stem, kind = os.path.splitext(name)
                if kind == '.onnx':
                    yield os.path.basename(folder) if stem == 'model' else stem, os.path.join(folder, name)


def print_operators(row):
    """Operators by operators, where they differ."""
    columns = {'irscope': row.own, **row.peers}
    names = sorted({op for result in columns.values() for op in result.get('ops', {})})
    print('    ' + ''.join(f'{kind:>13}' for kind in columns))
    for op in names:
        counts = [result.get('ops', {}).get(op, 0) for result in columns.values()]
        if len(set(counts)) > 1:
            print('    ' + ''.join(f'{count:13}' for count in counts) + '  ' + op)


def main():
    parser = argparse.ArgumentParser(description='Nodes and time of irscope\'s optimizer beside its peers.')
    parser.add_argument('irscope')
    parser.add_argument('models', nargs='+', metavar='FOLDER-OR-MODEL')
    parser.add_argument('--write', action='store_true', help='write docs/OPTIMIZER.md')
    parser.add_argument('--only', action='append', default=[], metavar='TEXT', help='models whose name contains this')
    parser.add_argument('--results', default=os.path.join(tempfile.gettempdir(), 'irscope-peers'), metavar='FOLDER',
                        help='where results and optimized models are kept')
    parser.add_argument('--operators', action='store_true', help='print what is left by operator')
    parser.add_argument('--no-scaling', action='store_true', help='leave the synthetic graphs out')
    parser.add_argument('--note', action='append', metavar='TEXT', help='a line to add to the report')
    arguments = parser.parse_args()
    os.makedirs(arguments.results, exist_ok=True)
    missing = [name for name in (*PEERS, 'onnx') if version(name) is None]
    if missing:
        sys.exit(f'optimizer-peers: {", ".join(missing)} missing; see the top of this file for how to get it')
    rows = []
    for name, path in found(arguments.models):
        if arguments.only and not any(text in name for text in arguments.only):
            continue
        peers = {kind: peer(kind, name, path, arguments.results) for kind in PEERS}
        rows.append(Row(name, ours(arguments.irscope, name, path, arguments.results), peers))
        print(rows[-1].nodes(), *rows[-1].over(), flush=True)
        if arguments.operators:
            print_operators(rows[-1])
    scales = {} if arguments.no_scaling else {shape: scaling(arguments.irscope, shape, arguments.results)
                                              for shape in SYNTHETIC}
    text, over = report(rows, scales, arguments)
    if arguments.write:
        with open(os.path.join(ROOT, 'docs/OPTIMIZER.md'), 'w', encoding='utf-8') as file:
            file.write(text)
    print(*over, sep='\n')
    return 1 if over else 0


if __name__ == '__main__':
    if sys.argv[1:2] == ['--child']:
        child(*sys.argv[2:])
        sys.exit(0)
    sys.exit(main())
