#!/usr/bin/python3
"""Derivatives on the command line: grad and gradcheck, what they print and what they refuse; prints TAP.

    test-grad.py IRSCOPE SOURCE_ROOT"""

import json
import math
import os
import struct
import subprocess
import sys
import tempfile

from schema import violations
from tap import run_tests, test

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
WORK = tempfile.mkdtemp(prefix='irscope-grad-')
HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def json_of(*arguments, status=0):
    code, out, err = irscope(*arguments, '--json')
    assert code == status, (arguments, code, err)
    return json.loads(out)


def model(name, text):
    path = os.path.join(WORK, name + '.onnxtxt')
    open(path, 'w').write(text if text.startswith('<') else HEAD + text)
    return path


def numbers(path):
    data = open(path, 'rb').read()
    start = 10 + struct.unpack('<H', data[8:10])[0]
    return list(struct.unpack(f'<{(len(data) - start) // 4}f', data[start:]))


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-5 * max(1, abs(y)) for x, y in zip(a, b))


CUT = model('cut', 'g (float[3] x) => (float[3] y, float[3] z) <float[3] w = {1, 2, 3}, float[3] dead = {1, 2, 3}> '
                   '{ a = Mul (x, w)  [floor] r = Floor (dead)  y = Add (r, a)  [cast] c = Cast <to = 6> (a)  '
                   'k = Cast <to = 1> (c)  z = Sub (k, x) }')
EXAMPLE = os.path.join(ROOT, 'data/examples/worked-example.onnx')

AT = (EXAMPLE, '--wrt', 'inputs', '--value', 'x1=2', '--value', 'x2=5')


@test('a target of several elements is said to be a sum')
def _sum_is_said():
    code, out, err = irscope('grad', CUT, '--of', 'y', '--wrt', 'w')
    assert code == 0 and '(sum of 3 elements)' in out.splitlines()[0], (out, err)
    code, out, err = irscope('grad', EXAMPLE, '--wrt', 'inputs')
    assert code == 0 and 'sum of' not in out.splitlines()[0], (out, err)


@test('the worked example: 5.5 and 1.716 at (2, 5)')
def _():
    out = os.path.join(WORK, 'out')
    got = json_of('grad', EXAMPLE, '--wrt', 'inputs', '--value', 'x1=2', '--value', 'x2=5', '--out', out)
    assert abs(got['value'] - 11.652) < 1e-3, got
    files = {g['name']: g['file'] for g in got['gradients']}
    assert near(numbers(files['x1']), [5.5]) and near(numbers(files['x2']), [2 - 0.2836622]), files
    assert got['nodes_forward'] == 5 and got['nodes_backward'] > 0 and got['mode'] == 'reverse', got


@test('what nothing comes to is listed with where the path ends')
def _():
    by = {g['name']: g for g in json_of('grad', CUT, '--of', 'y')['gradients']}
    assert by['w']['reason'] is None and by['dead']['reason']['kind'] == 'no-path', by
    assert (by['dead']['reason']['node'], by['dead']['reason']['operator']) == ('floor', 'Floor'), by
    by = {g['name']: g for g in json_of('grad', CUT, '--of', 'z', '--wrt', 'k', '--wrt', 'a', '--wrt', 'x')['gradients']}
    assert by['k']['reason'] is None and by['x']['reason'] is None and by['a']['reason']['node'] == 'cast', by
    assert by['a']['zeros'] == 3 and abs(by['k']['norm'] - 3 ** 0.5) < 1e-6, by


@test('a cotangent weighs the elements, a stop holds a value')
def _():
    out = os.path.join(WORK, 'weighed')
    json_of('grad', CUT, '--of', 'y', '--wrt', 'x', '--cotangent', 'w', '--out', out)
    assert near(numbers(os.path.join(out, 'x.grad.npy')), [1, 4, 9])
    got = json_of('grad', CUT, '--of', 'y', '--wrt', 'x', '--stop', 'a')
    assert got['gradients'][0]['zeros'] == 3, got


@test('the written model has the derivatives as outputs, and runs')
def _():
    out = os.path.join(WORK, 'both.onnx')
    json_of('grad', CUT, '--of', 'y', '-o', out)
    names = [o['name'] for o in json_of('run', out)['outputs']]
    assert names == ['y', 'z', 'w.grad'], names


@test('an old model is upgraded first, by steps')
def _():
    old = model('old', '<ir_version: 4, opset_import: ["" : 9]>\ng (float[2,1,3] x) => (float[2] y) '
                       '{ s = Squeeze <axes: ints = [1]> (x)  p = Softmax <axis = 1> (s)  '
                       'q = Mul (p, s)  y = ReduceSum <axes = [1], keepdims = 0> (q) }')
    assert json_of('gradcheck', old)['failed'] == 0
    assert json_of('grad', old, '--wrt', 'inputs')['gradients'][0]['nan'] == 0
    old = model('upsample', '<ir_version: 4, opset_import: ["" : 9]>\ng (float[1,1,2,3] x) => (float[] y) '
                            '<float[4] s = {1, 1, 2, 1.5}> { u = Upsample <mode: string = "linear"> (x, s)  '
                            'p = Mul (u, u)  y = ReduceSum <keepdims = 0> (p) }')
    assert json_of('gradcheck', old)['failed'] == 0
    assert json_of('grad', old, '--wrt', 'inputs')['gradients'][0]['zeros'] == 0


@test('what cannot be is refused: which value, node and operator, and what to do')
def _():
    scan = model('scan', 'g (float[2,2] x) => (float[] y) { [d] q, y, z = DynamicQuantizeLinear (x) }')
    for arguments, why in (([CUT], '2 floating-point outputs (y, z)'), ([CUT, '--of', 'q'], 'no value "q"'),
                           ([CUT, '--of', 'c'], '"c" is int32'), ([CUT, '--of', 'y', '--wrt', 'n'], 'no value "n"'),
                           ([CUT, '--of', 'y', '--cotangent', 'c'], '"c" is int32'),
                           ([scan, '--wrt', 'inputs'], 'd (DynamicQuantizeLinear): cannot be derived'),
                           ([scan], 'no floating-point parameters; try inputs')):
        code, out, err = irscope('grad', *arguments)
        assert code == 2 and out == '' and why in err, (arguments, code, err)
    code, _, err = irscope('gradcheck', CUT, '--of', 'y', '--wrt', 'a')
    assert code == 2 and 'a is computed' in err, err


@test('a budget is held by computing values again: the same bits, the planned bytes; else the least is said')
def _():
    chain = model('chain', 'g (float[32,16] x, float[16,16] w) => (float y) { '
                  + ' '.join(f'p{i} = MatMul ({"x" if i == 0 else f"t{i - 1}"}, w)  t{i} = Tanh (p{i})' for i in range(12))
                  + ' y = ReduceSum <keepdims = 0> (t11) }')
    out = [os.path.join(WORK, 'budget-%d' % i) for i in range(2)]
    plain = json_of('grad', chain, '--wrt', 'w', '--out', out[0])
    tight = json_of('grad', chain, '--wrt', 'w', '--budget', '75%', '--out', out[1])
    assert 'held' not in plain and tight['held']['again'] > 0, tight
    assert tight['held']['planned_bytes'] <= tight['held']['budget_bytes'] < tight['held']['plain_bytes'], tight
    assert numbers(os.path.join(out[0], 'w.grad.npy')) == numbers(os.path.join(out[1], 'w.grad.npy'))
    back = os.path.join(WORK, 'chain-back.onnx')
    irscope('grad', chain, '--wrt', 'w', '-o', back)
    run = json_of('run', back, '--budget', '75%')
    assert run['arena_bytes'] == run['held']['planned_bytes'], run
    code, _, err = irscope('grad', chain, '--wrt', 'w', '--budget', '1')
    assert code == 1 and 'the least that was found is' in err and 'reaches' in err, (code, err)
    schema = json.load(open(os.path.join(ROOT, 'data/schema/budget.schema.json')))
    for command in ('grad', chain, '--wrt', 'w'), ('run', back):
        code, out, err = irscope(*command, '--budget', '1', '--json')
        said = json.loads(out)
        assert code == 1 and not list(violations(said, schema)), (command, out)
        said = said['refused']
        assert said['budget_bytes'] == 1 < said['least_bytes'] < said['plain_bytes'] == tight['held']['plain_bytes'], said
        assert f"{said['least_bytes']} bytes, which {said['least_at']} reaches" in err, (said, err)
        code, _, err = irscope(*command, '--budget', str(said['least_bytes']))
        assert code == 0, (command, said, err)


@test('forward: one direction, all outputs; what does not move is said')
def _():
    at = ('--value', 'x1=2', '--value', 'x2=5')
    got = json_of('grad', EXAMPLE, '--mode', 'forward', '--tangent', 'x1=1', '--tangent', 'x2=2', *at)
    assert near([got['tangents'][0]['sum']], [5.5 + 2 * 1.7163378]), got
    out = os.path.join(WORK, 'forward')
    got = json_of('grad', CUT, '--mode', 'forward', '--wrt', 'x', '--out', out)
    assert [t['name'] for t in got['tangents']] == ['y', 'z'] and got['direction'] == 'ones', got
    assert near(numbers(os.path.join(out, 'y.tangent.npy')), [1, 2, 3]), got
    assert near(numbers(os.path.join(out, 'z.tangent.npy')), [-1, -1, -1]), got
    got = json_of('grad', CUT, '--mode', 'forward', '--wrt', 'dead')
    assert [t['depends'] for t in got['tangents']] == [False, False], got


