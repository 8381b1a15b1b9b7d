#!/usr/bin/python3
"""What `irscope run` gives the inputs of a graph: sizes, files, pictures and numbers; prints TAP.

    test-inputs.py IRSCOPE SOURCE_ROOT"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import traceback
import zipfile

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
WORK = tempfile.mkdtemp(prefix='irscope-inputs-')
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
tests = []


def test(name):
    def add(function):
        tests.append((name, function))
        return function
    return add


def write(name, content):
    path = os.path.join(WORK, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb' if isinstance(content, bytes) else 'w') as f:
        f.write(content)
    return path


def model(name, graph):
    return write(name + '.onnxtxt', HEAD + graph)


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def json_of(*arguments, code=0):
    found, out, err = irscope(*arguments, '--json')
    assert found == code, (found, err)
    return json.loads(out)


FIXED = model('fixed', 'g (float[b,s,128] x) => (float[16,128] y) <int64[2] to = {16,128}>\n'
                       '{ [fix] y = Reshape (x, to) }')


# -- sizes --

@test('a size that a node fixes is taken, and the run says by which node')
def _():
    run = json_of('run', FIXED)
    assert run['sizes'] == [{'name': 'b', 'size': 1, 'by': 'default'},
                            {'name': 's', 'size': 16, 'by': 'node', 'node': 'fix', 'id': 1,
                             'why': 'b*s = 16'}], run['sizes']
    assert run['outputs'][0]['shape'] == [16, 128]


@test('the other size follows from one that is given')
def _():
    assert json_of('run', FIXED, '--dim', 'b=4')['sizes'][0]['size'] == 4
    assert json_of('run', FIXED, '--dim', 's=8')['sizes'][0]['size'] == 2


@test('a size that a node does not take is refused with the one to give')
def _():
    code, out, err = irscope('run', FIXED, '--dim', 's=3')
    assert code == 3, code
    assert 'fix (Reshape) needs b*s = 16, which s = 3 does not fit.' in err, err
    assert "give --dim 's=16'" in err and 'needs 3*b' not in err, err


@test('where nodes contradict each other, both are named')
def _():
    two = model('two', 'g (float[n,s] x, float[12,3] w) => (y, z) <int64[1] to = {16}>\n'
                       '{ [one] y = Reshape (x, to) [two] z = MatMul (x, w) }')
    code, out, err = irscope('run', two)
    assert code == 1, code
    assert 'two (MatMul) needs s = 12, one (Reshape) needs n*s = 16: no sizes suit both.' in err, err


# -- data sets --

PAIR = 'g (float[n,2] a, float[2] b) => (float[n,2] y, float[n,2] z) { y = Mul (a, b) z = Add (a, b) }'


def tensor_proto(*numbers, shape):
    """A TensorProto of floats, all of whose fields are shorter than 128 bytes."""
    raw = struct.pack(f'<{len(numbers)}f', *numbers)
    return b''.join(b'\x08' + bytes([d]) for d in shape) + b'\x10\x01J' + bytes([len(raw)]) + raw


def data_set(folder, **wrong):
    path = model(folder + '/model', PAIR)
    files = {'input_0': ((1, 2, 3, 4), (2, 2)), 'input_1': ((10, 20), (2,)),
             'output_0': ((10, 40, 30, 80), (2, 2)), 'output_1': ((11, 22, 13, 24), (2, 2))}
    files.update(wrong)
    for name, (numbers, shape) in files.items():
        write(f'{folder}/test_data_set_0/{name}.pb', tensor_proto(*numbers, shape=shape))
    return path


@test('the inputs are those of a data set, and the outputs are compared with it')
def _():
    path = data_set('good')
    for name in ('0', os.path.join(WORK, 'good/test_data_set_0')):
        run = json_of('run', path, '--data-set', name)
        assert run['data_set'] == {'folder': os.path.join(WORK, 'good/test_data_set_0'), 'compared': 2,
                                   'differ': []}, run['data_set']
    assert run['sizes'] == [], run['sizes']
    assert '2 outputs are as in' in irscope('run', path, '--data-set', '0')[1]


@test('an output that differs from the data set is named, and the status says so')
def _():
    path = data_set('bad', output_1=((11, 22, 13, 25), (2, 2)))
    run = json_of('run', path, '--data-set', '0', code=1)
    assert run['data_set']['differ'] == [{'name': 'z', 'difference': 'element 3 is 24, not 25'}], run['data_set']
    path = data_set('shape', output_0=((10, 40), (1, 2)))
    run = json_of('run', path, '--data-set', '0', code=1)
    assert [d['name'] for d in run['data_set']['differ']] == ['y'], run['data_set']


@test('a folder without inputs is no data set')
def _():
    code, out, err = irscope('run', data_set('none'), '--data-set', WORK)
    assert code == 2 or code == 3, code
    assert 'has no input_0.pb' in err, err


# -- .npz --

def npy(*numbers, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header.encode() + struct.pack(f'<{len(numbers)}f', *numbers)


def npz(name, how, **arrays):
    path = os.path.join(WORK, name)
    with zipfile.ZipFile(path, 'w', how) as archive:
        for key, content in arrays.items():
            archive.writestr(key + '.npy', content)
    return path


ARRAYS = {'b': npy(10, 20, shape=[2]), 'a': npy(1, 2, 3, 4, shape=[2, 2]), 'c': npy(5, 6, shape=[2])}


def outputs_of(path, *arguments):
    """The numbers of each output."""
    folder = tempfile.mkdtemp(dir=WORK)
    run, found = json_of('run', path, '-o', folder, *arguments), []
    for output in run['outputs']:
        with open(output['file'], 'rb') as f:
            content = f.read()
        data = content[10 + struct.unpack('<H', content[8:10])[0]:]
        found.append(list(struct.unpack(f'<{len(data) // 4}f', data)))
    return found


@test('arrays of a .npz file go to the inputs of their names')
def _():
    path = model('pair', PAIR)
    for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        found = outputs_of(path, '--input', npz('arrays.npz', how, **ARRAYS))
        assert found == [[10, 40, 30, 80], [11, 22, 13, 24]], found


@test('an input takes one array of a .npz file')
def _():
    path, file = model('pair', PAIR), npz('arrays.npz', zipfile.ZIP_DEFLATED, **ARRAYS)
    found = outputs_of(path, '--input', f'a={file}', '--input', f'b={file}:c')
    assert found == [[5, 12, 15, 24], [6, 8, 8, 10]], found
    code, out, err = irscope('run', path, '--input', f'b={file}:nonsense')
    assert code == 2 and "has no array 'nonsense'; it has b, a, c" in err, err


@test('a damaged .npz file is refused with what is wrong')
def _():
    path, file = model('pair', PAIR), npz('arrays.npz', zipfile.ZIP_DEFLATED, **ARRAYS)
    with open(file, 'rb') as f:
        whole = f.read()
    data = whole.index(b'a.npy') + 10
    for name, content, text in (('cut', whole[:-30], 'is no zip archive'),
                                ('flip', whole[:data] + bytes([whole[data] ^ 0x55]) + whole[data + 1:], 'is damaged'),
                                ('empty', b'', 'is no zip archive')):
        code, out, err = irscope('run', path, '--input', 'a=' + write(name + '.npz', content))
        assert code not in (0, 1) and code > 0 and text in err, (name, code, err)


# -- numbers --

@test('an input is given as numbers, one for each element or one for all')
def _():
    path = model('pair', PAIR)
    assert outputs_of(path, '--value', 'a=1,2,3,4,5,6', '--value', 'b=10,-2.5') == [
        [10, -5, 30, -10, 50, -15], [11, -0.5, 13, 1.5, 15, 3.5]]
    assert outputs_of(path, '--value', 'a=2', '--value', 'b=3', '--dim', 'n=3')[0] == [6] * 6


@test('numbers that do not fit are refused')
def _():
    path = model('typed', PAIR.replace('float[2] b)', 'float[2] b, uint8[1] u)').replace('=> (', '=> (v, ').replace(
        '{ y', '{ v = Identity (u) y'))
    for given, text in (('b=1,2,3', '3 numbers do not fit float[2]'), ('a=1,2,3', '3 numbers do not fit'),
                        ('b=1,x', "found 'x'"), ('u=256', "type uint8 with commas between, found '256'"), ('q=1', "no input 'q'")):
        code, out, err = irscope('run', path, '--value', given)
        assert code == 2 and text in err, (given, code, err)


print(f'1..{len(tests)}')
failures = 0
for number, (name, function) in enumerate(tests, 1):
    try:
        function()
        print('ok', number, '-', name)
    except Exception:
        failures += 1
        print('not ok', number, '-', name)
        print('\n'.join('# ' + line for line in traceback.format_exc().splitlines()))
sys.exit(failures > 0)
