#!/usr/bin/python3
"""What `irscope run` gives the inputs of a graph: sizes, files, pictures and numbers; prints TAP.

    test-inputs.py IRSCOPE SOURCE_ROOT"""

import json
import os
import subprocess
import sys
import tempfile
import traceback

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