@test('forward: what makes no sense is refused, and said')
def _():
    for arguments, said in [(('--mode', 'sideways'), 'needs one of reverse, forward, numeric, symbolic, tape'),
                            (('--mode', 'forward', '--cotangent', 'w'), '--cotangent says nothing to --mode forward'),
                            (('--tangent', 'x=1'), '--tangent says nothing to --mode reverse'),
                            (('--mode', 'forward', '--tangent', 'x=1,2'), 'do not fit'),
                            (('--mode', 'forward', '--tangent', 'nobody=1'), 'there is no value "nobody"'),
                            (('--mode', 'forward', '--tangent', 'x=1', '--wrt', 'w'), 'leave --wrt out'),
                            (('--mode', 'forward', '--tangent', 'x'), 'NAME=VALUE')]:
        code, _, err = irscope('grad', CUT, *arguments)
        assert code == 2 and said in err, (arguments, code, err)


@test('--jacobian: each element by each element, also through loops; what makes no sense is refused')
def _():
    net = model('square', 'g (float[3] x, float[2] z) => (float[2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> '
                          '{ h = Mul (x, x)  y = MatMul (h, w) }')
    with tempfile.TemporaryDirectory() as folder:
        rows = json_of('grad', net, '--jacobian', '--wrt', 'all', '--value', 'x=1,2,3', '--out', folder)['jacobian']
        assert [r['name'] for r in rows] == ['w', 'x', 'z'] and rows[2]['shape'] == [] and rows[2]['why'], rows
        assert rows[0]['shape'] == [2, 3, 2] and rows[1]['shape'] == [2, 3], rows
        assert list(numbers(rows[1]['file'])) == [2, 12, 30, 4, 16, 36]
        assert list(numbers(rows[0]['file'])) == [1, 0, 4, 0, 9, 0, 0, 1, 0, 4, 0, 9]
    code, out, _ = irscope('grad', net, '--jacobian', '--wrt', 'x', '--value', 'x=1,2,3')
    assert code == 0 and '          2          12          30' in out, out
    loop = model('rounds', 'g (float[2] x) => (float[2] y) { n = Constant <value = int64 {3}> ()  '
                           'c = Constant <value = bool {1}> ()  y = Loop <body = b (int64 i, bool k, float[2] s) => '
                           '(bool l, float[2] t) { l = Identity (k)  t = Mul (s, x) }> (n, c, x) }')
    row = json_of('grad', loop, '--jacobian', '--wrt', 'x', '--value', 'x=1,2')['jacobian'][0]
    assert row['max_abs'] == 32 and row['zeros'] == 2, row
    free = model('free', 'g (float[N] x) => (float[N] y) { y = Exp (x) }')
    large = model('large', 'g (float[9000] x) => (float[9000] y) { y = Exp (x) }')
    for arguments, why in (([net, '--order', '2'], 'leave --cotangent'), ([net, '--mode', 'tape'], '--mode tape'),
                           ([large, '--wrt', 'x'], 'the Jacobian of y: it has too many axes or elements'),
                           ([free, '--wrt', 'x'], 'give them (--dim)')):
        code, out, err = irscope('grad', '--jacobian', *arguments)
        assert code == 2 and out == '' and why in err, (arguments, code, err)


@test('hvp: the Hessian times a vector, forward over reverse')
def _():
    at = ('--value', 'x1=2', '--value', 'x2=5')
    for along, product in (((1, 0), (-0.25, 1)), ((0, 1), (1, -0.9589243)), ((2, -1), (-1.5, 2.9589243))):
        got = json_of('grad', EXAMPLE, '--hvp', f'x1={along[0]}', '--hvp', f'x2={along[1]}', *at)
        assert [t['name'] for t in got['tangents']] == ['x1.grad', 'x2.grad'], got
        assert near([t['sum'] for t in got['tangents']], product), (along, got)
    got = json_of('grad', os.path.join(ROOT, 'data/examples/transformer-block.onnx'), '--hvp', 'encoder.intermediate.dense.bias=1')
    assert got['tangents'][0]['nan'] == 0 and got['tangents'][0]['norm'] > 0, got
    code, _, err = irscope('grad', EXAMPLE, '--hvp', 'x1=1', '--cotangent', 'v1')
    assert code == 2 and '--cotangent says nothing to --mode forward' in err, err


@test('numeric: three differences, and a sweep with slopes and the best step')
def _():
    for method in ('forward', 'central', 'complex'):
        got = json_of('grad', *AT, '--mode', 'numeric', '--method', method)
        assert near([g['norm'] for g in got['gradients']], [5.5, 1.7163378]), got
    got = json_of('grad', EXAMPLE, '--mode', 'numeric', '--sweep', '--tangent', 'x1=1', '--value', 'x1=2', '--value', 'x2=5')
    assert abs(got['reference'] - 5.5) < 1e-12 and len(got['sweep']) == 33 and not got['gradients'], got
    assert abs(got['fits']['forward']['truncation'] - 1) < 0.1 and abs(got['fits']['central']['truncation'] - 2) < 0.1, got
    assert got['stop'] is None
    got = json_of('grad', os.path.join(ROOT, 'data/examples/digits.onnx'), '--mode', 'numeric', '--sweep', '--of', '/fc/Add_output_0',
                  '--wrt', 'inputs')
    assert got['stop']['operator'] == 'BatchNormalization' and got['sweep'][0]['complex'] == 'NaN', got['stop']


@test('numeric: too many elements and wrong methods are refused')
def _():
    digits = os.path.join(ROOT, 'data/examples/digits.onnx')
    for arguments, said in [((digits, '--mode', 'numeric'), '17134 elements would be moved'),
                            ((EXAMPLE, '--mode', 'numeric', '--wrt', 'inputs', '--method', 'q'), 'needs forward, central or complex'),
                            ((EXAMPLE, '--mode', 'numeric', '--wrt', 'inputs', '--step', '-1'), 'needs a number above 0'),
                            ((EXAMPLE, '--mode', 'numeric', '--wrt', 'v1'), 'v1 is computed'),
                            ((EXAMPLE, '--mode', 'numeric', '--tangent', 'x1=1'), 'without --sweep'),
                            ((EXAMPLE, '--mode', 'numeric', '--wrt', 'inputs', '--sweep', '--out', WORK), '--out says nothing to --sweep'),
                            ((EXAMPLE, '--mode', 'numeric', '--wrt', 'inputs', '--stop', 'v1'), '--stop says nothing to --mode numeric'),
                            ((EXAMPLE, '--sweep'), '--sweep says nothing to --mode reverse')]:
        code, _, err = irscope('grad', *arguments)
        assert code == 2 and said in err, (arguments, code, err)


def logistic_map(n):
    rounds = ' '.join(f'p{k} = Mul (four, l{k}) q{k} = Sub (one, l{k}) l{k + 1} = Mul (p{k}, q{k})' for k in range(1, n))
    return model(f'map-{n}', f'g (float[] l1) => (float[] l{n}) <float four = {{4}}, float one = {{1}}> {{ {rounds} }}')


@test('symbolic: expressions, and how they swell')
def _():
    got = json_of('grad', logistic_map(8), '--mode', 'symbolic')
    assert got['swell'] == {'tree': 8065, 'dag': 73, 'tree_folded': 5503, 'dag_folded': 58}, got
    got = json_of('grad', EXAMPLE, '--mode', 'symbolic', '--simplify')
    assert [e['text'] for e in got['expressions']] == ['1 / x1 + x2', 'x1 - cos(x2)'], got
    code, out, _ = irscope('grad', logistic_map(4), '--mode', 'symbolic')
    assert code == 0 and ', where\n  t1 = 4 * l1\n' in out, out
    code, _, err = irscope('grad', os.path.join(ROOT, 'data/examples/digits.onnx'), '--mode', 'symbolic')
    assert code != 0 and '/conv1/Conv (Conv) stops it first' in err and 'use reverse or forward mode' in err, err
    code, _, err = irscope('grad', os.path.join(ROOT, 'data/examples/while-newton.onnxtxt'), '--mode', 'symbolic')
    assert code != 0 and '(Loop) stops it first: control flow' in err, err


@test('tape: the worked example as it is taught, and its paths')
def _():
    got = json_of('grad', *AT, '--mode', 'tape')
    trace = {row['name']: row for row in got['trace']}
    assert near([trace[v]['value'] for v in ('v1', 'v2', 'v3', 'v4', 'f')], [0.6931472, 10, -0.9589243, 10.6931472, 11.6520715]), got
    assert near(trace['f']['tangent'], [5.5, 1.7163378]) and near(trace['x2']['adjoint'], [-0.2836622, 1.7163378]), trace
    assert near(trace['x1']['adjoint'], [5, 5.5]) and got['directions'] == 2
    assert near([p['contribution'] for p in got['paths'] if p['name'] == 'x1'], [5, 0.5]), got['paths']
    assert [e['event'] for e in got['tape']] == ['push'] * 5 + ['seed'] + ['pop'] * 4 + ['accumulate', 'pop', 'accumulate']
    assert got['tape'][4]['bytes_held'] == 8 and got['tape'][-1]['bytes_held'] == 0


