#!/usr/bin/python3
"""Types that a file declares and that are wrong: no rewrite relies on them, a run gives what it gives
without them and says where they were wrong; prints TAP.

    test-claims.py IRSCOPE"""

import json
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
WORK = tempfile.mkdtemp(prefix='irscope-claims-')
HEAD = '<ir_version: 8, opset_import: ["" : 17, "other" : 1]>\n'
FORMATS = {'<f4': 'f', '<i8': 'q', '|b1': '?'}

# name, graph, inputs: (dtype, shape, contents), wrong claims: value, declared, found
CASES = [
    ('a Slice of unknown length',
     '''g (float[6,2,1] x, int64[1] n) => (float[1,1,2] z)
        <int64[1] s = {0}, int64[1] ax = {0}, float[1,2,1] y> {
          y = Slice (x, s, n, ax)  z = Transpose <perm = [0, 2, 1]> (y) }''',
     {'x': ('<f4', [6, 2, 1], range(12)), 'n': ('<i8', [1], [6])},
     [('y', 'float[1,2,1]', 'float[6,2,1]'), ('z', 'float[1,1,2]', 'float[6,1,2]')]),
    ('an output alone',
     '''g (float[6,2,1] x, int64[1] n) => (float[1,1,2] z)
        <int64[1] s = {0}, int64[1] ax = {0}> {
          y = Slice (x, s, n, ax)  z = Transpose <perm = [2, 0, 1]> (y) }''',
     {'x': ('<f4', [6, 2, 1], range(12)), 'n': ('<i8', [1], [6])},
     [('z', 'float[1,1,2]', 'float[1,6,2]')]),
    ('how many elements are not zero',
     '''g (float[4] x) => (int64[k,1] z) <int64[1,1] y> {
          y = NonZero (x)  z = Transpose <perm = [1, 0]> (y) }''',
     {'x': ('<f4', [4], [1, 0, 2, 3])}, [('y', 'int64[1,1]', 'int64[1,3]')]),
    ('a rank',
     '''g (float[2,3] x, int64[m] s) => (float[2,3] z) <float[2,3] y, int64[2] c = {2, 3}> {
          y = Reshape (x, s)  z = Reshape (y, c) }''',
     {'x': ('<f4', [2, 3], range(6)), 's': ('<i8', [1], [6])}, [('y', 'float[2,3]', 'float[6]')]),
    ('two sizes of one symbol',
     '''g (float[4] x, float[4] w) => (int64[1,m] z) <int64[1,m] a, int64[1,m] b> {
          a = NonZero (x)  b = NonZero (w)  s = Shape (a)  e = Expand (b, s)  z = Identity (e) }''',
     {'x': ('<f4', [4], [1, 0, 2, 3]), 'w': ('<f4', [4], [0, 5, 0, 0])},
     [('b', 'int64[1,m]', 'int64[1,1]')]),
    ('an input whose initializer has another shape',
     '''g (float[1] a, float[2,3] w) => (y) <float[6] w = {0, 1, 2, 3, 4, 5}, int64[2] c = {2, 3}> {
          r = Reshape (w, c)  y = Add (a, r) }''',
     {'a': ('<f4', [1], [1])}, []),
    ('an input whose initializer has another shape, which is given as it is declared',
     '''g (float[1] a, float[2,3] w) => (y) <float[6] w = {0, 1, 2, 3, 4, 5}, int64[1] c = {6}> {
          r = Reshape (w, c)  y = Add (a, r) }''',
     {'a': ('<f4', [1], [1]), 'w': ('<f4', [2, 3], range(6))}, []),
    ('an input whose initializer is of another type',
     '''g (float[6] a, int64[6] w) => (y) <float[6] w = {0, 1, 2, 3, 4, 5}> {
          f = Cast <to = 1> (w)  y = Add (a, f) }''',
     {'a': ('<f4', [6], range(6)), 'w': ('<i8', [6], range(6))}, []),
    ('a value in a branch',
     '''g (float[4,2] x, bool c) => (int64[a,b] z) {
          z = If (c) <
            then_branch = t () => (int64[1,2] o) <int64[2,1] y> {
              y = NonZero (x)  o = Transpose <perm = [1, 0]> (y) },
            else_branch = e () => (int64[1,2] p) <int64[2,1] q> {
              r = Neg (x)  q = NonZero (r)  p = Transpose <perm = [1, 0]> (q) }> }''',
     {'x': ('<f4', [4, 2], [1, 0, 2, 3, 0, 0, 4, 0]), 'c': ('|b1', [], [True])},
     [('y', 'int64[2,1]', 'int64[2,4]'), ('o', 'int64[1,2]', 'int64[4,2]')]),
    ('what a loop carries',
     '''g (float[1,2] x, float[2,1] y, int64 n) => (float[a,b] u, float[c,d] v) {
          u, v = Loop (n, "", x, y) <
            body = t (int64 i, bool go, float[1,2] s, float[2,1] r)
                => (bool go2, float[1,2] s2, float[2,1] r2) {
              go2 = Identity (go)  s2 = Concat <axis = 0> (s, s)
              r2 = Transpose <perm = [1, 0]> (s) }> }''',
     {'x': ('<f4', [1, 2], [1, 2]), 'y': ('<f4', [2, 1], [3, 4]), 'n': ('<i8', [], [3])},
     [('s2', 'float[1,2]', 'float[2,2]'), ('s', 'float[1,2]', 'float[2,2]'),
      ('r2', 'float[2,1]', 'float[2,2]'), ('r', 'float[2,1]', 'float[2,2]')]),
    ('what a Scan keeps',
     '''g (float[1,2] x, float[3,1] y) => (float[a,b] u, float[3,1] v) {
          u, v = Scan <num_scan_inputs = 1, body = t (float[1,2] s, float[1] e)
                => (float[1,2] s2, float[1] e2) {
              s2 = Concat <axis = 0> (s, s)  e2 = Identity (e) }> (x, y) }''',
     {'x': ('<f4', [1, 2], [1, 2]), 'y': ('<f4', [3, 1], [3, 4, 5])},
     [('s2', 'float[1,2]', 'float[2,2]'), ('s', 'float[1,2]', 'float[2,2]')]),
    ('what contradicts inference, and what is right',
     '''g (float[n,2] x) => (float[n,2] y, float[3,3] z) { y = Relu (x)  z = Abs (y) }''',
     {'x': ('<f4', [4, 2], range(8))}, [('z', 'float[3,3]', 'float[4,2]')]),
    ('nothing that is wrong',
     '''g (float[n,2] x) => (float[n,2] y, int64[2,k] z) { y = Relu (x)  z = NonZero (y) }''',
     {'x': ('<f4', [4, 2], range(8))}, []),
]


