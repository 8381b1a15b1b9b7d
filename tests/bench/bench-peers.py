#!/usr/bin/env python3
"""Measures irscope against ONNX Runtime: one table of ratios with their spread.

    python3 -m venv /tmp/ort && /tmp/ort/bin/pip install onnxruntime==1.30 onnx numpy
    /tmp/ort/bin/pip install --no-deps rapidocr_onnxruntime      # the two networks of PP-OCR; optional
    /tmp/ort/bin/python tests/bench/bench-peers.py build/irscope /tmp/peers --pairs 15 [--write]

Needs packages from PyPI and is no part of any test run. The first call makes the models in FOLDER/models, with random
weights of fixed seeds: those of tests/generators, light networks with real weights, graphs of tiny nodes. A pair is a
process of irscope (--pipeline default) and one of ONNX Runtime (all optimizations, sequential execution, fixed shapes,
inputs and outputs allocated before, by IO binding), with the same inputs and threads, one after the other in changing
order. The ratio of a pair is that of the medians of both. All models take turns, so that what else happens on the
machine meets all of them; results are kept in FOLDER/results.jsonl, and a call that was stopped goes on where it was.
Results of another binary are put aside by its checksum. --write puts the table between the markers of
docs/BENCHMARKS.md; --table shows what is there without measuring."""

import argparse
import collections
import hashlib
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
GENERATORS = os.path.join(ROOT, 'tests', 'generators')
BEGIN, END = '<!-- bench-peers: begin -->', '<!-- bench-peers: end -->'


def generated(name, *arguments):
    return [os.path.join(GENERATORS, 'generate.py'), name, *arguments, '--static', '--no-expected']


def light(name):
    return ['light', name]


def tiny(nodes):
    return [os.path.join(GENERATORS, 'synthetic.py'), '--shape', 'wide', '--nodes', str(nodes)]


def ppocr(name, height, width):
    return ['ppocr', name, (1, 3, height, width)]


# Name in the table -> how the model is made.
MODELS = {
    'ResNet-50': generated('resnet50'),
    'MobileNetV2': generated('mobilenetv2'),
    'DenseNet-121 (light)': light('densenet121'),
    'Inception v2 (light)': light('inception_v2'),
    'SqueezeNet (light)': light('squeezenet'),
    'ShuffleNet (light)': light('shufflenet'),
    'BERT-base, 128 tokens': generated('bert-base', '--seq', '128'),
    'MiniLM, 128 tokens': generated('bert-base', '--layers', '6', '--hidden', '384', '--heads', '12', '--seq', '128'),
    'GPT-2, 64 tokens': generated('gpt2', '--seq', '64'),
    'PP-OCR detection': ppocr('det', 640, 640),
    'PP-OCR recognition': ppocr('rec', 48, 320),
    '1k tiny nodes': tiny(1000),
    '10k tiny nodes': tiny(10000),
    '50k tiny nodes': tiny(50000),
}


def slug(name):
    return ''.join(c if c.isalnum() else '-' for c in name.lower()).strip('-')


# -- the peer's process: run with --worker --


def peak_rss():
    """Bytes; what getrusage() tells would begin with that of the process that started this one."""
    with open('/proc/self/status', encoding='utf-8') as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith('VmHWM:'))