@test('tape: real networks, and what stops it')
def _():
    out = os.path.join(WORK, 'tape')
    digits = os.path.join(ROOT, 'data/examples/digits.onnx')
    by = {g['name']: g for g in json_of('grad', digits, '--mode', 'tape', '--out', out, '--of', '/fc/Add_output_0')['gradients']}
    for gradient in json_of('grad', digits, '--of', '/fc/Add_output_0')['gradients']:
        assert abs(by[gradient['name']]['norm'] - gradient['norm']) <= 1e-4 * max(gradient['norm'], 1e-3), gradient
    for name, said in (('while-newton.onnxtxt', 'loop (Loop): the tape has no nodes of bodies'), ('if-branch.onnx', '(If): the tape has')):
        code, _, err = irscope('grad', os.path.join(ROOT, 'data/examples', name), '--mode', 'tape', '--wrt', 'inputs')
        assert code == 2 and said in err, (code, err)
    code, _, err = irscope('grad', EXAMPLE, '--mode', 'tape', '--wrt', 'v1')
    assert code == 2 and 'v1 is computed; the tape derives by inputs and parameters' in err, err


@test('gradcheck agrees on small networks, and knows kinks')
def _():
    net = model('net', 'g (float[2,3] x) => (float[] l) <float[3,4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}> '
                       '{ t = MatMul (x, w)  u = LeakyRelu (t)  s = Softmax (u)  p = Mul (s, u)  '
                       'l = ReduceSum <keepdims = 0> (p) }')
    got = json_of('gradcheck', net)
    assert got['failed'] == 0 and got['passed'] == got['checked'] > 8, got
    kink = model('kink', 'g (float[2] x) => (float[2] y) { r = Relu (x)  a = Abs (x)  y = Add (r, a) }')
    got = json_of('gradcheck', kink, '--value', 'x=0')
    assert got['kinks'] == 2 and got['failed'] == 0, got
    for i, item in enumerate(got['findings']):  # of both, slope 0 and 2 of relu and abs together
        assert item['verdict'] == 'kink' and item['input'] == 'x' and item['index'] == i, got
        assert near([item['left'], item['right'], item['analytic']], [-1, 2, 0]), got
    assert 'kink' in irscope('gradcheck', kink, '--value', 'x=0')[1] and got['worst'] is None, got
    assert not list(violations(got, json.load(open(os.path.join(ROOT, 'data/schema/gradcheck.schema.json'))))), got


@test('control flow is derived, and closures and what tokens move through after they were raised')
def _():
    newton = os.path.join(ROOT, 'data/examples/while-newton.onnxtxt')
    tokens, closures = os.path.join(WORK, 'tokens.onnxtxt'), os.path.join(WORK, 'closures.onnxtxt')
    assert irscope('optimize', newton, '--pass', 'lower-control-flow', '-o', tokens)[0] == 0
    assert irscope('optimize', newton, '--pass', 'to-closures', '-o', closures)[0] == 0
    for path in (newton, tokens, closures, os.path.join(ROOT, 'data/examples/mindspore-while.onnxtxt')):
        at = path, '--wrt', 'inputs', '--value', 'a=2', '--value', 'x=1'
        by = {g['name']: g['norm'] for g in json_of('grad', *at)['gradients']}
        assert abs(by['a'] - 0.125 ** 0.5) < 1e-9 and by['x'] < 1e-9, by  # the root of a, wherever it begins
        got = json_of('gradcheck', *at)
        assert got['passed'] == got['checked'] == 2, got


STUCK = model('stuck', '<ir_version: 10, opset_import: ["" : 21, "irscope.flow" : 1]>\n'
                       'g (float[2] x, bool c) => (float[2] y, int32 z) { f, t = irscope.flow.Switch (x, c)  [side] a = Neg (t)  '
                       'y, z = irscope.flow.Merge (f, a) }')


# A function that calls itself twice, and a choice of three: neither is a loop or an If.
TWICE = model('twice', '<ir_version: 10, opset_import: ["" : 21, "irscope.closure" : 1, "f" : 1]>\n'
                       'g (float x) => (float y) { p = irscope.closure.Partial <domain = "f", function = "down"> ()  '
                       'y = irscope.closure.Call (p, x) }\n<domain: "f", opset_import: ["" : 21, "irscope.closure" : 1]>\n'
                       'down (float a) => (float b) { one = Constant <value_float = 1.0> ()  c = Greater (a, one)  '
                       'b = If (c) <then_branch = t () => (u) { h = Sub (a, one)  p = irscope.closure.Partial <domain = "f", function = "down"> ()  '
                       '[again] i = irscope.closure.Call (p, h)  j = irscope.closure.Call (p, h)  u = Add (i, j) }, '
                       'else_branch = e () => (v) { v = Mul (a, a) }> }')
UNREAD = model('unread', '<ir_version: 10, opset_import: ["" : 21, "irscope.closure" : 1, "f" : 1]>\n'
                         'g (float x) => (float y) { p = irscope.closure.Partial <domain = "f", function = "down"> ()  y = Neg (x) }\n'
                         '<domain: "f", opset_import: ["" : 21]>\ndown (a) => (b) { b = Relu (a) }')


@test('a closure that nobody reads keeps no model from being saved as ONNX')
def _():
    out = os.path.join(WORK, 'unread.onnx')
    code, _, err = irscope('convert', UNREAD, out)
    assert code == 0, err
    assert 'Partial' not in irscope('info', out)[1]


ONE = model('one', '<ir_version: 10, opset_import: ["" : 21, "irscope.closure" : 1, "f" : 1]>\n'
                           'g (float x, int64 i) => (float y) { p = irscope.closure.Partial <domain = "f", function = "id"> (x)  '
                           's = irscope.closure.SwitchLayer (i, p)  [chosen] y = irscope.closure.Call (s) }\n'
                           '<domain: "f", opset_import: ["" : 21]>\nid (float a) => (float b) { b = Identity (a) }')


@test('passes that derive raise closures and tokens by steps of their own, and name what has no other form')
def _():
    newton = os.path.join(ROOT, 'data/examples/while-newton.onnxtxt')
    for low in ('lower-control-flow', 'to-closures'):
        path = os.path.join(WORK, low + '.onnxtxt')
        assert irscope('optimize', newton, '--pass', low, '-o', path)[0] == 0
        for name, option in (('gradient', 'wrt=inputs'), ('tangent', 'wrt=inputs')):
            got = json_of('optimize', path, '--pass', name, '--set', f'{name}.{option}', '--prove', '--value', 'a=2', '--value', 'x=1')
            assert got['proof']['broken'] == 0 and got['proof']['exact'] > 0, got['proof']
    for path, words in ((STUCK, ('Switch', 'the index')), (TWICE, ('again (Call)', 'down calls itself')),
                        (ONE, ('chosen (Call)', 'SwitchLayer'))):
        for name in ('gradient', 'tangent'):
            code, out, err = irscope('optimize', path, '--pass', name, '--set', f'{name}.wrt=inputs')
            assert code == 2 and 'no form' in err and all(word in err for word in words), (code, err)


@test('a network of closures is trained')
def _():
    path = model('closures-net', '<ir_version: 10, opset_import: ["" : 21, "irscope.closure" : 1, "f" : 1]>\n'
                 'g (float[4,2] x, bool c) => (float[4,2] y) <float[2,2] w = {1, 0, 0, 1}> { '
                 't = irscope.closure.Partial <domain = "f", function = "times"> (x, w)  n = irscope.closure.Partial <domain = "f", function = "less"> (x, w)  '
                 's = irscope.closure.Switch (c, t, n)  y = irscope.closure.Call (s) }\n<domain: "f", opset_import: ["" : 21]>\n'
                 'times (float[4,2] a, float[2,2] b) => (float[4,2] d) { d = MatMul (a, b) }\n<domain: "f", opset_import: ["" : 21]>\n'
                 'less (float[4,2] a, float[2,2] b) => (float[4,2] d) { m = MatMul (a, b)  d = Neg (m) }')
    got = json_of('optimize', path, '--pass', 'to-training', '--set', 'to-training.loss=mse')
    assert got['steps'] > 1, got


@test('ONNX is written without closures and tokens; what has no other form is named, and ONNX text keeps it')
def _():
    newton = os.path.join(ROOT, 'data/examples/while-newton.onnxtxt')
    low, plain = os.path.join(WORK, 'written.onnxtxt'), os.path.join(WORK, 'written.onnx')
    at = '--value', 'a=2', '--value', 'x=1'
    for name in ('lower-control-flow', 'to-closures'):
        assert irscope('optimize', newton, '--pass', name, '-o', low)[0] == 0
        assert 'Switch' in irscope('info', low)[1]
        code, out, err = irscope('convert', low, plain)
        assert code == 0 and 'raised' in err, err
        told = irscope('info', plain)[1]
        assert 'Switch' not in told and ' Loop' in told, told
        assert irscope('run', plain, *at)[1].splitlines()[0] == irscope('run', newton, *at)[1].splitlines()[0]
    for path, word in ((STUCK, 'the index'), (TWICE, 'down calls itself'), (ONE, 'SwitchLayer')):
        for to, status in (('stuck.onnx', 2), ('stuck.json', 0)):
            code, out, err = irscope('convert', path, os.path.join(WORK, to))
            assert code == status and (status == 0 or (word in err and '.onnxtxt' in err)), (code, err)