def save(folder, name, dtype, shape, contents):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({''.join(f'{n},' for n in shape)})}}"
    head = text.encode().ljust(128 - 11) + b'\n'
    contents = list(contents)
    path = os.path.join(folder, name + '.npy')
    with open(path, 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head)
        file.write(struct.pack(f'<{len(contents)}{FORMATS[dtype]}', *contents))
    return f'{name}={path}'


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def run(path, inputs, folder, *more):
    """Outputs as bytes, and the rest of the answer."""
    out = tempfile.mkdtemp(dir=folder)
    code, text, err = irscope('run', path, *inputs, *more, '--json', '-o', out)
    if code != 0:
        return f'exit status {code}: {err.strip()[:300]}', {}
    answer = json.loads(text)
    contents = {}
    for output in answer['outputs']:
        with open(output['file'], 'rb') as file:
            contents[output['name']] = file.read()
    return contents, answer


def try_case(number, graph, inputs, wrong):
    folder = os.path.join(WORK, str(number))
    os.mkdir(folder)
    path = os.path.join(folder, 'model.onnxtxt')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD + graph)
    given = [a for name, row in inputs.items() for a in ('-i', save(folder, name, *row))]
    plain, answer = run(path, given, folder)
    assert isinstance(plain, dict), plain
    found = [(c['value'], c['declared'], c['found']) for c in answer['claims']]
    assert sorted(found) == sorted(wrong), f'the run tells {found}'
    for more in (['-p', 'basic'], ['-p', 'default'], ['-p', 'default', '--class', 'exact'],
                 ['-p', 'kernels']):
        after, _ = run(path, given, folder, *more)
        assert after == plain, f'{" ".join(more)}: {after if isinstance(after, str) else "other outputs"}'
    written = os.path.join(folder, 'written.onnx')
    code, _, err = irscope('optimize', path, '-p', 'default', '-o', written)
    assert code == 0, err
    again, _ = run(written, given, folder)
    assert again == plain, f'written: {again if isinstance(again, str) else "other outputs"}'
    code, _, err = irscope('run', path, *given)
    warnings = [line for line in err.splitlines() if 'the file declares' in line]
    assert code == 0 and len(warnings) == len(wrong), err


