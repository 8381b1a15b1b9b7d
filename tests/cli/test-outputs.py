#!/usr/bin/python3
"""Where kernels fail in a run: the outputs that can be had are given, the others named with the node
that stops them; prints TAP.

    test-outputs.py IRSCOPE"""

import json
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp(prefix='irscope-outputs-')
HEAD = '<ir_version: 8, opset_import: ["" : 17, "me" : 1]>\n'
failures = 0

# Indices are inputs, so that only a run can know that they point nowhere.
ONE = 'g (float[3] x, int64[2] i) => (float[2] y, float[3] z) { y = Gather (x, i)  h = Relu (x)  z = Neg (h) }'
TWO = ('g (float[3] x, int64[2] i, int64[2] s) => (float[2] y, float[3] z, float[] r, float[2] w)\n'
       '{ y = Gather (x, i)  r = Reshape (x, s)  w = Relu (y)  z = Neg (x) }')
INSIDE = ('g (float[3] x, int64[2] i, bool c) => (float[2] y, float[3] z) {\n'
          '  y = If (c) <then_branch = a () => (float[2] p) { p = Gather (x, i) },'
          ' else_branch = b () => (float[2] q) { q = Gather (x, i) }>  z = Neg (x) }')
CALLED = ('g (float[3] x, int64[2] i) => (float[2] y, float[3] z) { y = me.F (x, i)  z = Neg (x) }\n'
          '<domain: "me", opset_import: ["" : 17]> F (x, i) => (y) { y = Gather (x, i) }')
ROUNDS = ('g (float[3] x, int64[2] i, float[2] a) => (float[2] y, float[3] z) <int64 n = {2}, bool c = {1}> {\n'
          '  y = Loop (n, c, a) <body = b (int64 k, bool d, float[2] e) => (bool f, float[2] h) '
          '{ f = Identity (d)  s = Gather (x, i)  h = Add (e, s) }>  z = Neg (x) }')
TURNED = 'g (float[3] x, int64[2] i) => (float[3] z, float[2] y, float[3] x) { y = Gather (x, i)  z = Neg (x) }'
# No opset has Guess; the values that do not wait for it are there, of the graph before the pipeline too.
UNKNOWN = ('g (float[3] x) => (float[3] z, float[] y, float[] w) {\n'
           '  a = Neg (x)  z = Neg (a)  b = Relu (x)  y = me.Guess (b)  w = Neg (y) }')
ALONE = 'g (float[3] x, int64[2] i) => (float[2] y) { early = Neg (x)  y = Gather (early, i) }'


def indices(name, *numbers):
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header += ' ' * (63 - (10 + len(header)) % 64) + '\n'
    path = os.path.join(WORK, name + '.npy')
    with open(path, 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() +
                   struct.pack(f'<{len(numbers)}q', *numbers))
    return path


def run(text, *options):
    path = os.path.join(WORK, 'g.onnxtxt')
    with open(path, 'w') as file:
        file.write(HEAD + text)
    done = subprocess.run([PROGRAM, 'run', path, '--json', *options], capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout), done.stderr


def found(answer):
    return ([output['name'] for output in answer['outputs'] if output.get('shape') is not None],
            {missing['name']: missing['op'] for missing in answer.get('missing', [])})


