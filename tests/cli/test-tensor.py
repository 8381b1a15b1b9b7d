#!/usr/bin/python3
"""What `irscope tensor` says of contents: where the least, the largest and the first NaN lie, how they differ from
others in all numbers, what is found in them, their histograms and pictures; prints TAP.

    test-tensor.py IRSCOPE SOURCE_ROOT"""

import json
import math
import os
import struct
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-tensor-')


def path(name):
    return os.path.join(WORK, name)


def tensor(*args, status=0):
    done = subprocess.run([PROGRAM, 'tensor', *args], capture_output=True, text=True, timeout=100)
    assert done.returncode == status, (args, done.returncode, done.stdout[:500], done.stderr)
    return done


def answer(*args, status=0):
    return json.loads(tensor(*args, '--json', status=status).stdout)


def npy(name, values, *shape):
    """float32"""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    with open(path(name), 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode())
        file.write(struct.pack(f'<{len(values)}f', *values))
    return path(name)


with open(path('graph.onnxtxt'), 'w', encoding='utf-8') as f:
    f.write('<ir_version: 8, opset_import: ["" : 17]>\n'
            'g (float[2,3] x, float[1,3,2,2] i, string[2] s) => (float[2,3] y, float[1,3,2,2] j, string[2] t, string[2] u) {\n'
            ' y = Identity (x)\n j = Identity (i)\n t = Identity (s)\n u = Constant <value_strings = ["a,b", "c;d"]> ()\n'
            ' v = Constant <value = float[0,3] {}> ()\n w = Constant <value_ints = [1, 2]> ()\n'
            ' k = Constant <value_ints = [1, 4]> ()\n c = Constant <value_ints = [0, 0]> ()\n}')
GRAPH = path('graph.onnxtxt')
A, B = [1.0, -4.0, 0.0, 2.0, 3.0, 0.5], [1.0, -4.5, 0.0, 2.0, 3.25, 0.5]
X = ('--value', 'x=1,-4,0,2,3,0.5')
IMAGE = ('--value', 'i=0,1,2,3,4,5,6,7,8,9,10,11')


@test('least, largest, first NaN and first infinity have places')
def _():
    found = answer(GRAPH, 'y', *X)
    assert (found['min_at'], found['max_at']) == ([0, 1], [1, 1]) and 'nan_at' not in found, found
    found = answer(GRAPH, 'y', '--value', 'x=1,nan,nan,-inf,2,0')
    assert (found['min_at'], found['max_at'], found['nan_at'], found['inf_at']) == ([1, 2], [1, 1], [0, 1], [1, 0]), found
    found = answer(GRAPH, 'y', '--value', 'x=nan,nan,nan,nan,nan,nan')
    assert 'min_at' not in found and found['nan_at'] == [0, 0], found
    text = tensor(GRAPH, 'y', '--value', 'x=nan,nan,nan,nan,nan,inf').stdout
    assert 'no finite element' in text and 'min' not in text, text
    text = tensor(GRAPH, 'v').stdout
    assert 'no finite element' in text and 'min' not in text, text
    assert 'least at [0, 1]  largest at [1, 1]' in tensor(GRAPH, 'y', *X).stdout


@test('differences are told in all numbers, as they are computed here once more')
def _():
    found = answer(GRAPH, 'y', *X, '--against', npy('b.npy', B, 2, 3), status=1)['difference']
    d = [a - b for a, b in zip(A, B)]  # the file is what it is held against
    expected = {'max_abs': 0.5, 'mean_abs': 0.75 / 6, 'rms': math.sqrt(sum(x * x for x in d) / 6),
                'max_rel': 0.5 / 4.5, 'tolerance': max(abs(x) / (1 + abs(b)) for x, b in zip(d, B)),
                'cosine': sum(a * b for a, b in zip(A, B)) / math.sqrt(sum(a * a for a in A) * sum(b * b for b in B)),
                'snr_db': 10 * math.log10(sum(b * b for b in B) / sum(x * x for x in d)),
                'psnr_db': 10 * math.log10((3.25 + 4.5) ** 2 * 6 / sum(x * x for x in d))}
    for key, value in expected.items():
        assert abs(found[key] - value) <= 1e-12 * max(1, abs(value)), (key, found[key], value)
    assert (found['different'], found['first_at'], found['worst_at']) == (2, [0, 1], [0, 1]), found
    assert found['ulp'] == struct.unpack('<i', struct.pack('<f', 4.5))[0] - struct.unpack('<i', struct.pack('<f', 4.0))[0]
    text = tensor(GRAPH, 'y', *X, '--against', path('b.npy'), status=1).stdout
    assert '2 of 6 elements differ' in text and 'least tolerance that would pass' in text, text
    assert 'max abs 0.5 at [0, 1]' in text and 'ULP' in text, text
    text = tensor(GRAPH, 'w', '--against', 'k', status=1).stdout  # integers have no units in the last place
    assert '1 of 2 elements differ' in text and 'ULP' not in text and 'PSNR' in text, text
    text = tensor(GRAPH, 'w', '--against', 'c', status=1).stdout  # what is constant has no range
    assert '2 of 2 elements differ' in text and 'nan' not in text and 'cosine' not in text, text