@test('a choice of SwitchLayer is derived, and written as ONNX')
def _():
    path, plain = os.path.join(WORK, 'layer.onnxtxt'), os.path.join(WORK, 'layer.onnx')
    with open(path, 'w') as file:
        file.write('<ir_version: 10, opset_import: ["" : 21, "irscope.closure" : 1, "f" : 1]>\n'
                   'g (float x, int64 i) => (float y) { p = irscope.closure.Partial <domain = "f", function = "square"> ()  '
                   'q = irscope.closure.Partial <domain = "f", function = "cube"> ()  s = irscope.closure.SwitchLayer (i, p, q, p)  '
                   'y = irscope.closure.Call (s, x) }\n<domain: "f", opset_import: ["" : 21]>\nsquare (float a) => (float b) { b = Mul (a, a) }\n'
                   '<domain: "f", opset_import: ["" : 21]>\ncube (float a) => (float b) { c = Mul (a, a)  b = Mul (c, a) }')
    assert irscope('convert', path, plain)[0] == 0
    for index, value, slope in ((0, 9, 6), (1, 27, 27), (-2, 27, 27), (2, 9, 6)):
        at = '--value', 'x=3', '--value', f'i={index}'
        assert f'[] {value}'.replace('[]', '') in irscope('run', plain, *at)[1].split('\n')[0], irscope('run', plain, *at)
        assert str(slope) in irscope('run', path, '--pass', 'gradient', '--set', 'gradient.wrt=inputs', *at)[1], index
    code, _, err = irscope('run', plain, '--value', 'x=3', '--value', 'i=3')
    assert code == 3 and 'index 3' in err, (code, err)


@test('steps that derive bodies are proved: what branches, rounds and recurrent steps read')
def _():
    layer = model('layer', 'g (float[3,2,2] x, float[1,4,2] w, bool c) => (float[] l) '
                           '<float[1,4,4] r = {1, 0, 0, 0.5, 0, 1, 0, 0, 0.2, 0, 1, 0, 0, 0, 0, 1}> '
                           '{ [r] y, h = RNN <hidden_size = 4, direction = "reverse"> (x, w, r)  '
                           '[i] z = If (c) <then_branch = t () => (u) { u = Mul (h, h) }, else_branch = e () => (v) { v = Neg (h) }>  '
                           'l = ReduceSum <keepdims = 0> (z) }')
    newton = os.path.join(ROOT, 'data/examples/while-newton.onnxtxt')
    for path, options in ((layer, ()), (newton, ('--value', 'a=2', '--value', 'x=1'))):
        got = json_of('optimize', path, '--pass', 'gradient', '--set', 'gradient.wrt=inputs', '--prove', *options)
        assert got['proof']['broken'] == 0 and got['proof']['rounding'] > 0, got['proof']


@test('--order 2 is the Hessian times ones, through a loop as well')
def _():
    cube = model('cube', 'g (double a, double b) => (double f) { s = Mul (a, a)  c = Mul (s, a)  f = Mul (c, b) }')
    text = irscope('grad', cube, '--wrt', 'inputs', '--order', '2', '--value', 'a=2', '--value', 'b=-3')[1]
    by = {g['name']: g['norm'] for g in json_of('grad', cube, '--wrt', 'inputs', '--order', '2', '--value', 'a=2', '--value', 'b=-3')['gradients']}
    assert by == {'a': 24, 'b': 12} and 'f = -24' in text, (by, text)  # 6ab + 3a^2, 3a^2
    loop = model('rounds', 'g (double[3] a, double[3] b, int64 m) => (double[3] y) { y, q = Loop (m, , a) <body = body '
                           '(int64 i, bool go, double[3] v) => (bool on, double[3] w, double[3] s) { on = Identity (go)  '
                           's = Mul (v, b)  w = Sin (s) }> }')
    at = '--of', 'y', '--value', 'm=3', '--value', 'a=0.3,-0.7,1.1', '--value', 'b=1.2,0.4,-0.9'
    second = {g['name']: g['norm'] for g in json_of('grad', loop, '--wrt', 'inputs', '--order', '2', *at)['gradients']}
    along = json_of('grad', loop, '--hvp', 'a=1,1,1', '--hvp', 'b=1,1,1', *at)['tangents']
    for got in along:
        name = got['name'].split('.')[0]
        assert abs(got['norm'] - second[name]) <= 1e-9 * second[name] and second[name] > 0, (along, second)
    for options, said in ((('--order', '3'), '1 and 2 are known'), (('--order', '2', '--mode', 'tape'), 'says nothing'),
                          (('--order', '2', '--explain', 'a'), 'leave --order out')):
        code, _, err = irscope('grad', cube, '--wrt' if '--explain' not in options else '--of',
                               'inputs' if '--explain' not in options else 'f', *options)
        assert code == 2 and said in err, (options, code, err)


@test('gradcheck: one element of one value')
def _():
    net = model('element', 'g (float[2,3] x, float s) => (float y) <float[3,4] "w,0" = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}> '
                           '{ t = MatMul (x, "w,0")  u = Tanh (t)  v = Mul (u, s)  y = ReduceSum <keepdims = 0> (v) }')
    at = net, '--random', '3'
    got = json_of('gradcheck', *at, '--wrt', 'w,0', '--element', '2, 1')
    assert got['checked'] == got['passed'] == 1 and got['worst']['input'] == 'w,0' and got['worst']['index'] == 9, got
    assert got['worst'] == json_of('gradcheck', *at, '--wrt', 'w,0', '--element', '9')['worst'], got
    assert abs(got['worst']['numeric'] - got['worst']['left']) < 1e-4 and got['worst']['analytic'] != 0, got
    assert json_of('gradcheck', *at, '--wrt', 's', '--element', '0')['worst']['index'] == 0
    for options, said in ((('--wrt', 'w,0', '--element', '2,4'), 'w,0 has no element 2,4: its last is [2, 3]'),
                          (('--wrt', 'w,0', '--element=-1'), 'has no element -1'), (('--wrt', 's', '--element', ''), 'has no element'),
                          (('--element', '0'), 'here are 3 values to derive by'),
                          (('--element', '0', '--order', '2'), 'leave --node, --op and --order out')):
        code, _, err = irscope('gradcheck', *at, *options)
        assert code == 2 and said in err, (options, code, err)


@test('the norm of what is not finite is not finite')
def _():
    at = EXAMPLE, '--wrt', 'inputs', '--value', 'x1=0', '--value', 'x2=5'
    got = json_of('grad', *at)['gradients']
    assert [(g['norm'], g['max_abs']) for g in got][0] == ('Infinity', 'Infinity') and got[1]['norm'] > 0, got
    assert 'norm inf' in irscope('grad', *at)[1]
    stages = json_of('grad', EXAMPLE, *at[3:], '--explain', 'x1')['explain']['stages']
    assert stages[-1]['norm'] == 'Infinity' and stages[0]['norm'] == 1, stages


@test('names with commas stand in lists of names')
def _():
    net = model('commas', 'g (float[2] "a,b", float[2] a, float[2] "a,b,c") => (float[2] y) '
                          '{ t = Mul ("a,b", a)  y = Mul (t, "a,b,c") }')
    got = json_of('grad', net, '--wrt', 'a,b,a,a,b,c')
    assert [g['name'] for g in got['gradients']] == ['a,b', 'a', 'a,b,c'], got
    assert json_of('gradcheck', net)['passed'] == 6  # of all three, whose names are put together


@test('gradcheck: one node, all of an operator, second derivatives')
def _():
    net = model('alone', 'g (float[2,3] x) => (float[2,3] y) <float[3,3] w = {1, -2, 3, 4, 5, 6, -7, 8, 9}> '
                         '{ [m] t = MatMul (x, w)  [s] u = Sigmoid (t)  [k] v = Mul (u, x)  [e] y = Sigmoid (v) }')
    got = json_of('gradcheck', net, '--node', 'k')
    assert got['checked'] == got['passed'] == 12 and got['worst']['node'] == 'k' and got['worst']['operator'] == 'Mul', got
    got = json_of('gradcheck', net, '--op', 'Sigmoid')
    assert got['checked'] == got['passed'] == 12 and got['worst']['input'] in ('t', 'v'), got
    got = json_of('gradcheck', net, '--order', '2')
    assert got['checked'] == got['passed'] > 6 and got['worst']['node'] is None and got['worst']['analytic'] != 0, got
    for options, said in ((('--node', 'nobody'), 'nobody'), (('--op', 'Conv'), 'no node of that operator'),
                          (('--node', 'k', '--op', 'Mul'), 'leave one out'), (('--node', 'k', '--wrt', 'x'), 'leave --of'),
                          (('--order', '3'), '1 and 2 are known')):
        code, _, err = irscope('gradcheck', net, *options)
        assert code == 2 and said in err, (options, code, err)