NOWHERE, RAGGED, RIGHT = indices('nowhere', 0, 9), indices('ragged', 2, 2), indices('right', 0, 2)
CASES = (
    ('the output of another node is there', ONE, (f'i={NOWHERE}',), ['z'], {'y': 'Gather'}),
    ('two nodes that fail are named, each for what waits for it', TWO, (f'i={NOWHERE}', f's={RAGGED}'), ['z'],
     {'y': 'Gather', 'w': 'Gather', 'r': 'Reshape'}),
    ('a node in a branch stops the node that owns it', INSIDE, (f'i={NOWHERE}',), ['z'], {'y': 'If'}),
    ('a node in a function is named', CALLED, (f'i={NOWHERE}',), ['z'], {'y': 'Gather'}),
    ('a node in a round stops its loop', ROUNDS, (f'i={NOWHERE}',), ['z'], {'y': 'Loop'}),
    ('outputs stand in the order of the model, not of the nodes', TURNED, (f'i={RIGHT}',), ['z', 'y', 'x'], {}),
    ('nothing is left out where nothing fails', ONE, (f'i={RIGHT}',), ['y', 'z'], {}),
)
WAYS = (['--device', 'ref'], ['--device', 'cpu'], ['--parallel', 'on', '--threads', '2'], ['--runs', '3'])
number = 0
# Kernels of cpu that see by the operands alone that a call is not for them.
LEFT = (
    ('MaxPool', 'g (float[1,2,6,6] x) => (float[1,2,4,4] y, float[1,2,6,6] z) '
     '{ y = MaxPool <kernel_shape: ints = [2, 2], dilations: ints = [2, 2]> (x)  z = Relu (x) }'),
    ('MaxPool', 'g (float[1,2,6,6] x) => (float[1,2,5,5] y, int64[1,2,5,5] i, float[1,2,6,6] z) '
     '{ y, i = MaxPool <kernel_shape: ints = [2, 2], storage_order: int = 1> (x)  z = Relu (x) }'),
    ('TopK', 'g (float[0,4] x) => (float[0,2] y, float[0,4] z) <int64[1] k = {2}> '
     '{ y, i = TopK (x, k)  z = Relu (x) }'),
)
print(f'1..{len(CASES) * len(WAYS) + len(LEFT) * len(WAYS) + 3}')
for title, text, given, outputs, missing in CASES:
    for way in WAYS:
        number += 1
        code, answer, err = run(text, *way, *(word for pair in given for word in ('-i', pair)))
        ok = code == (1 if missing else 0) and found(answer) == (outputs, missing) and \
            all('Gather' in m['why'] or 'Reshape' in m['why'] for m in answer.get('missing', []))
        failures += not ok
        print('ok' if ok else 'not ok', number, '-', title, *way)
        if not ok:
            print('#', json.dumps([code, found(answer), answer.get('missing'), err])[:1500])
for op, text in LEFT:
    for way in WAYS:
        number += 1
        code, answer, err = run(text, *way)
        kernels = {node['op']: node['kernel'] for node in answer['nodes']}
        handed = kernels[op].startswith('ref (') if op != 'TopK' and 'ref' not in way else not kernels[op].startswith('ref (')
        ok = code == 0 and handed and not kernels['Relu'].startswith('ref (')
        failures += not ok
        print('ok' if ok else 'not ok', number, '- a kernel that leaves its node to ref is not named alone:', op, *way)
        if not ok:
            print('#', json.dumps([code, kernels, err])[:500])
code, answer, err = run(ALONE, '-i', f'i={NOWHERE}', '--capture', 'all')
ok = code == 3 and 'Gather' in err and 'Gather' in answer['error'] and 'early' in [v['name'] for v in answer['captured']]
failures += not ok
print('ok' if ok else 'not ok', number + 1, '- where no output is left, what was computed before is there')
if not ok:
    print('#', json.dumps([code, answer, err])[:1500])
for capture in ('original', 'all'):
    number += 1
    code, answer, err = run(UNKNOWN, '--capture', capture, '--pipeline', 'default')
    names = {v['name'] for v in answer.get('captured', []) if v.get('shape') is not None}
    ok = code == 1 and found(answer) == (['z'], {'y': 'Guess', 'w': 'Guess'}) and \
        ({'a', 'b', 'x'} <= names if capture == 'original' else 'x' in names)
    failures += not ok
    print('ok' if ok else 'not ok', number + 1, '- an unknown operator stops what waits for it alone, capture', capture)
    if not ok:
        print('#', json.dumps([code, answer, err])[:1500])
sys.exit(failures > 0)