@test('what is NaN or infinite on one side only is no small difference; on both sides it is none')
def _():
    found = answer(GRAPH, 'y', '--value', 'x=1,nan,inf,2,3,0.5', '--against', npy('n.npy', [1, math.nan, 0, 2, 3, 0.5], 2, 3),
                   status=1)['difference']
    assert (found['different'], found['non_finite'], found['worst_at']) == (1, 1, [0, 2]), found
    assert found['tolerance'] in ('Infinity', 'inf') and found['max_abs'] == 0, found
    text = tensor(GRAPH, 'y', '--value', 'x=1,nan,inf,2,3,0.5', '--against', path('n.npy'), status=1).stdout
    assert 'max abs 0  ' in text and 'on one side only: 1, first at [0, 2]' in text, text
    same = answer(GRAPH, 'y', '--value', 'x=1,nan,inf,2,3,0.5', '--against',
                  npy('m.npy', [1, math.nan, math.inf, 2, 3, 0.5], 2, 3))['difference']
    assert same['different'] == 0 and 'first_at' not in same, same


@test('against another step, the reference kernels, and another value')
def _():
    name = '/bn1/BatchNormalization_output_0'
    steps = json.loads(subprocess.run([PROGRAM, 'tensor', DIGITS, 'probabilities', '--pipeline', 'default', '--against', '@0',
                                       '--json'], capture_output=True, text=True).stdout)['difference']
    assert steps['max_abs'] < 1e-4 and steps['elements'] == 10, steps
    ref = subprocess.run([PROGRAM, 'tensor', DIGITS, name, '--against', 'ref', '--json'], capture_output=True, text=True)
    assert json.loads(ref.stdout)['difference']['max_abs'] < 1e-4, ref
    relu = answer(DIGITS, '/relu1/Relu_output_0', '--against', name, status=1)['difference']
    assert relu['different'] > 100 and relu['max_abs'] > 0.1, relu
    # of another name, at another step; of a session too, whose model is not what it has at step 0
    before = answer(DIGITS + '@0', '/relu1/Relu_output_0')
    other = answer(DIGITS + '@2', '/relu1/Relu_output_0', '--pipeline', 'default', '--against', f'@0:{name}', status=1)
    assert other['difference']['max_abs'] == relu['max_abs'] and other['max'] == before['max'], other
    session = path('s.json')
    subprocess.run([PROGRAM, 'session', DIGITS, '--do', 'insert Sigmoid image', '-o', session], check=True, stdout=subprocess.DEVNULL)
    edited = answer('--session', session, name, '--against', '@0', status=1)['difference']
    assert edited['max_abs'] > 0.1, edited
    assert answer('--session', session, name, '--against', '@1')['difference']['different'] == 0
    for wrong in ('@x', '@1000000', '@0:absent'):
        assert '--against' in tensor(DIGITS, name, '--pipeline', 'default', '--against', wrong, status=2).stderr, wrong