@test('gradcheck: the cases of an operator, without a model')
def _():
    got = json_of('gradcheck', '--op', 'Gelu')  # of three domains
    assert got['passed'] == got['checked'] == 21 and got['findings'] == [] and 'Gelu' in got['worst']['case'], got
    own = json_of('gradcheck', '--op', 'com.microsoft.Gelu')
    assert own['passed'] == own['checked'] == 3 and own['worst']['case'] == 'y = com.microsoft.Gelu (a)', own
    assert not list(violations(own, json.load(open(os.path.join(ROOT, 'data/schema/gradcheck.schema.json'))))), own
    assert json_of('gradcheck', '--op', 'MatMul', '--order', '2')['failed'] == 0
    far = irscope('gradcheck', '--op', 'Sin', '--eps', '0.9', '--rtol', '0', '--atol', '1e-9')  # far too coarse
    assert far[0] == 1 and 'FAILED' in far[1] and 'y = Sin (a)' in far[1], far
    for options, said in (((), 'needs FILE, a model, or --op OP'), (('--op', 'Nobody'), 'there is no operator Nobody'),
                          (('--op', 'NonZero'), 'nothing to check. '), (('--op', 'Hardmax'), 'its derivative is 0'),
                          (('--op', 'QuantizeLinear'), 'straight through'), (('--op', 'Upsample'), 'upgraded'),
                          (('--op', 'com.microsoft.Relu'), 'there is no operator'), (('--op', 'Relu', '--wrt', 'a'), 'give its FILE'),
                          (('--op', 'Relu', '--order', '3'), '1 and 2 are known')):
        code, _, err = irscope('gradcheck', *options)
        assert code == 2 and said in err, (options, code, err)


TRAIN = ('--data', 'x=x.npy', '--loss', 'y', '--optimizer', 'sgd', '--rate', '1', '-o', os.path.join(WORK, 'none.onnx'))


@test('a number 0 is no default')
def _():
    net = model('nought', 'g (float[2] x) => (float[2] y) { y = Sin (x) }')
    for command, options, said in (('gradcheck', ('--eps', '0'), '--eps 0'), ('gradcheck', ('--order', '0'), '--order 0'),
                                   ('grad', ('--mode', 'numeric', '--wrt', 'x', '--step', '0'), '--step 0'),
                                   ('grad', ('--wrt', 'x', '--order', '0'), 'order'),
                                   ('train', TRAIN + ('--batch', '0'), '--batch and --epochs need 1'),
                                   ('train', TRAIN + ('--epochs', '0'), '--batch and --epochs need 1'),
                                   ('train', TRAIN + ('--clip', '0'), '--clip 0: needs a length above 0'), ('grad', ('--wrt', 'x', '--step', '0'), '--step says nothing')):
        code, _, err = irscope(command, net, *options)
        assert code == 2 and said in err, (command, options, code, err)
    code, out, _ = irscope('gradcheck', net, '--atol', '0', '--rtol', '0')  # nothing is allowed
    assert code == 1 and ' 0 passed' in out, out


@test('gradcheck finds what differences do not say: rounding derived straight through')
def _():
    rounded = model('rounded', 'g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {128}> '
                               '{ q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z) }')
    got = json_of('gradcheck', rounded, '--wrt', 'inputs', '--value', 'x=0.6,-1.1', status=1)
    assert got['failed'] == 2 and got['worst']['analytic'] == 1 and got['worst']['numeric'] == 0, got


HEADS = ', '.join(f'float[4] {name} = {{{values}}}' for name, values in
                  (('one', '1, 1, 1, 1'), ('low', '-200, -200, -200, -200'), ('half', '-200, 1, 1, -200'), ('none', '0, 0, 0, 0'),
                   ('mixed', '1, -2, 0, 3'), ('mask', '0, 1, 0, 1'), ('thin', '1e-30, 1e-30, 1e-30, 1e-30'),
                   ('steep', '60, 60, 60, 60')))
# what is between w and y, what is said, and the node that is named
CAUSES = (
    ('[at] y = Sum (w)', 'plain', None),
    ('[at] i = Cast <to = 6> (w)  f = Cast <to = 1> (i)  y = Sum (f)', 'no-path', 'at'),
    ('h = Add (w, low)  [at] y = Relu (h)', 'dead', 'at'),
    ('h = Add (w, low)  [at] r = ThresholdedRelu (h)  y = Mul (r, one)', 'dead', 'at'),
    ('h = Add (w, half)  [at] y = Relu (h)', 'dead', 'at'),
    ('h = Sub (one, steep)  [at] r = Relu (h)  y = Mul (r, w)', 'dead', 'at'),
    ('h = Add (w, steep)  [at] y = Sigmoid (h)', 'saturated', 'at'),
    ('h = Add (w, low)  [at] t = Clip (h, none_scalar)  y = Mul (t, one)', 'saturated', 'at'),
    ('h = Mul (w, steep)  h2 = Mul (h, thin)  h3 = Sub (h2, steep)  [at] y = Tanh (h3)', 'saturated', 'at'),
    ('[at] p = Softmax (w)  q = Mul (p, steep)  y = Sum (q)', 'cancelled', 'at'),
    ('c = Greater (none, one)  [at] y = Where (c, w, x)', 'masked', 'at'),
    ('h = Abs (steep)  [at] y = PRelu (h, w)', 'masked', 'at'),
    ('[at] t = Mul (w, none)  y = Add (t, x)', 'times-zero', 'at'),
    ('[at] t = Mul (w, thin)  y = Mul (t, thin)', 'underflow', 'at'),
    ('c = Greater (mixed, none)  v = Mul (w, mixed)  [at] s = Sqrt (v)  y = Where (c, s, w)', 'non-finite', 'at'),
    ('[at] s = Log (none)  t = Mul (s, w)  y = Mul (t, none)', 'non-finite', 'at'),
    ('[at] e = Exp (steep2)  y = Mul (e, w)', 'non-finite', 'at'),
)


@test('--explain names the kind and the node, whatever makes a derivative 0, tiny or not a number')
def _():
    for i, (body, kind, node) in enumerate(CAUSES):
        path = model(f'cause{i}', f'g (float[4] x) => (float[4] y) <{HEADS}, float[4] w = {{1, 2, 3, 4}}, float none_scalar = {{0}}, '
                                  f'float[4] steep2 = {{90, 1, 1, 1}}> {{ {body} }}')
        got = json_of('grad', path, '--explain', 'w')['explain']
        assert (got['kind'], got['node']) == (kind, node), (body, got)
        assert kind == 'no-path' or got['stages'][-1]['value'] == 'w', (body, got)


INSIDE = (
    ('[c] y = f.dead (h)', 'dead', 'c', 'dead/in (Relu) is dead'),
    ('[c] y = f.outer (h)', 'dead', 'c', 'dead/in (Relu) is dead'),
    ('[c] a = f.squared (h)  y = Mul (a, w)', 'dead', 'c', 'squared/in (Relu) is dead: its input is -8'),
    ('[c] a = f.dead (w)  y = Mul (a, x)', 'plain', None, 'Nothing is remarkable'),
    ('r = Relu (h)  [c] y = f.dead (r)', 'dead', 'c', 'its input is 0'),
)


@test('--explain names the node that is nearest where several ways end, and where the zeros of a factor begin')
def _():
    path = model('branches', 'g (float[4] x) => (float[4] y) <float[4] low = {-9, -9, -9, -9}, float[4] w = {1, 2, 3, 4}, float[4] v = {1, 2, 3, 4}, float[4] p = {1, 2, 3, 4}> '
                             '{ h = Add (w, low)  [dead] r = Relu (h)  [side] t = Mul (v, r)  [far] u = Relu (t)  s = Add (r, u)  d = Identity (s)  [out] y = Mul (d, p) }')
    why = json_of('grad', path, '--explain', 'w')['explain']
    assert why['node'] == 'dead' and why['text'].endswith('Other ways end at far (Relu).'), why
    why = json_of('grad', path, '--explain', 'p')['explain']
    assert why['kind'] == 'dead' and 'dead (Relu) is dead' in why['text'] and 'which out (Mul) multiplies by' in why['text'], why


