#!/usr/bin/python3
"""What `irscope run` gives the inputs of a graph: sizes, files, pictures and numbers; prints TAP.

    test-inputs.py IRSCOPE SOURCE_ROOT"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

from tap import run_tests, test

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
WORK = tempfile.mkdtemp(prefix='irscope-inputs-')
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


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


# -- pictures --

def png(name, width, height, pixel):
    """An RGB picture; pixel (x, y) gives three bytes."""
    rows = b''.join(b'\0' + b''.join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))

    def chunk(kind, content):
        return struct.pack('>I', len(content)) + kind + content + struct.pack('>I', zlib.crc32(kind + content))

    return write(name, b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>2I5B', width, height, 8, 2, 0, 0, 0)) +
                 chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def seen(shape, picture, *more, dtype='float'):
    """What an input of that type gets."""
    path = model('seen', f'g ({dtype}[{shape}] x) => ({dtype}[{shape}] y) {{ y = Identity (x) }}')
    folder = tempfile.mkdtemp(dir=WORK)
    run = json_of('run', path, '-o', folder, '--image', f'x={picture}', *more)
    with open(run['outputs'][0]['file'], 'rb') as f:
        content = f.read()
    data = content[10 + struct.unpack('<H', content[8:10])[0]:]
    kind = {'float': 'f', 'uint8': 'B'}[dtype]
    return run['outputs'][0]['shape'], list(struct.unpack(f'<{len(data) // struct.calcsize(kind)}{kind}', data))


def close(found, wanted, by=1e-5):
    return len(found) == len(wanted) and all(abs(a - b) <= by for a, b in zip(found, wanted))


@test('a picture is read into the channels of the input, first or last, and in either order')
def _():
    picture = png('two.png', 2, 1, lambda x, y: (10 + x, 20 + x, 30 + x))
    assert seen('1,3,1,2', picture, dtype='uint8') == ([1, 3, 1, 2], [10, 11, 20, 21, 30, 31])
    assert seen('1,1,2,3', picture, dtype='uint8') == ([1, 1, 2, 3], [10, 20, 30, 11, 21, 31])
    assert seen('3,1,2', picture, dtype='uint8')[1] == [10, 11, 20, 21, 30, 31]
    assert seen('1,3,1,2', picture + ',channels=bgr', dtype='uint8')[1] == [30, 31, 20, 21, 10, 11]
    assert seen('2,1,1,2', picture, dtype='uint8')[1] == [18, 19, 18, 19], 'gray, once for each of the batch'
    assert seen('1,2', picture + ',invert=yes', dtype='uint8')[1] == [237, 236]
    assert seen('1,3,3,3', png('nine.png', 3, 3, lambda x, y: (x, y, 7)) + ',layout=nhwc', dtype='uint8')[1][:6] == [0, 0, 7, 1, 0, 7]


@test('a picture is normalized as a preset says, or as one says oneself')
def _():
    picture = png('one.png', 1, 1, lambda x, y: (255, 0, 51))
    mean, std, pixel = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), (1, 0, 0.2)
    imagenet = [(p - m) / s for p, m, s in zip(pixel, mean, std)]
    assert close(seen('1,3,1,1', picture)[1], imagenet), 'what is usual for such an input'
    assert close(seen('1,3,1,1', picture + ',preset=imagenet')[1], imagenet)
    assert close(seen('1,3,1,1', picture + ',preset=unit')[1], pixel)
    assert close(seen('1,3,1,1', picture + ',preset=signed')[1], [1, -1, -0.6])
    assert close(seen('1,3,1,1', picture + ',preset=bytes')[1], [255, 0, 51])
    assert close(seen('1,3,1,1', picture + ',preset=caffe')[1], [51 - 103.939, -116.779, 255 - 123.68], 1e-4)
    assert close(seen('1,3,1,1', picture + ',mean=1:0:0,preset=unit,std=2')[1], [0, 0, 0.1]), 'settings refine the preset'
    assert close(seen('1,3,1,1', picture + ',scale=2,preset=unit')[1], [510, 0, 102])


@test('a picture is cropped, squeezed or framed to the size of the input')
def _():
    wide = png('wide.png', 8, 4, lambda x, y: (x * 10,) * 3)
    assert seen('1,1,4,4', wide + ',preset=bytes')[1][:4] == [20, 30, 40, 50], 'the middle'
    assert close(seen('1,1,4,4', wide + ',preset=bytes,fit=stretch')[1][1:3], [25, 45], 1e-3), 'means of neighbours'
    framed = seen('1,1,8,8', wide + ',preset=bytes,fit=pad,pad=7')[1]
    assert framed[:16] == [7] * 16 and framed[16:24] == [x * 10 for x in range(8)] and framed[48:] == [7] * 16, framed
    ramp = png('ramp.png', 16, 16, lambda x, y: (x * 10,) * 3)
    assert close(seen('1,1,8,8', ramp + ',preset=bytes,crop=0.5')[1][:8], [40, 50, 60, 70, 80, 90, 100, 110], 1e-3)


@test('sizes that an input leaves open are asked for, or those of the picture')
def _():
    picture = png('five.png', 5, 3, lambda x, y: (x, y, 0))
    assert seen('n,3,h,w', picture)[0] == [1, 3, 3, 5]
    assert seen('n,3,h,w', picture, '--dim', 'n=2', '--dim', 'h=6')[0] == [2, 3, 6, 5]
    assert seen('n,3,h,w', picture + ',size=10x4')[0] == [1, 3, 4, 10]
    assert seen('n,h,w,3', picture)[0] == [1, 3, 5, 3]


@test('a picture that cannot be, or a setting that means nothing, is refused')
def _():
    picture, path = png('five.png', 5, 3, lambda x, y: (x, y, 0)), model('images', 'g (float[1,3,8,8] x, float[2] v, float[1,5,4,4] m) => '
                    '(y, z, u) { y = Identity (x) z = Identity (v) u = Identity (m) }')
    for given, text in ((f'x={picture},fit=round', 'fit=round: needs crop, stretch or pad'),
                        (f'x={picture},preset=nothing', 'preset=nothing: is none of imagenet, unit'),
                        (f'x={picture},gamma=2', 'gamma=: is no setting of pictures; there are preset'),
                        (f'x={picture},std=0', 'std=0: needs numbers above 0'),
                        (f'x={picture},std=1:2', 'std=1:2: needs numbers above 0, one or three'),
                        (f'x={picture},size=9x8', 'input x takes pictures that are 8 wide'),
                        (f'v={picture}', 'a picture needs a tensor of numbers with 2 to 4 dimensions'),
                        (f'm={picture}', '5 channels; a picture has 1 or 3'),
                        (f'x={WORK}/none.png,fit=pad', "there is no file '"),
                        ('x=' + write('text.png', 'hello'), 'is no picture that can be read'),
                        (f'q={picture}', "no input 'q'")):
        code, out, err = irscope('run', path, '--image', given)
        assert code == 2 and text in err, (given, code, err)


@test('names and paths may have the signs of settings')
def _():
    picture = png('a,b=c.png', 1, 1, lambda x, y: (9, 9, 9))
    assert seen('1,1,1,1', picture, dtype='uint8')[1] == [9]
    assert seen('1,1,1,1', picture + ',invert=yes', dtype='uint8')[1] == [246]


# -- distributions --

def filled(shape, fill, *more):
    path = model('filled', f'g (float[{shape}] x) => (float[{shape}] y) {{ y = Identity (x) }}')
    return outputs_of(path, '--fill', f'x={fill}', *more)[0]


@test('an input is filled by the distribution that is asked for')
def _():
    assert filled('3', 'zeros') == [0] * 3 and filled('2', 'constant,value=2.5') == [2.5] * 2
    uniform = filled('4000', 'uniform,low=-3,high=5')
    assert min(uniform) >= -3 and max(uniform) <= 5 and abs(sum(uniform) / 4000 - 1) < 0.2, sum(uniform)
    normal = filled('4000', 'normal,mean=10,std=2')
    mean = sum(normal) / 4000
    assert abs(mean - 10) < 0.2 and abs((sum((x - mean) ** 2 for x in normal) / 4000) ** 0.5 - 2) < 0.2
    assert filled('5', 'normal,seed=3') == filled('5', 'normal,seed=3', '--random', '8') != filled('5', 'normal,seed=4')
    assert filled('n', 'ones', '--dim', 'n=7') == [1] * 7


@test('complex inputs are drawn and filled part by part')
def _():
    for dtype in ('complex64', 'complex128'):
        path = model('complex', f'g ({dtype}[2,50] x) => ({dtype}[2,50] y) {{ y = Identity (x) }}')
        for fill, low, high in (((), -6, 6), (('--fill', 'x=uniform,low=2,high=3'), 2, 3)):
            out = irscope('tensor', path, 'y', *fill)[1]
            parts = [(float(real), float(imaginary)) for real, imaginary in re.findall(r'(-?[\d.]+)([-+][\d.]+)j', out)]
            assert parts and all(low <= part <= high for pair in parts for part in pair), (dtype, fill, out)
            assert len({part for pair in parts for part in pair}) == 2 * len(parts), out


@test('a distribution that means nothing is refused')
def _():
    path = model('fills', 'g (float[2] x, uint8[2] u, string[2] s) => (y, v, w) { y = Identity (x) v = Identity (u) w = Identity (s) }')
    for given, text in (('x=gauss', "'gauss': needs suitable, normal, uniform"), ('x=normal,low=1', 'needs mean=X, std=X or seed=N'),
                        ('x=uniform,low=2', 'needs low not above high'), ('x=normal,std=-1', 'deviation that is not negative'),
                        ('x=normal,mean=a', 'needs a number'), ('u=constant,value=300', 'which cannot hold all numbers'),
                        ('s=zeros', 'which numbers cannot fill'), ('q=ones', "no input 'q'")):
        code, out, err = irscope('run', path, '--fill', given)
        assert code in (2, 3) and text in err, (given, code, err)


@test('what is wrong with a graph is said once when inputs are given, too')
def _():
    path = model('mismatch', 'g (float[2] x, float[3] z) => (y) { y = Add (x, z) }')
    err = irscope('run', path, '--value', 'x=1', '--value', 'z=2')[2].splitlines()
    assert err and len(err) == len(set(err)), err
    assert sum(line.startswith('error: ') for line in err) == 1, err


run_tests()