@test('both sides and their difference are a table in a file')
def _():
    done = tensor(GRAPH, 'y', *X, '--against', npy('b.npy', B, 2, 3), '--out', path('both.csv'), status=1)
    rows = [line.split(',') for line in open(path('both.csv'), encoding='utf-8').read().splitlines()]
    assert rows[0] == ['axis_0', 'axis_1', 'before', 'after', 'difference'], (rows, done)
    assert [list(map(float, row)) for row in rows[1:]] == [[i // 3, i % 3, b, a, a - b] for i, (a, b) in enumerate(zip(A, B))], rows
    scalar = path('scalar.onnxtxt')
    with open(scalar, 'w', encoding='utf-8') as f:
        f.write('<ir_version: 8, opset_import: ["" : 17]>\ng (float x) => (float y) {\n y = Neg (x)\n}')
    tensor(scalar, 'y', '--value', 'x=2', '--against', 'x', '--out', path('scalar.csv'), status=1)
    assert open(path('scalar.csv'), encoding='utf-8').read() == 'before,after,difference\n2,-2,-4\n'


@test('elements are found by value and by condition')
def _():
    for condition, places in (('>=2', [[1, 0], [1, 1]]), ('-4', [[0, 1]]), ('abs>2.5', [[0, 1], [1, 1]]), ('nan', []),
                              ('!=0', [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]), ('0', [[0, 2]]), ('<0', [[0, 1]])):
        found = answer(GRAPH, 'y', *X, '--find', condition)
        assert [f['at'] for f in found['found']] == places and found['n_found'] == len(places), (condition, found)
    few = answer(GRAPH, 'y', *X, '--find', '!=0', '--values', '2')
    assert len(few['found']) == 2 and few['n_found'] == 5, few
    assert '[0, 1] = -4' in tensor(GRAPH, 'y', *X, '--find', '<0').stdout


@test('histograms are linear, logarithmic or symmetric, and count every finite element')
def _():
    log = answer(GRAPH, 'y', '--value', 'x=0.001,-0.01,0,100,1,nan', '--histogram', 'log')['histogram']
    assert (round(log['low'], 5), log['high'], log['zeros'], sum(log['counts'])) == (-3, 2, 1, 4), log
    both = answer(GRAPH, 'y', *X, '--histogram', 'symmetric')['histogram']
    assert (both['low'], both['high'], sum(both['counts'])) == (-4, 4, 6), both
    assert answer(GRAPH, 'y', *X)['histogram']['low'] == -4
    assert '0.001 ' in tensor(GRAPH, 'y', '--value', 'x=0.001,-0.01,0,100,1,1', '--histogram', 'log').stdout


@test('CSV has a line for each row')
def _():
    tensor(GRAPH, 'y', *X, '-o', path('y.csv'))
    assert open(path('y.csv')).read() == '1,-4,0\n2,3,0.5\n'
    tensor(GRAPH, 'u', '-o', path('u.csv'))
    assert open(path('u.csv')).read() == '"a,b",c;d\n', open(path('u.csv')).read()


def picture(name, *args):
    tensor(GRAPH, name, *X, *IMAGE, '--picture', path('p.svg'), *args)
    text = open(path('p.svg'), encoding='utf-8').read()
    return [line for line in text.splitlines() if line.startswith('<rect')][1:], text


@test('a picture is of one plane, of all beside each other, or an image; its bytes are the same each time')
def _():
    rects, text = picture('y')
    assert picture('y')[1] == text and '>-4<' in text and '>4<' in text
    assert len([r for r in rects if 'y="0"' in r or 'y="86"' in r]) >= 5, rects
    one_sided, text = picture('j', '--as', 'tiles')
    assert '>0<' in text and '>11<' in text, text  # no element is negative
    assert '>-11<' in picture('j', '--as', 'tiles', '--colours', 'diverging')[1]
    image = picture('j', '--as', 'image')[0]
    assert [r.split('fill=')[1] for r in image] == ['"#005db9"/>', '"#1774d1"/>', '"#2e8be8"/>', '"#46a2ff"/>'], image
    assert picture('j', '--axes', '0,2,r,c')[1] != picture('j', '--axes', '0,0,r,c')[1]
    assert len(picture('j', '--axes', '0,c,r,1')[0]) > 5
    fills = [r.split('fill=')[1] for r in rects[:6]]  # a part of the rows and columns, in the colours of all
    for axes, shown in (('r1:2,c1:3', fills[4:6]), ('r,c2:', [fills[2], fills[5]]), ('r:1,c', fills[:3])):
        assert [r.split('fill=')[1] for r in picture('y', '--axes', axes)[0]][:len(shown)] == shown, axes
    tensor(GRAPH, 'j', *IMAGE, '--as', 'tiles', '--picture', path('p.png'))
    assert open(path('p.png'), 'rb').read(8) == b'\x89PNG\r\n\x1a\n'


@test('render draws what tensor says: of an iteration too, and of what a pipeline took away')
def _():
    def histogram(model, name, *args, status=0):
        done = subprocess.run([PROGRAM, 'render', model, '--view', 'tensor', '--tensor', name, '-o', path('h.svg'), *args], capture_output=True, text=True)
        assert done.returncode == status, (name, done)
        return open(path('h.svg'), encoding='utf-8').read() if status == 0 else done.stderr
    newton = os.path.join(ROOT, 'data/examples/while-newton.onnxtxt')
    for i in (3, 40):
        name = f'loop@{i}/better'
        assert f'>{name}: min {answer(newton, name)["min"]:.6g}, ' in histogram(newton, name), name
    gone = '/bn1/BatchNormalization_output_0'
    assert f'>{gone}: min {answer(DIGITS, gone, "-p", "default")["min"]:.6g}, ' in histogram(DIGITS, gone, '-p', 'default')
    assert 'iteration is missing' in histogram(newton, 'loop/better', status=2)


@test('vectors are lines; two values are two lines, or one over the other')
def _():
    def chart(*args, status=0):
        tensor(GRAPH, 'y', *X, '--picture', path('c.svg'), *args, status=status)
        return open(path('c.svg'), encoding='utf-8').read()
    line = chart('--as', 'line', '--axes', '0,c')
    assert line == chart('--as', 'line', '--axes', '0,c') and line.count('<g id="e') > 5 and '>[0, :]<' in line, line
    both = chart('--as', 'line', '--against', path('b.npy'), status=1)
    assert '>value<' in both and '>against<' in both, both
    scatter = chart('--as', 'scatter', '--against', path('b.npy'), status=1)
    assert scatter.count('where x is') == 6 and 'value over against' in scatter, scatter
    tensor(DIGITS, 'probabilities', '--picture', path('v.svg'))
    vector = open(path('v.svg'), encoding='utf-8').read()
    assert vector.count('9: ') == 1 and 'NaN' not in vector, vector


@test('numbers are written in all formats')
def _():
    def listed(kind, *more):
        return tensor(GRAPH, 'y', *X, '--format', kind, *more).stdout.split('\n  [')[1:]
    for kind, first, second in (('exact', '1', '-4'), ('short', '1', '-4'), ('fixed', '1.000000', '-4.000000'),
                                ('scientific', '1.00000000e+00', '-4.00000000e+00'), ('bits', '0x3f800000', '0xc0800000')):
        lines = listed(kind)
        assert (lines[0], lines[1]) == (f'0, 0] = {first}', f'0, 1] = {second}') and len(lines) == 6, (kind, lines)
    assert listed('bits', '--find', '-4') == ['0, 1] = 0xc0800000\n1 element is -4\n']
    assert '  and 4 more' in tensor(GRAPH, 'y', *X, '--format', 'short', '--values', '2').stdout
    with open(path('types.onnxtxt'), 'w', encoding='utf-8') as file:
        file.write('<ir_version: 13, opset_import: ["" : 26]>\n'
                   'g (float[3] x) => (float16[3] h, bfloat16[3] b, double[3] d, int64[3] i, uint4[3] u, bool[3] t) {\n'
                   ' h = Cast <to = 10> (x)\n b = Cast <to = 16> (x)\n d = Cast <to = 11> (x)\n i = Cast <to = 7> (x)\n'
                   ' u = Cast <to = 21> (x)\n t = Cast <to = 9> (x)\n}')
    for name, bits in (('h', '0x4500'), ('b', '0x40a0'), ('d', '0x4014000000000000'), ('i', '0x0000000000000005'),
                       ('u', '0x5'), ('t', '0x01')):
        text = tensor(path('types.onnxtxt'), name, '--value', 'x=0,5,2', '--format', 'bits').stdout
        assert f'\n  [1] = {bits}\n' in text, (name, text)
    text = tensor(path('types.onnxtxt'), 'h', '--value', 'x=nan,-inf,70000', '--format', 'fixed').stdout
    assert text.endswith('[0] = NaN\n  [1] = -Inf\n  [2] = Inf\n'), text
    assert '  [0] = a,b\n' in tensor(GRAPH, 'u', '--format', 'bits').stdout


@test('what cannot be drawn, searched or compared says what it needs')
def _():
    for args, words in ((('y', *X, '--histogram', 'round'), 'linear, log'), (('y', *X, '--format', 'octal'), 'scientific'), (('y', *X, '--find', 'six'), '>6'),
                        (('y', *X, '--picture', path('p.gif')), '.svg or .png'), (('y', *X, '--as', 'heat'), '--picture'),
                        (('y', *X, '--picture', path('q.svg'), '--as', 'image'), 'channels'),
                        (('y', *X, '--picture', path('q.svg'), '--axes', 'r'), '2 axes'),
                        (('y', *X, '--picture', path('q.svg'), '--axes', 'r,9'), 'from 0 to 2'),
                        (('y', *X, '--picture', path('q.svg'), '--axes', 'r,r'), 'two axes'),
                        *((('y', *X, '--picture', path('q.svg'), '--axes', part + ',c'), 'as 0:2') for part in ('r2:3', 'r1:1', 'rx', 'r0:9', 'r1', 'r-1:')),
                        (('y', *X, '--picture', path('q.svg'), '--colours', 'pink'), 'diverging'),
                        (('y', *X, '--picture', path('q.svg'), '--as', 'scatter'), '--against'),
                        (('y', *X, '--picture', path('q.svg'), '--as', 'line', '--axes', 'r,c'), 'one axis'),
                        (('u', '--find', '3'), 'no numbers'), (('y', *X, '--against', 'nobody'), 'nobody'),
                        (('y', *X, '--against', 'j'), 'same shape')):
        done = subprocess.run([PROGRAM, 'tensor', GRAPH, *args], capture_output=True, text=True)
        assert done.returncode == 2 and words in done.stderr, (args, done.returncode, done.stderr)
    assert not os.path.exists(path('q.svg'))


run_tests()