@test('--explain looks into the body of a call, and says when there are no elements or the cotangent is 0')
def _():
    for i, (body, kind, node, text) in enumerate(INSIDE):
        path = model(f'inside{i}', f'g (float[4] x) => (float[4] y) <float[4] low = {{-9, -9, -9, -9}}, float[4] w = {{1, 2, 3, 4}}> {{ h = Add (w, low)  {body} }}\n'
                     '<domain: "f", opset_import: ["" : 21, "f" : 1]> dead (x) => (z) { [in] z = Relu (x) }\n'
                     '<domain: "f", opset_import: ["" : 21, "f" : 1]> outer (x) => (z) { [at] z = f.dead (x) }\n'
                     '<domain: "f", opset_import: ["" : 21, "f" : 1]> squared (x) => (z) { [in] r = Relu (x)  z = Mul (r, r) }')
        got = json_of('grad', path, '--explain', 'w', '--value', 'x=1,1,1,1')['explain']
        assert got['kind'] == kind and got['node'] == node and text in got['text'], (body, got)
    for i, (result, body, text) in enumerate((('float[0,2]', 'y = Relu (h)', 'y has no elements'),
                                              ('float', '[r] y = ReduceSum <keepdims = 0> (h)', 'h, which r (ReduceSum) reads, has no elements'))):
        path = model(f'empty{i}', f'g (float[0,3] x) => ({result} y) <float[3,2] w = {{1, 2, 3, 4, 5, 6}}> {{ h = MatMul (x, w)  {body} }}')
        assert text in json_of('grad', path, '--explain', 'w')['explain']['text'], path
    path = model('cotangent', 'g (float[4] x) => (float[4] y, float[4] u) <float[4] w = {1, 2, 3, 4}, float[4] v = {0, 0, 0, 0}> { h = Exp (w)  y = Add (h, x)  u = Add (v, x) }')
    assert 'the cotangent' in json_of('grad', path, '--of', 'y', '--explain', 'w', '--cotangent', 'v')['explain']['text']
    half = model('half', 'g (float16[4] x) => (float16[4] y) <float16[4] w = {1, 1, 1, 1}, float16[4] thin = {0.0001, 0.0001, 0.0001, 0.0001}> '
                         '{ [at] t = Mul (w, thin)  y = Mul (t, thin) }')
    assert json_of('grad', half, '--explain', 'w')['explain']['kind'] == 'underflow'


@test('--out: a file for each derivative, also where names come to one, and where NumPy has no such type')
def _():
    path = model('alike', 'g (float[2] x) => (float[2] y) <float[2] "a/b" = {1, 2}, float[2] a_b = {3, 4}> { p = Mul (x, "a/b")  q = Exp (a_b)  y = Add (p, q) }')
    out = os.path.join(WORK, 'alike')
    files = [g['file'] for g in json_of('grad', path, '--value', 'x=5,6', '--out', out)['gradients']]
    assert len(set(files)) == 2 and all(os.path.isfile(f) for f in files), files
    path = model('brain', 'g (bfloat16[2] x) => (bfloat16[2] y) { y = Mul (x, x) }')
    got = json_of('grad', path, '--wrt', 'inputs', '--out', out)['gradients'][0]
    assert got['file'].endswith('.pb') and os.path.isfile(got['file']), got


@test('--explain: what is held, which sample, a bias that normalization takes out, and what it refuses')
def _():
    held = model('held', 'g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { h = Mul (x, w)  y = Exp (h) }')
    got = json_of('grad', held, '--explain', 'w', '--stop', 'h')['explain']
    assert got['kind'] == 'frozen' and 'h, which counts as constant' in got['text'], got
    batch = model('batch', 'g (float[4,2] x) => (float[4,2] y) <float[2] w = {1, 2}> { h = Mul (x, w)  [at] y = Log (h) }')
    got = json_of('grad', batch, '--explain', 'w', '--value', 'x=1,1,1,1,0,1,1,1')['explain']
    assert (got['kind'], got['node'], got['sample'], got['forward_finite']) == ('non-finite', 'at', 2, False), got
    assert 'element 4, of sample 2' in got['text'], got
    rows = model('rows', 'g (float[2,3] x) => (float[2,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}, float[2,3] m = {0, 0, 0, -inf, -inf, -inf}> '
                         '{ a = Add (w, m)  [at] s = Softmax (a)  y = Mul (s, x) }')
    got = json_of('grad', rows, '--explain', 'w')['explain']
    assert (got['kind'], got['node'], got['sample']) == ('non-finite', 'at', 1) and 'masked whole' in got['text'], got
    norm = model('norm', 'g (float[64,3] x, float[64,3] k) => (float[64,3] y) <float[3] b = {1, 2, 3}, float[3] s = {1, 1, 1}, '
                         'int64[1] a = {0}> { h = Add (x, b)  m = ReduceMean (h, a)  d = Sub (h, m)  y = Mul (d, k) }')
    assert json_of('grad', norm, '--explain', 'b')['explain']['kind'] == 'cancelled'
    code, out, err = irscope('grad', held, '--explain', 'w', '--wrt', 'x')
    assert code == 2 and out == '' and 'leave --wrt out' in err, err
    code, out, err = irscope('grad', held, '--explain', 'nix')
    assert code == 2 and out == '' and 'no value "nix"' in err, err


@test('what all inputs hold by default is what they are derived at; beside a true input it is a parameter')
def _():
    code, out, err = irscope('grad', EXAMPLE, '--wrt', 'inputs')
    assert code == 0 and out.startswith('f = 11.6521\n') and 'max 5.5 ' in out, (out, err)
    moved = {g['name']: g['norm'] for g in json_of('grad', EXAMPLE, '--wrt', 'inputs', '--value', 'x1=4')['gradients']}
    assert near([moved['x1'], moved['x2']], [5.25, 4 - math.cos(5)]), moved
    code, out, _ = irscope('run', EXAMPLE, '--fill', 'x1=ones')
    assert code == 0 and out.startswith('f  float[]  5.958924'), out
    for wrt in ('inputs', 'all', 'x2,x1'):
        rows = json_of('grad', EXAMPLE, '--wrt', wrt, '--jacobian')['jacobian']
        assert sorted(row['name'] for row in rows) == ['x1', 'x2'], rows
    code, _, err = irscope('grad', EXAMPLE)
    assert code == 2 and 'no floating-point parameters; try inputs' in err, err
    body = '<float[2] w = {3, 4}> { y = Mul (x, w) }'
    listed = model('listed', f'g (float[2] x, float[2] w) => (float[2] y) {body}')
    all_given = model('given', f'g (float[2] x, float[2] w) => (float[2] y) <float[2] x = {{1, 2}}, {body[1:]}')
    wrt = lambda path, kind: [g['name'] for g in json_of('grad', path, '--wrt', kind)['gradients']]
    assert (wrt(listed, 'inputs'), wrt(listed, 'params'), wrt(listed, 'all')) == (['x'], ['w'], ['w', 'x'])
    assert (wrt(all_given, 'inputs'), wrt(all_given, 'all')) == (['x', 'w'], ['x', 'w'])
    old = model('old', '<ir_version: 3, opset_import: ["" : 18]>\n' + open(all_given).read().split('>\n', 1)[1])  # inputs that are constants
    assert wrt(old, 'params') == ['x', 'w'] and irscope('grad', old, '--wrt', 'inputs')[0] == 2


@test('overlays: what is not finite of what came back to each node, and derivatives as shares of weights')
def _():
    path = model('gated', 'g (float[4] x) => (float[4] y) <float[4] w = {0, 2, 0, 2}, float[4] v = {3, 0, 0, 4}, float[4] o = {1, 1, 1, 1}, float z = {0}> '
                          '{ [gate] h = Mul (x, w)  [root] s = Sqrt (h)  p = Greater (h, z)  [safe] c = Where (p, s, o)  [out] y = Add (c, v) }')
    shown = {}
    for overlay in ('gradient-nan', 'gradient-weight'):
        out = os.path.join(WORK, overlay + '.svg')
        code, _, err = irscope('render', path, '--overlay', overlay, '--wrt', 'params', '--value', 'x=1', '-o', out)
        assert code == 0, err
        shown[overlay] = open(out).read()
    assert '>50 %<' in shown['gradient-nan'] and '>0 %<' in shown['gradient-nan'], shown
    assert '>0.4<' in shown['gradient-weight'], shown  # ones by a weight of norm 5; that by w is not finite