def unknown_operator():
    """What is declared of it is shown, also where it follows from that, and nothing relies on it."""
    path = os.path.join(WORK, 'unknown.onnxtxt')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD + '''g (float[2,3] x) => (z) <float[1,5] u> {
          u = other.Op (x)  c = Cast <to = 1> (u)  z = Transpose <perm = [1, 0]> (c) }''')
    info = json.loads(irscope('info', path, '--json')[1])
    assert info['outputs'][0]['shape'] == [5, 1] and info['outputs'][0]['dtype'] == 'float', info['outputs']
    written = os.path.join(WORK, 'unknown-after.onnxtxt')
    assert irscope('optimize', path, '-p', 'default', '-o', written)[0] == 0
    with open(written, encoding='utf-8') as file:
        text = file.read()
    assert 'Cast' in text and 'Transpose' in text and 'float[1,5] u' in text, text


def counted_once():
    """Arity, attributes, types and sizes: one problem each."""
    path = os.path.join(WORK, 'problems.onnxtxt')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD + '''g (float[2,3] x, float[4,5] w) => (a, b, c, d, e) {
          [n1] a = Gemm (x)  [n2] b = MatMul (x, w)  [n3] c = Softmax <axis = 7> (x)
          [n4] d = Concat (x, x)  [n5] e = Add (x, w) }''')
    code, text, _ = irscope('check', path, '--json')
    problems = json.loads(text)['problems']
    nodes = sorted(problem['node'] for problem in problems)
    assert code == 1 and nodes == ['n1', 'n2', 'n3', 'n4', 'n5'], problems


def left_alone():
    """Passes do not touch what inference refuses, and what is right beside it is rewritten."""
    path = os.path.join(WORK, 'refused.onnxtxt')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(HEAD + '''g (float[2,3] x, float[4,3] w) => (a, b, c) {
          i = Identity (x)  a = Add (i, w)  b = Add (i, w)  t = Transpose <perm = [1, 0]> (w)
          j = MatMul (x, t)  k = MatMul (x, t)  c = Sub (j, k) }''')
    written = os.path.join(WORK, 'refused-after.onnxtxt')
    assert irscope('optimize', path, '-p', 'default', '-o', written)[0] == 0
    with open(written, encoding='utf-8') as file:
        text = file.read()
    assert text.count('Add (x, w)') == 2 and 'Sub (j, j)' in text, text


def tell(number, name, function):
    try:
        function()
        print(f'ok {number} - {name}')
        return True
    except Exception as exception:  # a test that fails must not hide the others
        print(f'not ok {number} - {name}', *str(exception).splitlines(), sep='\n# ')
        return False


def main():
    tests = [(f'a wrong claim: {name}', lambda n=n, rest=rest: try_case(n, *rest))
             for n, (name, *rest) in enumerate(CASES)]
    tests += [('an unknown operator has claims alone', unknown_operator),
              ('check tells each problem once', counted_once),
              ('passes leave alone what inference refuses', left_alone)]
    print(f'1..{len(tests)}')
    good = [tell(i + 1, *test) for i, test in enumerate(tests)]
    sys.exit(0 if all(good) else 1)


main()
