#!/usr/bin/python3
"""irscope info --devices on machines with and without the libraries of CUDA; prints TAP.

    test-devices.py IRSCOPE SOURCE_ROOT FOLDER_OF_FAKE_DRIVERS [--all]

With --all, the conformance cases instead, where they are installed."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM, ROOT, FAKES = (os.path.abspath(name) for name in sys.argv[1:4])
sys.path.insert(0, os.path.join(ROOT, 'tests/cli'))

from schema import violations  # noqa: E402
from tap import cases, run_tests, test  # noqa: E402

SCHEMA = json.load(open(os.path.join(ROOT, 'data/schema/info-devices.schema.json')))


def info(path, *arguments):
    done = subprocess.run([PROGRAM, 'info', '--devices', *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, 'IRSCOPE_GPU_PATH': path, 'IRSCOPE_GPU_CACHE': '-'})
    return done.returncode, done.stdout, done.stderr


def json_of(path):
    code, out, err = info(path, '--json')
    assert code == 0, (code, err)
    answer = json.loads(out)
    found = list(violations(answer, SCHEMA))
    assert not found, found[:5]
    return answer


def planted(kind):
    folder = tempfile.mkdtemp(prefix='irscope-gpu-')
    os.symlink(os.path.join(FAKES, f'fake-driver-{kind}.so'), os.path.join(folder, 'libcuda.so.1'))
    return folder


@test('with nothing there, each library is said to be missing, and what that means')
def _():
    answer = json_of('-')
    assert answer['gpus'] == [] and 'libcuda.so.1' in answer['reason'] and not answer['looked_in'], answer
    assert [library['state'] for library in answer['libraries']] == ['missing'] * 5, answer
    assert all(library['without'] for library in answer['libraries'])
    code, out, err = info('-')
    assert code == 0 and err == '' and 'libcuda.so.1' in out and 'libnvrtc' in out and 'nowhere' in out, out


@test('folders that were looked in are listed in their order')
def _():
    answer = json_of('/nonexistent:/tmp')
    assert [place['folder'] for place in answer['looked_in'][:2]] == ['/nonexistent', '/tmp'], answer['looked_in']
    assert any(place['folder'] is None for place in answer['looked_in'])
    assert '/nonexistent' in info('/nonexistent:-')[1]


@test('devices of a driver')
def _():
    answer = json_of(planted(0) + ':-')
    assert [gpu['name'] for gpu in answer['gpus']] == ['gpu:0', 'gpu:1'] and answer['reason'] is None, answer
    assert answer['gpus'][0]['title'] == 'Fake One' and answer['gpus'][0]['compute_capability'] == '9.0'
    assert answer['gpus'][0]['bytes'] == 141 << 30 and answer['gpus'][0]['multiprocessors'] == 132
    driver = answer['libraries'][0]
    assert driver['state'] == 'usable' and driver['version'] == '12.4' and driver['without'] is None, driver
    out = info(planted(0) + ':-')[1]
    assert 'Fake One' in out and '141.0' in out, out


@test('drivers that are old, without a device, stubs or broken are told apart')
def _():
    for kind, state, words in ((1, 'too old', 'CUDA 9.0'), (2, 'failed', 'sees no GPU'), (3, 'stub', 'no driver'),
                               (4, 'failed', 'restart'), (5, 'too old', 'cuDeviceTotalMem_v2')):
        folder = planted(kind)
        answer = json_of(folder + ':-')
        driver = answer['libraries'][0]
        assert driver['state'] == state and words in driver['reason'] and driver['file'].startswith(folder), driver
        assert words in answer['reason'] and answer['gpus'] == [], answer
        assert words in info(folder + ':-')[1]


@test('it takes no file, and a file needs no devices')
def _():
    code, out, err = info('-', os.path.join(ROOT, 'data/examples/digits.onnx'))
    assert code == 2 and out == '' and 'FILE' in err, (code, out, err)


def npy(path, dtype, rows):
    """Writes numbers, or lists of as many numbers each."""
    numbers = [number for row in rows for number in (row if isinstance(row, list) else [row])]
    shape = (len(rows), len(rows[0])) if isinstance(rows[0], list) else (len(rows),)
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + '\n'
    with open(path, 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode())
        file.write(struct.pack('<%d%s' % (len(numbers), {'<f4': 'f', '<i8': 'q'}[dtype]), *numbers))


PROGRAMS = tempfile.mkdtemp(prefix='irscope-gpu-')  # so that few of them are compiled twice


def run(path, *arguments, stand_in='', cache=PROGRAMS):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, 'IRSCOPE_GPU_PATH': path, 'IRSCOPE_STAND_IN': stand_in, 'IRSCOPE_GPU_CACHE': cache})
    return done.returncode, done.stdout, done.stderr


@test('--device gpu says what is missing, and where it was looked for')
def _():
    digits = os.path.join(ROOT, 'data/examples/digits.onnx')
    for path, words in (('/nonexistent:-', ('libcuda.so.1', '/nonexistent (IRSCOPE_GPU_PATH)')), ('-', ('libcuda.so.1', 'nothing')),
                        (planted(0) + ':-', ('NVRTC', 'libnvrtc')), (planted(1) + ':-', ('CUDA 9.0',)),
                        (planted(2) + ':-', ('sees no GPU',)), (planted(3) + ':-', ('no driver',)),
                        (planted(5) + ':-', ('cuDeviceTotalMem_v2',))):
        for command in ('run', 'schedule', 'memory'):
            code, out, err = run(path, command, digits, '--device', 'gpu', '--dim', 'batch=1')
            assert code == 3 and out == '' and 'info --devices' in err, (command, path, code, out, err)
            assert all(word in err for word in words), (words, err)
            assert 'Traceback' not in err and err.count('\n') == 1, err


@test('more operands than a kernel has places for run elsewhere, and say so')
def _():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'many.onnxtxt')
        names = [f'x{i}' for i in range(17)]
        with open(path, 'w') as file:
            file.write('<ir_version: 8, opset_import: ["" : 17]>\ng (' + ', '.join(f'float[4] {n}' for n in names) +
                       ') => (float[68] z) { y = Concat <axis = 0> (' + ', '.join(names) + ')  z = Neg (y) }\n')
        code, out, err = run(FAKES, 'run', path, '--device', 'gpu', '--check', 'ref')
        assert code == 0 and ' 0 beyond tolerance' in out, (code, out, err)
        code, out, err = run(FAKES, 'schedule', path, '--device', 'gpu', '--json')
        assert code == 0 and 'more than 16 inputs' in out, (code, out, err)
        code, out, err = run(FAKES, 'memory', path, '--device', 'gpu', '--budget', '100')
        assert code == 2 and 'of the host alone' in err, (code, out, err)


NET = os.path.join(tempfile.mkdtemp(prefix='irscope-gpu-'), 'net.onnxtxt')
with open(NET, 'w') as net:
    net.write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[8,16] x) => (float[8,16] z) '
              '{ a = Exp (x)  b = Softmax (a)  c = Sin (b)  z = Add (c, x) }\n')


@test('the lists of memory tell of that of the device, or of the host where that is asked for')
def _():
    peaks = {}
    for where in ('device', 'host'):
        code, out, err = run(FAKES, 'memory', NET, '--device', 'gpu', '--of', where, '--json')
        answer = json.loads(out)
        assert code == 0 and answer.get('memory') == (where if where == 'device' else None), (code, answer, err)
        peaks[where] = answer['peak_bytes']
    assert peaks['device'] >= 2 * 8 * 16 * 4, peaks
    for option, words in ((('--at-peak',), 'step'), (('--why', 'a'), 'a '), (('--events',), 'allocate'), (('--csv',), 'a,'),
                          (('--against', NET), 'peak')):
        code, out, err = run(FAKES, 'memory', NET, '--device', 'gpu', *option)
        assert code == 0 and words in out, (option, code, out, err)
        assert run(FAKES, 'memory', NET, '--device', 'gpu', '--of', 'host', *option)[1] != out, option
    code, out, err = run(FAKES, 'memory', NET, '--of', 'device')
    assert code == 2 and '--device' in err, (code, out, err)
    code, out, err = run(FAKES, 'memory', NET, '--device', 'gpu', '--of', 'elsewhere')
    assert code == 2 and 'device or host' in err, (code, out, err)


@test('a graph on two back ends: no value is beyond what its operators allow')
def _():
    schema = json.load(open(os.path.join(ROOT, 'data/schema/diff.schema.json')))
    for pair in ('cpu,gpu', 'gpu,ref', 'ref,cpu'):
        code, out, err = run(FAKES, 'diff', NET, '--values', '--device', pair, '--json')
        answer = json.loads(out)
        assert not list(violations(answer, schema)), list(violations(answer, schema))
        assert code == 0 and answer['devices'] == pair.split(',') and answer['numbers']['diverge'] == 0, (pair, code, answer)
        assert answer['numbers']['compared'] == 4 and answer.get('stand_in') == (True if 'gpu' in pair else None), answer
    code, out, err = run(FAKES, 'diff', NET, '--values', '--device', 'cpu,gpu')
    assert code == 0 and '4 compared' in out, (code, out, err)


@test('of two back ends, the first value that the second one gets wrong is named')
def _():
    code, out, err = run(FAKES, 'diff', NET, '--values', '--device', 'cpu,gpu', stand_in='wrong=softmax')
    first = [line for line in out.splitlines() if line.lstrip().startswith('diverges')]
    assert code == 1 and first and ' b:' in first[0], (code, out, err)
    code, out, err = run(FAKES, 'diff', NET, '--values', '--device', 'cpu,gpu', '--json', stand_in='wrong=softmax')
    wrong = [value['b'] for value in json.loads(out)['numbers']['values'] if value['diverges']]
    assert code == 1 and wrong == ['b'], wrong


@test('two back ends are for the values of one file')
def _():
    for arguments, words in (((NET, NET, '--values'), 'one FILE'), ((NET,), '--values'), ((NET, '--values', '--iterations', '1:2'), 'one FILE')):
        code, out, err = run(FAKES, 'diff', *arguments, '--device', 'cpu,gpu')
        assert code == 2 and words in err, (arguments, code, out, err)
    code, out, err = run(FAKES, 'diff', NET, '--values', '--device', 'cpu,cpu')
    assert code == 2 and 'the same back end' in err, (code, out, err)
    code, out, err = run(FAKES, 'diff', NET, '--values', '--device', 'cpu,tpu')
    assert code == 2 and 'tpu' in err, (code, out, err)


@test('what cuBLAS may round is said by an option, and by the schedule')
def _():
    path = os.path.join(os.path.dirname(NET), 'product.onnxtxt')
    with open(path, 'w') as file:
        file.write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[64,64] a, float[64,64] b) => (float[64,64] y) '
                   '{ y = MatMul (a, b) }\n')
    for precision, words in ((None, '(cuBLAS)'), ('strict', '(cuBLAS)'), ('tf32', '(cuBLAS, tf32)'), ('half', '(cuBLAS, half)')):
        options = ('--precision', precision) if precision else ()
        code, out, err = run(FAKES, 'schedule', path, '--device', 'gpu', '--json', *options)
        assert code == 0 and json.loads(out)['items'][0]['kernel'] == f'matmul {words}', (precision, out, err)
        # Float64 tells that more than the tolerance was lost, or that it was not.
        code, out, err = run(FAKES, 'diff', path, '--values', '--device', 'cpu,gpu', *options)
        assert code == (words != '(cuBLAS)'), (precision, code, out, err)
    for arguments, words in ((('--device', 'gpu', '--precision', 'fast'), 'strict, tf32 or half'), (('--precision', 'tf32'), '--device gpu')):
        code, out, err = run(FAKES, 'run', path, *arguments)
        assert code == 2 and words in err, (arguments, code, err)


BLOCK = os.path.join(ROOT, 'data/examples/transformer-block.onnx')


@test('streams: as many as are asked for, events between them, and copies with what they are predicted to take')
def _():
    for n in (1, 2, 8):
        code, out, err = run(FAKES, 'schedule', BLOCK, '--device', 'gpu', '--streams', str(n), '--json')
        answer = json.loads(out)
        assert code == 0 and answer['device_streams']['n'] == n, (n, err)
        items, waits = answer['items'], answer['device_streams']['waits']
        assert (len(waits) == 0) == (n == 1), (n, waits)
        for wait in waits:
            assert wait['from'] < wait['to'], wait
            assert items[wait['from']]['device_stream'] != items[wait['to']]['device_stream'], wait
        for copy in answer['copies']:
            assert copy['predicted_ms'] > 0 and copy['stream'] < n, copy
            assert ('host_waits' in copy) == (copy['copy'] == 'CopyToHost' and not copy['late']), copy
    code, out, err = run(FAKES, 'schedule', os.path.join(ROOT, 'data/examples/if-branch.onnx'), '--device', 'gpu')
    assert code == 0 and 'the host waits: it decides which branch runs' in out, (out, err)
    assert 'while the device goes on: it is handed out' in out and 'the host waits: it is handed out' not in out, out
    for arguments, words in ((('--device', 'gpu', '--streams', '9'), 'from 1 to 8'),
                             (('--device', 'gpu', '--streams', '0'), 'from 1 to 8'), (('--streams', '2'), '--device gpu')):
        code, out, err = run(FAKES, 'run', BLOCK, *arguments)
        assert code == 2 and words in err, (arguments, code, err)


@test('lanes of the timeline are workers and the streams of a device, each with what ran there')
def _():
    folder = tempfile.mkdtemp(prefix='irscope-gpu-')
    for device, streams, lanes in (('gpu', 3, {'gpu stream 0', 'gpu stream 1', 'gpu stream 2'}), ('gpu', 1, {'gpu stream 0'}),
                                   ('cpu', 0, {'worker 0'})):
        arguments = ['--device', device, *(['--streams', str(streams)] if streams else [])]
        code, out, err = run(FAKES, 'schedule', BLOCK, *arguments, '--run', '--json', stand_in='fast')
        assert code == 0, err
        answer = json.loads(out)
        there = {item['node']: item['device_stream'] for item in answer['items'] if 'device_stream' in item}
        items = answer['timeline']['items']
        assert {item['lane'] for item in items if item['node'] in there} == (lanes if device == 'gpu' else set()), device
        for item in items:
            here = f'gpu stream {there[item["node"]]}' if item['node'] in there else 'worker 0'
            assert item['lane'] == here and ('why_idle' not in item or item['why_idle'].startswith(here)), (here, item)
        trace = os.path.join(folder, 'trace.json')
        code, out, err = run(FAKES, 'run', BLOCK, *arguments, '--trace', trace, stand_in='fast')
        events = json.load(open(trace))['traceEvents']
        assert code == 0 and ({event['tid'] for event in events if event['pid'] == 4 and event['ph'] == 'X'}
                              == set(range(1, streams + 1))), err


@test('the device counts: statistics and breakpoints copy no value that a plain run leaves there')
def _():
    folder = tempfile.mkdtemp(prefix='irscope-gpu-')
    copied, said = {}, {}
    for name, arguments in (('plain', ()), ('stats', ('--capture', 'stats')), ('break', ('--break', 'max>1e30')), ('dead', ('--break', 'dead>1'))):
        trace = os.path.join(folder, 'trace.json')
        code, said[name], err = run(FAKES, 'run', BLOCK, '--device', 'gpu', *arguments, '--trace', trace, stand_in='fast')
        assert code == 0, (name, err)
        events = [event.get('cat') for event in json.load(open(trace))['traceEvents']]
        copied[name] = events.count('CopyToHost')
    assert copied['plain'] == copied['stats'] == copied['break'] < copied['dead'], copied
    assert 'to count values in' in said['stats'] and 'to count values in' not in said['plain'], said
    code, out, err = run(FAKES, 'run', BLOCK, '--device', 'gpu', '--capture', 'all', '--json', stand_in='fast')
    taken = json.loads(out)['device_memory']
    assert code == 0 and min(taken['values_bytes'], taken['constants_bytes'], taken['late_copies_bytes']) > 0 == taken['statistics_bytes'], taken


@test('one of several devices, by its number')
def _():
    for device, count, fits in (('gpu:0', 1, True), ('gpu:1', 2, True), ('gpu:1', 1, False), ('gpu:7', 2, False)):
        code, out, err = run(FAKES, 'run', NET, '--device', device, stand_in=f'devices={count}')
        assert (code == 0) == fits and (fits or (device in err and f'sees {count}' in err and code == 3)), (device, code, err)
    for device in ('gpu:', 'gpu:x', 'gpu:-1', 'cpu:0', 'gpux'):
        code, out, err = run(FAKES, 'run', NET, '--device', device)
        assert code == 2 and 'gpu:N' in err, (device, code, err)


@test('copies are drawn beside the lines of their values, where devices are shown')
def _():
    path = os.path.join(tempfile.mkdtemp(prefix='irscope-gpu-'), 'net.svg')
    for overlay, wanted in (('device', {'CopyToDevice', 'CopyToHost'}), ('flops', set())):
        code, out, err = run(FAKES, 'render', NET, '--overlay', overlay, '--device', 'gpu', '-o', path)
        with open(path) as file:
            text = file.read()
        assert code == 0 and {word for word in ('CopyToDevice', 'CopyToHost') if word in text} == wanted, (overlay, code, err)


@test('training on the device gives the losses of the CPU')
def _():
    folder = tempfile.mkdtemp(prefix='irscope-gpu-')
    model, x, labels = (os.path.join(folder, name) for name in ('net.onnxtxt', 'x.npy', 'y.npy'))
    with open(model, 'w') as file:
        file.write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[n,2] x) => (float[n,2] y) '
                   '<float[2,2] w = {0.5, -0.25, 0.125, 0.75}, float[2] b = {0, 0.1}, float[2] s = {1, 0.8}, float[2] t = {0.1, -0.1}> '
                   '{ h = Gemm (x, w, b)  l = LayerNormalization (h, s, t)  y = Add (l, h) }\n')
    npy(x, '<f4', [[i % 3, i % 5 - 2] for i in range(8)])
    npy(labels, '<i8', [i % 2 for i in range(8)])
    losses = {}
    for device in ('gpu', 'cpu'):
        code, out, err = run(FAKES, 'train', model, '--data', f'x={x}', '--target', labels, '--loss', 'cross-entropy', '--optimizer', 'adam', '--rate',
                             '0.05', '--batch', '4', '--epochs', '3', '--json', '--device', device, '-o', os.path.join(folder, device + '.onnx'), stand_in='fast')
        assert code == 0, (device, code, err)
        losses[device] = json.loads(out)['loss']
    assert 0 < losses['gpu'] < 2 and abs(losses['gpu'] - losses['cpu']) < 1e-5, losses


@test('programs that were compiled are kept, and said to be')
def _():
    folder = os.path.join(tempfile.mkdtemp(prefix='irscope-gpu-'), 'kept')
    code, out, err = run(FAKES, 'run', NET, '--device', 'gpu', cache=folder)
    assert code == 0 and len(os.listdir(folder)) == 1, (code, err)
    done = subprocess.run([PROGRAM, 'info', '--devices', '--json'], capture_output=True, text=True, timeout=60,
                          env={**os.environ, 'IRSCOPE_GPU_PATH': FAKES, 'IRSCOPE_GPU_CACHE': folder})
    kept = json.loads(done.stdout)['cache']
    size = os.path.getsize(os.path.join(folder, os.listdir(folder)[0]))
    assert kept == {'folder': folder, 'problem': None, 'programs': 1, 'bytes': size, 'most_bytes': 256 << 20}, kept
    done = subprocess.run([PROGRAM, 'info', '--devices'], capture_output=True, text=True, timeout=60,
                          env={**os.environ, 'IRSCOPE_GPU_PATH': FAKES, 'IRSCOPE_GPU_CACHE': NET + '/kept'})
    assert f'no compiled program can be kept in {NET}/kept: {NET} is no folder' in done.stdout, done
    # What fails where something is compiled does not fail now.
    code, out, err = run(FAKES, 'run', NET, '--device', 'gpu', stand_in='fail=nvrtcCompileProgram:0:6', cache=folder)
    assert code == 0, (code, err)
    code, out, err = run(FAKES, 'run', NET, '--device', 'gpu', stand_in='fail=nvrtcCompileProgram:0:6', cache='-')
    assert code == 3 and 'nvrtcCompileProgram' in err, (code, err)
    assert json_of('-')['cache']['folder'] is None


DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')


def only_driver():
    folder = tempfile.mkdtemp(prefix='irscope-gpu-')
    os.symlink(os.path.join(FAKES, 'libcuda.so.1'), os.path.join(folder, 'libcuda.so.1'))
    return folder + ':-'


def devices_of(path, model, cache):
    """By operator, where it runs, and why not on the device."""
    code, out, err = run(path, 'schedule', model, '--device', 'gpu', '--json', cache=cache)
    assert code == 0, (code, err)
    return {item['op']: (item['device'], item.get('why')) for item in json.loads(out)['items']}


# Sanitized, test-failures.c does this in one process: here LeakSanitizer's own thread ends by a signal when the program does.
@test('without NVRTC, kernels that were compiled before run, and others fall back and say why', sanitized=False)
def _():
    folder, path = tempfile.mkdtemp(prefix='irscope-gpu-'), only_driver()
    code, out, err = run(path, 'run', NET, '--device', 'gpu', cache=folder)
    assert code == 3 and 'libnvrtc' in err and 'sm_90' in err and folder in err, (code, err)
    code, out, err = run(FAKES, 'kernels', NET, '--dump', os.path.join(folder, 'dump'), '--keep', '--json', cache=folder)
    answer = json.loads(out)
    assert code == 0 and answer['kept'] == folder, (code, out, err)
    assert answer['kernels'] and all('occupancy' not in kernel for kernel in answer['kernels']), answer['kernels']  # of a stand-in
    code, out, err = run(path, 'run', NET, '--device', 'gpu', '--check', 'ref', cache=folder)
    assert code == 0 and ' 0 beyond tolerance' in out, (code, out, err)
    assert {device for device, _ in devices_of(path, NET, folder).values()} == {'gpu'}
    # Of one more operator nothing was compiled, nor for devices of another kind.
    more = os.path.join(folder, 'more.onnxtxt')
    with open(NET) as net, open(more, 'w') as file:
        file.write(net.read().replace('Sin (b)', 'Cos (b)'))
    found = devices_of(path, more, folder)
    assert {node for node, (device, _) in found.items() if device != 'gpu'} == {'Cos'} and 'NVRTC' in found['Cos'][1], found
    assert run(path, 'run', more, '--device', 'gpu', '--check', 'ref', cache=folder)[0] == 0
    for name in os.listdir(folder):
        if name.endswith('.irgpu'):
            os.remove(os.path.join(folder, name))
    assert run(FAKES, 'kernels', NET, '--dump', os.path.join(folder, 'dump'), '--keep', '--architecture', '80', cache=folder)[0] == 0
    code, out, err = run(path, 'run', NET, '--device', 'gpu', cache=folder)
    assert code == 3 and 'sm_90' in err, (code, err)


@test('nodes are placed by name, by a question and all together, and copies are made where places differ')
def _():
    def placed(*kernels):
        options = [word for kernel in kernels for word in ('--kernel', kernel)]
        code, out, err = run(FAKES, 'schedule', NET, '--device', 'gpu', *options, '--json')
        assert code == 0, (kernels, code, err)
        answer = json.loads(out)
        assert all(item['device'] == 'gpu' or 'property' in item['why'] for item in answer['items']), answer['items']
        return [item['op'] for item in answer['items'] if item['device'] != 'gpu'], len(answer.get('copies', []))

    assert placed() == ([], 2)
    assert placed('op:softmax=cpu') == (['Softmax'], 4) and placed('#2=cpu') == (['Softmax'], 4)
    assert placed('op:sin=ref', 'op:softmax=cpu') == (['Softmax', 'Sin'], 4) and len(placed('*=cpu')[0]) == 4
    code, out, err = run(FAKES, 'run', NET, '--device', 'gpu', '--kernel', 'op:softmax=cpu', '--check', 'all')
    assert code == 0 and ' 0 beyond tolerance' in out, (code, out, err)
    for wrong, words in (('op:nix=cpu', 'nothing fits'), ('op:exp=gpu', 'no such kernel'), ('cost>x=cpu', 'cost>')):
        code, out, err = run(FAKES, 'run', NET, '--device', 'gpu', '--kernel', wrong)
        assert code == 2 and out == '' and words in err, (wrong, code, out, err)


@test('--keep needs a folder of programs, and something that is compiled')
def _():
    code, out, err = run(FAKES, 'kernels', NET, '--keep')
    assert code == 2 and '--dump' in err, (code, out, err)
    code, out, err = run(FAKES, 'kernels', NET, '--dump', tempfile.mkdtemp(), '--keep', cache='-')
    assert code == 3 and 'IRSCOPE_GPU_CACHE' in err, (code, out, err)


def dump(path, *arguments):
    done = subprocess.run([PROGRAM, 'kernels', *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, 'IRSCOPE_GPU_PATH': path})
    return done.returncode, done.stdout, done.stderr


@test('kernels --dump writes the text of what nodes have, and says why of the others')
def _():
    folder = os.path.join(tempfile.mkdtemp(prefix='irscope-gpu-'), 'new')
    code, out, err = dump('-', DIGITS, '--dim', 'batch=2', '--dump', folder, '--json')
    assert code == 0, (code, err)
    answer = json.loads(out)
    schema = json.load(open(os.path.join(ROOT, 'data/schema/kernels-dump.schema.json')))
    assert not list(violations(answer, schema)), list(violations(answer, schema))
    assert answer['files'] == [os.path.join(folder, 'kernels.cu')] and 'NVRTC' in answer['not_compiled'], answer
    text = open(answer['files'][0]).read()
    launches = [launch['kernel'] for node in answer['nodes'] for launch in node['launches']]
    assert launches and all(text.count(f'IR_KERNEL ({name})') == 1 for name in launches), launches
    assert all(node['launches'] or 'reason' in node for node in answer['nodes'] if node['op'] in ('Conv', 'Gemm', 'Relu'))
    assert 'nothing was run' in dump('-', DIGITS, '--dump', folder)[1]


@test('a dump leaves nothing of an earlier one beside its text')
def _():
    folder = tempfile.mkdtemp(prefix='irscope-gpu-')
    for name in ('kernels.ptx', 'kernels.cubin', 'mine.txt'):
        open(os.path.join(folder, name), 'w').write('old')
    assert dump('-', DIGITS, '--dump', folder)[0] == 0
    assert sorted(os.listdir(folder)) == ['kernels.cu', 'mine.txt'], os.listdir(folder)
    os.mkdir(os.path.join(folder, 'kernels.ptx'))
    open(os.path.join(folder, 'kernels.ptx', 'x'), 'w').close()
    code, out, err = dump('-', DIGITS, '--dump', folder)
    assert code == 3 and out == '' and 'kernels.ptx' in err, (code, out, err)


@test('an architecture without a dump is refused')
def _():
    for arguments, said in ((['--architecture', '80'], '--dump'), (['--architecture', '-1', '--dump', '/dev/null/x'], 'sm_90')):
        code, out, err = dump('-', DIGITS, *arguments)
        assert code == 2 and out == '' and '--architecture' in err and said in err, (code, out, err)


@test('a folder that cannot be made')
def _():
    code, out, err = dump('-', DIGITS, '--dump', '/dev/null/x')
    assert code == 3 and out == '' and '/dev/null/x' in err, (code, out, err)


ONNX = '/usr/share/libonnx-testdata/data/node'


def conformance(folder, device):
    done = subprocess.run([PROGRAM, 'conformance', folder, '--device', device, '--json'], capture_output=True, text=True,
                          env={**os.environ, 'IRSCOPE_GPU_PATH': FAKES, 'IRSCOPE_GPU_CACHE': PROGRAMS, 'IRSCOPE_STAND_IN': 'fast'})
    return done.returncode, done.stdout, done.stderr


def conformance_json(folder, device):
    code, out, err = conformance(folder, device)
    assert code in (0, 1), (code, err)
    answer = json.loads(out)
    schema = json.load(open(os.path.join(ROOT, 'data/schema/conformance.schema.json')))
    assert not list(violations(answer, schema)), list(violations(answer, schema))
    return answer


@test('conformance cases run on a device, and say that it is a stand-in')
def _():
    folder = tempfile.mkdtemp(prefix='irscope-gpu-')
    if not os.path.isdir(ONNX):
        return
    for name in ('test_relu', 'test_gemm_all_attributes', 'test_unique_sorted_without_axis'):
        shutil.copytree(os.path.join(ONNX, name), os.path.join(folder, name))
    answer = conformance_json(folder, 'gpu')
    assert answer['passed'] == 3 and answer['stand_in'] and answer['nodes']['elsewhere'] == 1 and answer['cases_on_gpu'] == 2, answer
    for device, words in (('gpu:3', 'sees 1'), ('tpu', 'no such device')):
        code, out, err = conformance(folder, device)
        assert code == 3 and out == '' and words in err, (device, code, out, err)


if '--all' in sys.argv:
    cases.clear()

    @test('as many conformance cases pass on a device as on cpu')
    def _():
        if not os.path.isdir(ONNX):
            return
        there, here = conformance_json(ONNX, 'gpu'), conformance_json(ONNX, 'cpu')
        assert there['total'] == here['total'] and there['failed'] == here['failed'], (there['failed'], here['failed'])

    @test('what gpu-bundle packs runs where there is a driver and nothing else')
    def _():
        folder = tempfile.mkdtemp(prefix='irscope-gpu-')
        packed, report = os.path.join(folder, 'packed.tar.xz'), os.path.join(folder, 'report.json')
        stand_in = {'IRSCOPE_GPU_PATH': FAKES + ':-', 'IRSCOPE_STAND_IN': 'fast'}
        done = subprocess.run([os.path.join(ROOT, 'tools/gpu-bundle'), '--build', os.path.dirname(PROGRAM), '--networks', 'small,files',
                               '--architectures', '90', '-o', packed], capture_output=True, text=True, env={**os.environ, **stand_in})
        assert done.returncode == 0, done
        subprocess.run(['tar', 'xf', packed], cwd=folder, check=True)
        done = subprocess.run([os.path.join(folder, 'irscope-gpu/tools/gpu-check'), '--parts', 'right,safe', '--json', report], cwd='/', capture_output=True,
                              text=True, env={'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent', **stand_in, 'IRSCOPE_GPU_PATH': only_driver()})
        assert done.returncode == 0, done
        right = [row for row in json.load(open(report))['right'] if 'not_run' not in row]
        assert len(right) == 9 and all(row['equal'] == row['run'] > 0 and row['elsewhere'] <= 4 for row in right), right

run_tests()