@test('a node marked stop or straight-through is derived so, in a file that was written too, and --explain says it')
def _():
    plain = model('round', 'g (float[3] x) => (float[3] y) <float[3] w = {1.2, -2.3, 3}> { [r] q = Round (w)  [m] y = Mul (q, x) }')
    for mark, kind, norm in (('straight-through', 'plain', 3 ** 0.5), ('plain', 'no-path', 0), ('stop', 'frozen', 0)):
        for ending in ('onnx', 'onnxtxt', 'json'):
            marked = os.path.join(WORK, f'{mark}.{ending}')
            assert irscope('edit', plain, '--do', f'gradient r {mark}', '-o', marked)[0] == 0
            got = json_of('grad', marked, '--explain', 'w', '--value', 'x=1')
            assert got['explain']['kind'] == kind and abs(got['gradients'][0]['norm'] - norm) < 1e-6, (mark, ending, got)
    sine = model('sine', '<ir_version: 8, opset_import: ["" : 18]>\ng (float x) => (float y) { [s] a = Sin (x)  [r] b = Round (a)  c = Add (a, b)  y = Mul (x, c) }')
    for act in ('s stop', 'r straight-through'):
        marked = os.path.join(WORK, 'sine2.onnxtxt')
        assert irscope('edit', sine, '--do', f'gradient {act}', '-o', marked)[0] == 0
        norms = {mode: json_of('grad', marked, '--mode', mode, '--wrt', 'x', '--value', 'x=1.2')['gradients'][0]['norm'] for mode in ('reverse', 'tape')}
        assert abs(norms['reverse'] - norms['tape']) < 1e-6, (act, norms)
        text = irscope('grad', marked, '--mode', 'symbolic', '--wrt', 'x')[1]
        assert ('cos' in text.splitlines()[1]) == (act == 'r straight-through'), (act, text)
    stopped = os.path.join(WORK, 'stopped.onnx')
    assert irscope('edit', plain, '--do', 'gradient r straight-through', '--do', 'gradient m stop', '-o', stopped)[0] == 0
    got = json_of('grad', stopped, '--explain', 'w')['explain']
    assert got['kind'] == 'frozen' and got['node'] == 'm' and 'stop is marked on m (Mul)' in got['text'], got
    code, out, err = irscope('diff', plain, stopped, '--gradients', '--of', 'y')
    assert code == 0 and 'nothing comes to it in both' in out, (code, out, err)  # Round cuts the path of the one
    code, out, err = irscope('diff', os.path.join(WORK, 'straight-through.onnx'), stopped, '--gradients', '--of', 'y', '--value', 'x=1')
    assert code == 1 and 'nothing comes to it in B. The path ends at m (Mul): it is marked stop.' in out, (code, out, err)
    code, out, err = irscope('gradcheck', os.path.join(WORK, 'straight-through.onnx'))
    assert code == 1 and 'r (Round) is marked straight-through: ' in out, (code, out, err)
    wide = model('wide', 'g (float[2,3] x) => (float[2] y) <int64[1] a = {1}> { [s] y = ReduceSum <keepdims = 0> (x, a) }')
    narrow = os.path.join(WORK, 'narrow.onnx')
    assert irscope('edit', wide, '--do', 'gradient s straight-through', '-o', narrow)[0] == 0
    code, out, err = irscope('grad', narrow, '--wrt', 'inputs')
    assert code == 2 and out == '' and 's (ReduceSum)' in err and 'straight-through' in err, err
    code, out, err = irscope('edit', plain, '--do', 'gradient r no', '-o', narrow)
    assert code == 2 and 'needs stop, straight-through or plain' in err, err


# A dead layer, a cut branch, a value of several readers one of which gives 0, and the same behind a choice.
PLANTED = model('planted', 'g (float[4,3] x) => (float[4,2] y) <float[3,5] w1 = {1, -2, 3, 4, 5, -6, 7, 8, -9, 1, 2, 3, -4, 5, 6}, float[5] b1 = {0.1, 0.2, -90, 0.4, 0.5}, '
                          'float[5,2] w2 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, float[2] low = {-9, -9}, float[2] cut = {1, 2}, float[2] s = {1, 1}> '
                          '{ h = MatMul (x, w1)  i = Add (h, b1)  [half] r = Relu (i)  z = MatMul (r, w2)  [dead] d = Relu (low)  e = Mul (z, s)  '
                          'f = Add (e, d)  [floor] c = Floor (cut)  y = Add (f, c) }')
CHOICE = model('choice', 'g (float[4] x) => (float[4] y) <float[4] w = {1, 0, 0, 3}, bool[4] c = {1, 0, 0, 1}, float[4] u = {1, 2, 3, 4}> '
                         '{ v = Mul (w, x)  [root] s = Sqrt (v)  t = Where (c, s, w)  y = Mul (t, u) }')


@test('what is 0 or not finite says why among all derivatives as --explain says of it alone')
def _():
    found = {}
    for path in (PLANTED, CHOICE):
        for gradient in json_of('grad', path, '--value', 'x=1')['gradients']:
            one = json_of('grad', path, '--value', 'x=1', '--explain', gradient['name'])
            alone, reason = one['explain'], gradient['reason']
            found[gradient['name']] = reason and (reason['kind'], reason['node'])
            assert gradient['norm'] == one['gradients'][0]['norm'], (gradient, one)
            if reason is not None:
                assert all(reason[key] == alone[key] for key in ('kind', 'node', 'operator', 'text')), (gradient, alone)
            else:
                assert alone['kind'] in ('plain', 'dead', 'masked'), (gradient, alone)
    assert found == {'w1': None, 'b1': None, 'w2': None, 's': None, 'low': ('dead', 'dead'), 'cut': ('no-path', 'floor'),
                     'w': ('non-finite', 'root'), 'u': None}, found


@test('--layers: what came back to each node, its growth, and units that let nothing pass')
def _():
    got = json_of('grad', PLANTED, '--value', 'x=1', '--layers')
    layers = {layer['node']: layer for layer in got['layers'] if not layer['node'].startswith('#')}
    assert (layers['half']['units'], layers['half']['dead_units']) == (5, 2), layers['half']
    assert (layers['dead']['units'], layers['dead']['nan']) == (0, 0), layers['dead']
    came = [[3, 7, 11, 15, 19]] * 4  # ones times w2, transposed
    squares = sum(x * x for row in came for x in row)
    assert abs(layers['half']['norm'] - squares ** 0.5) < 1e-4 and layers['half']['zeros'] == 0, layers['half']
    kept = squares - 4 * (3 * 3 + 11 * 11)  # the first unit, and that of the bias -90
    assert abs(layers['half']['growth'] - (kept / squares) ** 0.5) < 1e-6, layers['half']
    operators = [layer['operator'] for layer in got['layers']]
    assert operators.index('Relu') < len(operators) - 1 - operators[::-1].index('MatMul'), operators
    norms = {g['name']: (g['norm'], g['held_norm']) for g in got['gradients']}
    assert abs(norms['s'][1] - 2 ** 0.5) < 1e-6 and norms['low'][0] == 0, norms
    code, out, err = irscope('grad', PLANTED, '--value', 'x=1', '--layers')
    assert code == 0 and '2 of 5' in out and 'What came back to each node, from y on' in out, out
    code, out, err = irscope('grad', PLANTED, '--mode', 'tape', '--layers')
    assert code == 2 and '--layers says nothing to --mode tape' in err, err


@test('what is in a body is not derived, nor derived by: the node that owns it and what to do are named')
def _():
    newton = os.path.join(ROOT, 'data/examples/while-newton.onnxtxt')
    for option, name in (('--of', 'better'), ('--of', 'loop@3/better'), ('--wrt', 'better')):
        code, out, err = irscope('grad', newton, option, name)
        assert code == 2 and f'"{name}" is in a body of loop (Loop)' in err and 'unroll-loops' in err, err
    code, out, err = irscope('grad', newton, '--of', 'pool@3/better')
    assert code == 2 and 'there is no value "pool@3/better" in the main graph' in err, err


@test('--layers: through nodes that hand on what comes as it is, what came is what the derivative by their output is')
def _():
    path = model('passing', 'g (float[2,4] x) => (float l) <float[4,4] w = {1, 0, 0, 2, 0, 1, 3, 0, 0, 2, 1, 0, 1, 0, 0, -1}, float[4] b = {1, 2, 3, 4}> '
                            '{ [two] x0 = Add (x, x)  [mm] t = MatMul (x0, w)  [bias] u = Add (t, b)  [act] a = Relu (u)  [mm2] c = MatMul (a, w)  '
                            '[res] r = Add (c, t)  [same] i = Identity (r)  [res2] p = Sum (i, a, t)  [floor] f = Floor (p)  [res3] q = Add (p, f)  '
                            '[square] s = Mul (q, q)  [aside] n = Sub (b, b)  l = ReduceSum <keepdims = 0> (s) }')
    made = {'two': 'x0', 'mm': 't', 'bias': 'u', 'act': 'a', 'mm2': 'c', 'res': 'r', 'same': 'i', 'res2': 'p', 'floor': 'f', 'res3': 'q', 'square': 's'}
    for by in ('x', 'x,' + ','.join(made.values())):
        got = json_of('grad', path, '--wrt', by, '--fill', 'x=uniform,low=-1', '--layers')
        layers = {layer['node']: layer for layer in got['layers']}
        assert 'aside' not in layers, layers['aside']
        if by != 'x':
            norms = {g['name']: g['norm'] for g in got['gradients']}
            for node, value in made.items():
                assert near([layers[node]['norm']], [norms[value]]), (node, layers[node], norms[value])
    assert layers['res']['growth'] == 1 and layers['floor']['growth'] is None, layers
    stopped = json_of('grad', path, '--wrt', 'x', '--stop', 'i', '--fill', 'x=uniform,low=-1', '--layers')
    assert not {layer['node'] for layer in stopped['layers']} & {'mm2', 'res', 'same'}, stopped['layers']