def worker(job):
    """Runs one model in ONNX Runtime and prints what irscope bench would."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = job['threads']
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    for name, size in job['dims'].items():
        options.add_free_dimension_override_by_name(name, size)
    inputs = {name: numpy.load(path) for name, path in job['inputs'].items()}
    before = peak_rss()
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(job['model'], options, providers=['CPUExecutionProvider'])
    load_ms = (time.perf_counter() - start) * 1e3
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    for output in session.get_outputs():
        binding.bind_output(output.name, 'cpu')
    start = time.perf_counter()
    session.run_with_iobinding(binding)
    first_ms = (time.perf_counter() - start) * 1e3
    # What the first run has allocated is bound, so that the others write there.
    values = binding.get_outputs()
    for output, value in zip(session.get_outputs(), values):
        binding.bind_ortvalue_output(output.name, value)
    times, begin = [], time.perf_counter()
    for i in range(job['warmup'] + 100000):
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        end = time.perf_counter()
        if i >= job['warmup']:
            times.append((end - start) * 1e3)
        if len(times) >= 3 and end - begin > job['seconds']:
            break
    rss = peak_rss()
    print(json.dumps({'version': onnxruntime.__version__, 'prepare_ms': load_ms, 'first_ms': first_ms,
                      'run_ms': statistics.median(times), 'runs': len(times), 'rss': rss - before}))


# -- models --


def find_light(name, folder):
    spec = importlib.util.find_spec('onnx')
    folders = [folder, os.path.join(os.path.dirname(spec.origin), 'backend/test/data/light')] if spec else [folder]
    for place in filter(None, folders):
        path = os.path.join(place, f'light_{name}.onnx')
        if os.path.exists(path):
            return path
    return None


def find_ppocr(name, folder):
    spec = importlib.util.find_spec('rapidocr_onnxruntime')
    folders = [folder, os.path.join(os.path.dirname(spec.origin), 'models')] if spec else [folder]
    for place in filter(None, folders):
        for file in sorted(os.listdir(place)):
            if f'_{name}_infer' in file and file.endswith('.onnx'):
                return os.path.join(place, file)
    return None


def write_inputs(folder, model, shapes):
    import numpy
    generator = numpy.random.default_rng(5)
    entries = []
    for i, (name, shape) in enumerate(shapes.items()):
        numpy.save(os.path.join(folder, f'input-{i}.npy'), generator.standard_normal(shape).astype(numpy.float32))
        entries.append({'name': name, 'file': f'input-{i}.npy'})
    with open(os.path.join(folder, 'manifest.json'), 'w', encoding='utf-8') as file:
        json.dump({'model': model, 'inputs': entries}, file)


def make_model(name, folder, options):
    """FOLDER with manifest.json, model and inputs; False where the parts for it are missing."""
    if os.path.exists(os.path.join(folder, 'manifest.json')):
        return True
    recipe = MODELS[name]
    os.makedirs(folder, exist_ok=True)
    print(f'making {name}', file=sys.stderr, flush=True)
    if recipe[0] == 'light':
        source = find_light(recipe[1], options.light)
        if source is None:
            return False
        recipe = [os.path.join(GENERATORS, 'light.py'), source]
    elif recipe[0] == 'ppocr':
        import onnx
        source = find_ppocr(recipe[1], options.ppocr)
        if source is None:
            return False
        network = onnx.load(source)
        write_inputs(folder, source, {network.graph.input[0].name: recipe[2]})
        return True
    subprocess.run([sys.executable, *recipe, '--out', folder], check=True, stdout=subprocess.DEVNULL)
    return True


def describe(folder):
    """Model file, inputs, and the sizes of symbolic dimensions that the inputs fix."""
    import numpy
    import onnx
    with open(os.path.join(folder, 'manifest.json'), encoding='utf-8') as file:
        manifest = json.load(file)
    model = os.path.join(folder, manifest['model'])
    inputs = {entry['name']: os.path.join(folder, entry['file']) for entry in manifest['inputs']}
    dims = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        if value.name not in inputs:
            continue
        shape = numpy.load(inputs[value.name], mmap_mode='r').shape
        for dim, size in zip(value.type.tensor_type.shape.dim, shape):
            if dim.dim_param:
                dims[dim.dim_param] = size
    return {'model': model, 'inputs': inputs, 'dims': dims}


def make_captured(model, path):
    """The model with every value of its main graph as an output: how one looks into ONNX Runtime."""
    import onnx
    if os.path.exists(path):
        return
    network = onnx.load(model)
    known = {value.name for value in network.graph.output}
    for node in network.graph.node:
        for name in node.output:
            if name and name not in known and node.op_type != 'Constant':
                network.graph.output.append(onnx.ValueInfoProto(name=name))
                known.add(name)
    onnx.save(network, path)


# -- measuring --


def run_peer(job, captured, options):
    model = job['captured'] if captured else job['model']
    task = {**{key: job[key] for key in ('inputs', 'dims', 'threads')}, 'model': model, 'seconds': options.seconds,
            'warmup': options.warmup}
    done = subprocess.run([sys.executable, os.path.abspath(__file__), '--worker', json.dumps(task)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def run_irscope(job, pipeline, captured, options):
    command = [options.irscope, 'bench', job['model'], '--json', '--threads', str(job['threads']), '--runs', '100000',
               '--warmup', str(options.warmup + 1), '--seconds', str(options.seconds)]
    command += ['--pipeline', pipeline] if pipeline else []
    command += ['--capture', 'all'] if captured else []
    command += [part for name, path in job['inputs'].items() for part in ('--input', f'{name}={path}')]
    command += [part for name, size in job['dims'].items() for part in ('--dim', f'{name}={size}')]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    model = json.loads(done.stdout)['models'][0]
    plain = model['plain']
    result = {'open_ms': model['open_first_ms'], 'pipeline_ms': model['pipeline_ms'], 'prepare_ms': plain['prepare_ms'],
              'first_ms': plain['first_ms'], 'run_ms': plain['run_ms']['median'], 'runs': plain['run_ms']['runs'],
              'rss': plain['peak_rss_bytes'], 'fallback': model['fallback']}
    if captured:
        series = model['captured']
        result.update(captured_ms=series['run_ms']['median'], captured_first_ms=series['first_ms'],
                      captured_rss=series['peak_rss_bytes'])
    return result


def measure_pair(job, index, options):
    steps = [('irscope', lambda: run_irscope(job, options.pipeline, False, options)),
             ('peer', lambda: run_peer(job, False, options))]
    if index < options.capture_pairs:
        steps += [('captured', lambda: run_irscope(job, options.pipeline, True, options)),
                  ('original', lambda: run_irscope(job, None, True, options)),
                  ('peer_captured', lambda: run_peer(job, True, options))]
    # Who comes first changes, so that a drift favours nobody.
    return {name: step() for name, step in (steps[::-1] if index % 2 else steps)}


def read_results(path, build):
    results = collections.defaultdict(dict)
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for line in file:
                entry = json.loads(line)
                if entry['build'] == build:
                    results[entry['name'], entry['threads']][entry['pair']] = entry
    return results


def checksum(options):
    with open(options.irscope, 'rb') as file:
        return hashlib.sha256(file.read() + options.pipeline.encode()).hexdigest()[:16]


def measure(options, names, build, path):
    begin, jobs = time.monotonic(), {}
    for name in names:
        folder = os.path.join(options.folder, 'models', slug(name))
        if not make_model(name, folder, options):
            print(f'{name}: left out, its parts are missing (see the top of this file)', file=sys.stderr)
            continue
        jobs[name] = describe(folder)
        jobs[name]['captured'] = os.path.join(folder, 'captured.onnx')
        if options.capture_pairs > 0:
            make_captured(jobs[name]['model'], jobs[name]['captured'])
    done = read_results(path, build)
    for index in range(options.pairs):
        for name, job in jobs.items():
            for threads in options.threads:
                if index in done[name, threads]:
                    continue
                if options.budget and time.monotonic() - begin > options.budget * 60:
                    print('the time is up; the same command goes on', file=sys.stderr)
                    return
                load = os.getloadavg()[0]
                try:
                    results = measure_pair({**job, 'threads': threads}, index, options)
                except subprocess.CalledProcessError as error:
                    print(f'{name}: {error.stderr.strip()[-300:]}', file=sys.stderr)
                    continue
                entry = {'build': build, 'name': name, 'threads': threads, 'pair': index, 'load': load, **results}
                with open(path, 'a', encoding='utf-8') as file:
                    print(json.dumps(entry), file=file)
                print(f'{index + 1}/{options.pairs} {name}, {threads}: '
                      f'{results["irscope"]["run_ms"]:.3f} / {results["peer"]["run_ms"]:.3f} ms = '
                      f'{results["irscope"]["run_ms"] / results["peer"]["run_ms"]:.3f}', file=sys.stderr, flush=True)


# -- the table --


def interval(ratios, seed=1):
    """Median with the 95 % bootstrap interval of the median (Efron 1979), 10,000 draws."""
    generator = random.Random(seed)
    n = len(ratios)
    medians = sorted(statistics.median(generator.choices(ratios, k=n)) for _ in range(10000))
    return statistics.median(ratios), medians[250], medians[9749]


def cell(ratios):
    if not ratios:
        return ''
    median, low, high = interval(ratios)
    return f'{median:.2f} ({low:.2f} to {high:.2f})'


def ratios_of(entries, above, below):
    pairs = [(above(entry), below(entry)) for entry in entries]
    return [a / b for a, b in pairs if a is not None and b]


def field(process, key):
    return lambda entry: entry.get(process, {}).get(key)


def ready_ms(entry):
    ours = entry['irscope']
    return ours['open_ms'] + ours['pipeline_ms'] + ours['prepare_ms']


def verdict(ratios):
    median, _, high = interval(ratios)
    return 'met' if median <= 1 and high <= 1.05 and len(ratios) >= 15 else 'too few pairs' if len(ratios) < 15 else 'missed'


def middle(entries, process, key):
    return statistics.median(entry[process][key] for entry in entries)


def table(results, names, options):
    some = [entry for pairs in results.values() for entry in pairs.values()]
    if not some:
        return 'Nothing is measured.\n'
    loads = sorted(entry['load'] for entry in some)
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        text = file.read()
    cpu = next((line.split(':')[1].strip() for line in text.splitlines() if line.startswith('model name')), '?')
    vectors = 'AVX-512' if ' avx512f' in text else 'AVX2' if ' avx2' in text else 'SSE'
    lines = [
        f'irscope with the pipeline {options.pipeline} against ONNX Runtime {some[0]["peer"]["version"]} on {os.cpu_count()} '
        f'cores of {cpu} ({vectors}), {time.strftime("%Y-%m-%d")}. Ratios of irscope to ONNX Runtime, below 1 where irscope is '
        'faster or smaller: median of all pairs of processes and its 95 % bootstrap interval. '
        f'The load of the machine before the pairs was {statistics.median(loads):.1f} in the median, {loads[-1]:.1f} at most. '
        '`tests/bench/bench-peers.py` repeats it.', '',
        'Target of a run: median ≤ 1.00, upper end ≤ 1.05, in 15 pairs or more.', '',
        '| model | threads | pairs | run | target | irscope ms | ONNX Runtime ms |', '|---|---|---|---|---|---|---|']
    rows = [(name, threads, [pairs[index] for index in sorted(pairs)]) for name in names for threads in options.threads
            for pairs in [results.get((name, threads), {})] if pairs]
    for name, threads, entries in rows:
        run = ratios_of(entries, field('irscope', 'run_ms'), field('peer', 'run_ms'))
        lines.append(f'| {name} | {threads} | {len(entries)} | {cell(run)} | {verdict(run)} | '
                     f'{middle(entries, "irscope", "run_ms"):.3f} | {middle(entries, "peer", "run_ms"):.3f} |')
    lines += ['', 'Preparing: of irscope the plan alone, and all from the file to the first run (opening, passes, plan), to the '
              'creation of a session. Memory: the peak of irscope, to what the session and its runs add to a Python that has '
              'loaded ONNX Runtime.', '',
              '| model | threads | plan | file to run | open ms | passes ms | plan ms | session ms | memory | irscope MiB |',
              '|---|---|---|---|---|---|---|---|---|---|']
    for name, threads, entries in rows:
        prepare = ratios_of(entries, field('irscope', 'prepare_ms'), field('peer', 'prepare_ms'))
        ready = ratios_of(entries, ready_ms, field('peer', 'prepare_ms'))
        memory = ratios_of(entries, field('irscope', 'rss'), field('peer', 'rss'))
        lines.append(f'| {name} | {threads} | {cell(prepare)} | {cell(ready)} | {middle(entries, "irscope", "open_ms"):.1f} | '
                     f'{middle(entries, "irscope", "pipeline_ms"):.1f} | {middle(entries, "irscope", "prepare_ms"):.1f} | '
                     f'{middle(entries, "peer", "prepare_ms"):.1f} | {cell(memory)} | '
                     f'{middle(entries, "irscope", "rss") / 2**20:.0f} |')
    rows = [(name, threads, [entry for entry in entries if 'captured' in entry]) for name, threads, entries in rows]
    if any(entries for _, _, entries in rows):
        lines += ['', 'Keeping every value, each to the plain run of the same program: of the graph that irscope executes (target '
                  '≤ 1.10), of the graph in the file (target: no more than ONNX Runtime), and of ONNX Runtime with every value as '
                  'an output.', '',
                  '| model | threads | executed | as in the file | ONNX Runtime | memory, to ONNX Runtime |', '|---|---|---|---|---|---|']
    for name, threads, entries in rows:
        if entries:
            executed = ratios_of(entries, field('captured', 'captured_ms'), field('captured', 'run_ms'))
            original = ratios_of(entries, field('original', 'captured_ms'), field('irscope', 'run_ms'))
            peer = ratios_of(entries, field('peer_captured', 'run_ms'), field('peer', 'run_ms'))
            memory = ratios_of(entries, field('captured', 'captured_rss'), field('peer_captured', 'rss'))
            lines.append(f'| {name} | {threads} | {cell(executed)} | {cell(original)} | {cell(peer)} | {cell(memory)} |')
    return '\n'.join(lines) + '\n'


def write_table(text):
    path = os.path.join(ROOT, 'docs', 'BENCHMARKS.md')
    with open(path, encoding='utf-8') as file:
        document = file.read()
    if BEGIN not in document:
        document = document.rstrip('\n') + f'\n\n## Beside ONNX Runtime\n\n{BEGIN}\n{END}\n'
    head, rest = document.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'{head}{BEGIN}\n\n{text}\n{END}{tail}')


def main():
    if sys.argv[1:2] == ['--worker']:
        worker(json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description='Measure irscope against ONNX Runtime.')
    parser.add_argument('irscope')
    parser.add_argument('folder', help='models and results')
    parser.add_argument('--pairs', type=int, default=15, help='pairs of processes for each model and number of threads')
    parser.add_argument('--capture-pairs', type=int, default=5, help='so many of them with runs that keep all values')
    parser.add_argument('--threads', type=lambda text: [int(part) for part in text.split(',')], default=[1, 2], metavar='1,2')
    parser.add_argument('--only', metavar='WORD,..', help='models whose name has one of these words')
    parser.add_argument('--seconds', type=float, default=2, help='runs of one process (default 2)')
    parser.add_argument('--warmup', type=int, default=3, help='runs behind the first that do not count (default 3)')
    parser.add_argument('--budget', type=float, metavar='MINUTES', help='stop measuring after so long')
    parser.add_argument('--pipeline', default='default')
    parser.add_argument('--light', metavar='DIR', help='light_NAME.onnx (default: of the package onnx)')
    parser.add_argument('--ppocr', metavar='DIR', help='networks of PP-OCR (default: of the package rapidocr_onnxruntime)')
    parser.add_argument('--table', action='store_true', help='measure nothing')
    parser.add_argument('--write', action='store_true', help='write the table into docs/BENCHMARKS.md')
    options = parser.parse_args()
    words = [word.strip().lower() for word in options.only.split(',')] if options.only else ['']
    names = [name for name in MODELS if any(word in name.lower() for word in words)]
    os.makedirs(options.folder, exist_ok=True)
    path, build = os.path.join(options.folder, 'results.jsonl'), checksum(options)
    if not options.table:
        measure(options, names, build, path)
    text = table(read_results(path, build), names, options)
    print(text)
    if options.write:
        write_table(text)


if __name__ == '__main__':
    main()