@test('diff --gradients: before and after passes, of two models, and what is on one side alone')
def _():
    digits = os.path.join(ROOT, 'data/examples/digits.onnx')
    after = os.path.join(WORK, 'cheap.onnx')
    assert irscope('optimize', digits, '--pass', 'fold-shapes,cancel-transposes,eliminate-dead-code', '-o', after)[0] == 0
    got = json_of('diff', digits, after, '--gradients', '--of', '/fc/Add_output_0', status=1)['gradients']
    assert len(got) == 16 and not any(g['diverges'] for g in got) and all(g['norm_a'] > 0 for g in got), got
    one = model('one', 'g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}, float[3] b = {1, 2, 3}> { m = Mul (x, w)  y = Add (m, b) }')
    two = model('two', 'g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}, float[3] c = {1, 2, 3}> { m = Mul (x, w)  s = Mul (m, m)  y = Add (s, c) }')
    by = {g['name']: g for g in json_of('diff', one, two, '--gradients', '--value', 'x=1,2,3', status=1)['gradients']}
    assert by['w']['diverges'] and abs(by['w']['max_abs'] - (2 * 9 * 3 - 3)) < 1e-4, by  # 2 x^2 w against x
    assert (by['b']['norm_b'], by['c']['norm_a'], by['b']['max_abs']) == (None, None, None), by
    code, out, err = irscope('diff', one, one, '--gradients')
    assert code == 0 and '2 compared, 0 differ' in out and 'the same, bit for bit' in out, (code, out, err)
    code, out, err = irscope('diff', one, two, '--of', 'y')
    assert code == 2 and '--gradients' in err, err
    code, out, err = irscope('diff', one, two, '--gradients', '--of', 'q', '--json')
    assert code == 2 and out == '' and 'no value "q"' in err, (code, out, err)


@test('guard-where takes the NaN of what a choice leaves out away, on both sides and once')
def _():
    for i, body in enumerate(('v = Mul (w, x)  s = Sqrt (v)  y = Where (c, s, w)', 'l = Log (w)  d = Not (c)  y = Where (d, x, l)',
                              'v = Mul (w, k)  e = Exp (v)  d = Not (c)  y = Where (d, w, e)', 'q = Div (x, w)  y = Where (c, q, w)')):
        path = model(f'guard{i}', 'g (float[4] x) => (float[4] y) <float[4] w = {1, 0, 0, 3}, bool[4] c = {1, 0, 0, 1}, '
                                  f'float[4] k = {{1, 1, 1, 1}}> {{ {body} }}')
        guarded, again = os.path.join(WORK, f'guarded{i}.onnxtxt'), os.path.join(WORK, 'again.onnxtxt')
        assert irscope('optimize', path, '--pass', 'guard-where', '-o', guarded)[0] == 0
        assert len(json_of('steps', guarded, '--pass', 'guard-where')['steps']) == 0
        before, after = (json_of('grad', f, '--wrt', 'w', '--value', 'x=1') for f in (path, guarded))
        assert after['gradients'][0]['nan'] == 0 and after['value'] == before['value'], (body, before, after)
        assert before['gradients'][0]['nan'] > 0 or 'Exp' in body or 'Log' in body, (body, before)


@test('random numbers of a function that a body calls are refused as its own are')
def _():
    path = model('drawn', 'g (float[4] x, bool p) => (float[4] y) { y = If (p) <then_branch = t () => (float[4] q) { q = my.f (x) }, else_branch = e () => (float[4] r) { r = Neg (x) }> }\n'
                 '<domain: "my", opset_import: ["" : 18]>\nf (v) => (w) { r = RandomUniformLike (v)  w = Mul (v, r) }')
    text = open(path).read().replace('opset_import: ["" : ', 'opset_import: ["my" : 1, "" : ', 1)
    open(path, 'w').write(text)
    code, out, err = irscope('grad', path, '--wrt', 'x', '--value', 'x=1', '--value', 'p=1')
    assert code != 0 and 'draws random numbers' in err, (code, out, err)


@test('the tape names unrolling only where that can be')
def _():
    body = '<body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) { d = Identity (c)  t = Mul (s, s) }>'
    fixed = model('fixed', f'g (float[2] x) => (float[2] y) <int64 n = {{2}}, bool c = {{1}}> {{ [turn] y = Loop {body} (n, c, x) }}')
    given = model('given', f'g (float[2] x, int64 n) => (float[2] y) <bool c = {{1}}> {{ [turn] y = Loop {body} (n, c, x) }}')
    for path, can in ((fixed, True), (given, False)):
        code, out, err = irscope('grad', path, '--mode', 'tape', '--wrt', 'x', *(() if can else ('--value', 'n=2')))
        assert code == 2 and 'turn (Loop): the tape has no nodes of bodies' in err and ('unroll-loops' in err) == can, err
    plain = os.path.join(WORK, 'unrolled.onnxtxt')
    assert irscope('optimize', fixed, '--pass', 'unroll-loops', '-o', plain)[0] == 0
    norms = {json_of('grad', path, '--mode', mode, '--wrt', 'x', '--value', 'x=1,2')['gradients'][0]['norm']
             for path, mode in ((plain, 'tape'), (fixed, 'reverse'))}
    assert len({round(norm, 4) for norm in norms}) == 1, norms  # as the advice says


@test('what lies behind the end of a sequence is in no derivative')
def _():
    path = model('padded', 'g (float[3,1,2] x, float[1,3,2] w, float[1,3,3] r, int32[1] l) => (float[1,1,3] yh) { y, yh = RNN <hidden_size = 3> (x, w, r, "", l) }')
    got = json_of('grad', path, '--wrt', 'x,w,r', '--value', 'x=1,2,3,4,nan,nan', '--value', 'l=2')
    assert all(g['nan'] == 0 for g in got['gradients']), got


@test('steps and tolerances that cannot be are refused, and no difference that is not finite passes')
def _():
    path = model('wide', 'g (float[3] x) => (float[3] y) { y = Exp (x) }')
    for wrong in (('--eps', 'inf'), ('--eps', '-1'), ('--eps', 'nan'), ('--atol', '-1'), ('--rtol', 'nan'), ('--eps', '1e300')):
        code, out, err = irscope('gradcheck', path, *wrong)
        assert code == 2 and wrong[0] in err, (wrong, code, out, err)
    code, out, err = irscope('gradcheck', path, '--value', 'x=709.7827,1,2')
    assert 'by differences inf' not in out or code == 1, (code, out, err)


@test('--out writes the same files with and without --json')
def _():
    plain = model('plain', 'g (float[3] x) => (float[3] y) { h = Exp (x)  y = Mul (h, x) }')
    for mode in ('reverse', 'forward', 'numeric', 'tape'):
        files = []
        for more in ((), ('--json',)):
            to = os.path.join(WORK, f'out-{mode}{len(more)}')
            assert irscope('grad', plain, '--mode', mode, '--wrt', 'x', '--value', 'x=1,2,3', '--out', to, *more)[0] == 0
            files.append({f: open(os.path.join(to, f), 'rb').read() for f in sorted(os.listdir(to))})
        assert files[0] == files[1] and len(files[0]) == 1, (mode, files)


@test('the complex step does not go silently past what bodies read of around')
def _():
    taken = model('taken', 'g (float[3] x, bool p) => (float[3] y) { h = If (p) <then_branch = t () => (float[3] a) { a = Mul (x, x) }, else_branch = e () => (float[3] b) { b = Exp (x) }>  y = Neg (h) }')
    round_ = model('rounds', 'g (float[3] x) => (float[3] y) <int64 n = {2}, float[3] z = {0, 0, 0}> { y = Loop (n, "", z) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) { d = Identity (c)  t = Add (s, x) }> }')
    for path, given in ((taken, ('--value', 'p=1')), (round_, ())):
        code, out, err = irscope('grad', path, '--mode', 'numeric', '--method', 'complex', '--wrt', 'x', '--value', 'x=1,2,3', *given)
        assert code != 0 and 'stops the complex step' in err, (path, code, out, err)


@test('what is printed is what the schemas say')
def _():
    schema = json.load(open(os.path.join(ROOT, 'data/schema/grad.schema.json')))['properties']['explain']
    got = json_of('grad', CUT, '--of', 'y', '--explain', 'w')['explain']
    assert sorted(got) == sorted(schema['required']) and got['kind'] in schema['properties']['kind']['enum'], got
    for stage in got['stages']:
        assert sorted(stage) == sorted(schema['properties']['stages']['items']['required']), stage
    schema = json.load(open(os.path.join(ROOT, 'data/schema/gradcheck.schema.json')))
    got = json_of('gradcheck', CUT, '--of', 'y')
    assert sorted(got) == sorted(set(schema['properties']) - {'stand_in'}) == sorted(schema['required']), sorted(got)
    schema = json.load(open(os.path.join(ROOT, 'data/schema/grad.schema.json')))
    modes = {way['properties']['mode']['const']: way['required'] for way in schema['oneOf']}
    assert sorted(modes) == sorted(schema['properties']['mode']['enum'])
    for mode, keys in modes.items():
        got = json_of('grad', *AT, '--mode', mode)
        assert sorted(got) == sorted(keys) and set(keys) <= set(schema['properties']), (mode, sorted(got))
        for key, inner in got.items():
            wanted = schema['properties'][key].get('items', {}).get('required')
            if isinstance(inner, list) and wanted:
                assert all(sorted(item) == sorted(wanted) for item in inner), (key, inner)


@test('gradcheck on the bundled examples')
def _():
    for name, of in (('digits', '/fc/Add_output_0'), ('worked-example', 'f'), ('transformer-block', 'encoded')):
        got = json_of('gradcheck', os.path.join(ROOT, f'data/examples/{name}.onnx'), '--of', of)
        assert got['failed'] == 0 and got['checked'] > 0, (name, got)


run_tests()
