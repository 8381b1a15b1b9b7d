#!/usr/bin/python3
"""Training on the command line: what it comes to, what it leaves, that a break changes nothing, and what it
refuses; prints TAP.

    test-train.py IRSCOPE SOURCE_ROOT"""

import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

from tap import run_tests, test

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
WORK = tempfile.mkdtemp(prefix='irscope-train-')
EXAMPLES = os.path.join(ROOT, 'data/examples')
DIGITS = os.path.join(EXAMPLES, 'digits-untrained.onnx')
SAMPLES = ('--data', 'image=' + os.path.join(EXAMPLES, 'digits-images.npy'),
           '--target', os.path.join(EXAMPLES, 'digits-labels.npy'))
HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr


def json_of(*arguments, status=0):
    code, out, err = irscope(*arguments, '--json')
    assert code == status, (arguments, code, err)
    return json.loads(out)


def path(name):
    return os.path.join(WORK, name)


def model(name, text):
    open(path(name + '.onnxtxt'), 'w').write(HEAD + text)
    return path(name + '.onnxtxt')


def npy(name, kind, shape, numbers):
    """A .npy file; kind is numpy's, '<f4'."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    code = {'<f4': 'f', '<f8': 'd', '<i8': 'q', '|u1': 'B', '<f2': 'e'}[kind]
    with open(path(name), 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
        file.write(struct.pack(f'<{len(numbers)}{code}', *numbers))
    return path(name)


def train(*arguments, out='out.onnx', status=0, optimizer=('--optimizer', 'adam', '--rate', '3e-3')):
    return json_of('train', DIGITS, *SAMPLES, '--loss', 'cross-entropy', *optimizer, *arguments, '-o', path(out),
                   status=status)


@test('five epochs of the bundled digits: more than 97 % of the 360 that are held out')
def _digits():
    answer = train('--epochs', '5', '--validate', '20%', '--log', path('log.csv'))
    assert answer['accuracy'] > 0.97 and answer['steps'] == 5 * 44 and answer['epochs'] == 5, answer
    assert answer['allocated_bytes'] == 0 and answer['diverged'] is None, answer
    moved = {p['name']: p for p in answer['parameters']}
    assert 'fc.weight' in moved and not any('running' in name or 'mean' in name for name in moved), moved.keys()
    assert all(p['norm'] > 0 and 0 < p['update_norm'] < p['norm'] and len(p['history']) == 28 and p['stride'] == 8
               for p in moved.values()), moved
    lines = open(path('log.csv')).read().splitlines()
    assert lines[0].startswith('step,epoch,loss,accuracy,rate,ms') and len(lines) == 221, lines[:2]
    assert lines[44].split(',')[1] == '1' and lines[44].split(',')[7] != '' and lines[43].split(',')[7] == '', lines[44]
    assert float(lines[1].split(',')[2]) > 1.5 and float(lines[220].split(',')[2]) < 0.2, (lines[1], lines[220])


@test('a budget is held in each step: the same bits, and what it took; a smaller one than can be is refused')
def _budget():
    plain = train('--deterministic', '--log', path('plain.csv'), out='plain.onnx')
    held = train('--deterministic', '--budget', '96%', '--log', path('held.csv'), out='held.onnx')
    assert 'held' not in plain and held['held']['again'] > 0 and held['allocated_bytes'] == 0, held
    assert held['held']['planned_bytes'] <= held['held']['budget_bytes'] < held['held']['plain_bytes'], held
    assert held['peak_bytes'] < plain['peak_bytes'] and held['loss'] == plain['loss'], (plain, held)
    assert [p['history'] for p in held['parameters']] == [p['history'] for p in plain['parameters']]
    code, _, err = irscope('train', DIGITS, *SAMPLES, '--loss', 'cross-entropy', '--optimizer', 'sgd', '--rate', '1',
                           '--budget', '1%', '-o', path('small.onnx'))
    assert code == 1 and 'the least that was found' in err and not os.path.exists(path('small.onnx')), (code, err)


@test('the curves of a log are drawn, and what is no log is refused by its line')
def _curves():
    head, first = open(path('log.csv')).read().splitlines()[:2]
    assert 'weight_norm,update_norm,' in head and all(float(x) > 0 for x in first.split(',')[-2:]), (head, first)
    for name in ('one.svg', 'two.svg'):
        code, out, err = irscope('render', DIGITS, '--view', 'training', '--log', path('log.csv'), '-o', path(name))
        assert code == 0 and out == '', err
    drawn = open(path('one.svg')).read()
    assert drawn == open(path('two.svg')).read()
    assert all(f'>{word}' in drawn for word in ('Loss<', 'Accuracy<', 'Norms<', 'Rate<', 'step 1<')), drawn
    open(path('odd.csv'), 'w').write(head + '\n' + first + '\n2,1,much,,,,,,,\n')
    open(path('old.csv'), 'w').write('step,epoch,loss,accuracy,rate,ms,validation_loss,validation_accuracy\n1,1,0.5,,0.1,2,,\n')
    assert irscope('render', DIGITS, '--view', 'training', '--log', path('old.csv'), '-o', path('old.svg'))[0] == 0
    for more, says in (((), 'needs --log CSV'), (('--log', path('odd.csv')), 'odd.csv: line 3 is no step'),
                       (('--log', __file__), 'is no log of irscope train'), (('--log', path('gone.csv')), 'gone.csv')):
        code, out, err = irscope('render', DIGITS, '--view', 'training', *more, '-o', path('no.svg'))
        assert code != 0 and says in err, (more, code, err)


@test('how each parameter moved stands in the log, and in the boxes of the nodes that read it')
def _updates():
    answer = json_of('train', DIGITS, *SAMPLES, '--loss', 'cross-entropy', '--optimizer', 'adam', '--rate', '3e-3', '--freeze', 'fc.*',
                     '--log', path('moves.csv'), '-o', path('moves.onnx'))
    head, *lines = open(path('moves.csv')).read().splitlines()
    names = [name.strip('"') for name in head.split(',')[10:]]
    assert names == [p['name'] for p in answer['parameters']] and 'fc.weight' not in names, names
    ratios = [float(cell) for cell in lines[-1].split(',')[10:]]
    assert all(abs(r - p['update_norm'] / p['norm']) <= 1e-3 * r for r, p in zip(ratios, answer['parameters'])), ratios
    boxes = json_of('render', path('moves.onnx'), '--overlay', 'update-weight', '--log', path('moves.csv'), '-o', path('moves.svg'))
    drawn = open(path('moves.svg')).read()
    assert f'{ratios[names.index("conv1.weight")]:.3g}'[:5] in drawn, boxes
    bars = []
    for n in (8, len(lines)):
        open(path('part.csv'), 'w').write('\n'.join([head, *lines[:n]]) + '\n')
        code, _, err = irscope('render', DIGITS, '--overlay', 'update-history', '--log', path('part.csv'), '-o', path('part.svg'))
        assert code == 0, err
        bars.append(open(path('part.svg')).read())
    assert bars[0].count('<image') == bars[1].count('<image') > 8 and bars[0] != bars[1], [b.count('<image') for b in bars]
    open(path('part.csv'), 'w').write('\n'.join([head, lines[0], lines[1].rsplit(',', 1)[0]]) + '\n')
    for more, says in (((), 'needs --log CSV'), (('--log', path('old.csv')), 'no columns of single parameters'),
                       (('--log', path('part.csv')), 'part.csv: line 3 has not a number for each column')):
        code, _, err = irscope('render', DIGITS, '--overlay', 'update-history', *more, '-o', path('no.svg'))
        assert code != 0 and says in err, (more, code, err)


@test('the weights of a trained file are taken as one step, and only where they are the same constants')
def _weights():
    answer = json_of('edit', DIGITS, '--do', 'weights ' + path('out.onnx'), '-o', path('taken.onnx'))
    for name in ('fc.weight', 'conv1.weight', 'bn1.running_mean'):
        one, two = (json_of('tensor', path(file), name) for file in ('out.onnx', 'taken.onnx'))
        assert one['checksum'] == two['checksum'], (name, one, two)
    assert json_of('tensor', DIGITS, 'fc.weight')['checksum'] != json_of('tensor', path('taken.onnx'), 'fc.weight')['checksum']
    other = model('other', 'g (float[2] x) => (float[2] y) <float[2] "fc.weight" = {1, 2}> { y = Mul (x, "fc.weight") }')
    tied = model('tied', 'g (float[2] x) => (float[2] z) <float[2] b = {1, 2}> { b2 = Identity (b)  y = Mul (x, b2)  z = Add (y, b) }')
    apart = model('apart', 'g (float[2] x) => (float[2] z) <float[2] b = {3, 2}, float[2] b2 = {1, 4}> { y = Mul (x, b2)  z = Add (y, b) }')
    for into, file, says in ((DIGITS, os.path.join(EXAMPLES, 'worked-example.onnx'), 'has no constant with the name'),
                             (path('out.onnx'), path('taken.onnx'), 'holds the weights that this model has'),
                             (DIGITS, other, 'fc.weight has another shape'), (tied, apart, 'b2 is a constant in'),
                             (DIGITS, path('gone.onnx'), 'gone.onnx')):
        code, out, err = irscope('edit', into, '--do', 'weights ' + file, '-o', path('no.onnx'))
        assert code != 0 and says in err, (says, code, err)


@test('what is written runs as a plain model, and says how it was trained')
def _plain():
    code, out, err = irscope('run', path('out.onnx'), '--input', 'image=' + os.path.join(EXAMPLES, 'digits-input-7.npy'))
    assert code == 0 and 'float[1,10]' in out, (out, err)
    info = json_of('info', path('out.onnx'))
    assert [v['name'] for v in info['outputs']] == ['probabilities'] and info['problems'] == [], info
    raw = open(path('out.onnx'), 'rb').read()
    for name in (b'conv1.weight.mean', b'optimizer.count', b'conv1.weight.new', b'irscope.training'):
        assert name in raw, name


@test('the same seed gives the same bits, another one others', sanitized=False)
def _seeds():
    sets = {}
    for seed, out in (('3', 'a'), ('3', 'b'), ('4', 'c')):
        train('--epochs', '1', '--seed', seed, '--threads', '1', out=out + '.onnx')
        sets[out] = open(path(out + '.onnx'), 'rb').read()
    assert sets['a'] == sets['b'] and sets['a'] != sets['c']


@test('a run that is killed at a random moment and goes on gives the bits of one without a break', sanitized=False)
def _killed():
    chance = random.Random(os.environ.get('IRSCOPE_SEED', '18'))
    whole = ('--epochs', '4', '--validate', '20%', '--threads', '1')
    train(*whole, out='whole.onnx')
    for how in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):  # interrupted, it stops within an epoch
        arguments = [PROGRAM, 'train', DIGITS, *SAMPLES, '--loss', 'cross-entropy', '--optimizer', 'adam', '--rate',
                     '3e-3', *whole, '-o', path('broken.onnx')]
        if os.path.exists(path('broken.onnx')):
            arguments += ['--resume', path('broken.onnx')]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(path('broken.onnx')) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.4)
        process.send_signal(how)
        process.wait()
    again = train(*whole, '--resume', path('broken.onnx'), out='broken.onnx')
    assert again['steps'] == 4 * 44, again
    assert open(path('broken.onnx'), 'rb').read() == open(path('whole.onnx'), 'rb').read()


@test('a checkpoint of another seed, batch or method is refused, and says what is another')
def _resume_refused():
    answer = train('--epochs', '1', out='one.onnx')
    stands = dict(re.findall(r'"(step|epoch|place|samples)":"(\d+)"', open(path('one.onnx'), 'rb').read().decode('latin-1')))
    assert stands == {'step': str(answer['steps']), 'epoch': '1', 'place': '0', 'samples': '1797'}, stands
    for more, says in ((('--seed', '9'), 'with --seed 0, and now it is 9'), (('--batch', '64'), 'with --batch 32'),
                       (('--clip', '1'), 'now it would be by'), (('--validate', '20%'), 'a number of samples of 1797')):
        code, _, err = irscope('train', DIGITS, *SAMPLES, '--loss', 'cross-entropy', '--optimizer', 'adam', '--rate', '3e-3',
                               '--epochs', '2', *more, '--resume', path('one.onnx'), '-o', path('two.onnx'))
        assert code == 2 and says in err and 'one.onnx' in err, (code, err)
    code, _, err = irscope('train', DIGITS, *SAMPLES, '--loss', 'cross-entropy', '--optimizer', 'adam', '--rate', '3e-3',
                           '--resume', os.path.join(EXAMPLES, 'digits.onnx'), '-o', path('two.onnx'))
    assert code == 2 and 'is no checkpoint' in err, err


LINE = model('line', 'g (float[N,2] x) => (float[N,1] y) <float[2,1] w = {0, 0}, float[1] b = {0}> '
                     '{ p = MatMul (x, w)  y = Add (p, b) }')
ROWS = [(i % 7 / 7, i % 5 / 5) for i in range(70)]
X = npy('x.npy', '<f4', (70, 2), [v for row in ROWS for v in row])
Y = npy('y.npy', '<f8', (70, 1), [2 * a - 3 * b + 0.5 for a, b in ROWS])


def line(*arguments, status=0, target=Y, loss='mse'):
    return json_of('train', LINE, '--data', 'x=' + X, '--target', target, '--loss', loss, '--batch', '10', *arguments,
                   '-o', path('line.onnx'), status=status)


def weights():
    answer = {}
    for name in ('w', 'b'):
        values = json_of('tensor', path('line.onnx'), name)
        answer[name] = (values['min'], values['max'])
    return answer


@test('each epoch takes every sample once, in an order of its own that the seed decides')
def _order():
    net = model('order', 'g (float[1,1] x) => (float[1,1] y) <float[1,1] w = {0}> { y = MatMul (x, w) }')
    rows, wanted = npy('order-x.npy', '<f4', (23, 1), [1] * 23), npy('order-y.npy', '<f4', (23, 1), [1 + i for i in range(23)])
    orders = {}
    for seed in (5, 6):  # the weight hardly moves, so the loss of a step says which sample it was
        json_of('train', net, '--data', 'x=' + rows, '--target', wanted, '--loss', 'mse', '--optimizer', 'sgd', '--rate', '1e-30',
                '--batch', '1', '--epochs', '3', '--seed', str(seed), '--log', path('order.csv'), '-o', path('order.onnx'))
        samples = [round(float(line.split(',')[2]) ** 0.5) for line in open(path('order.csv')).read().splitlines()[1:]]
        orders[seed] = [samples[i:i + 23] for i in (0, 23, 46)]
        assert len(samples) == 69 and all(sorted(order) == list(range(1, 24)) for order in orders[seed]), orders
    different = {tuple(order) for order in orders[5] + orders[6]} | {tuple(range(1, 24))}
    assert len(different) == 7, orders


@test('each optimizer and each schedule finds a line')
def _optimizers():
    for optimizer, rate, more in (('sgd', '0.3', ()), ('momentum', '0.05', ()), ('nesterov', '0.05', ()), ('adam', '0.05', ()),
                                  ('adamw', '0.05', ('--weight-decay', '0')), ('adagrad', '0.5', ()),
                                  ('sgd', '0.5', ('--schedule', 'warm-up:20,cosine')),
                                  ('sgd', '0.5', ('--schedule', 'step:60:0.5')), ('sgd', '0.3', ('--clip', '0.5'))):
        answer = line('--optimizer', optimizer, '--rate', rate, '--epochs', '120', *more)
        found = weights()
        assert answer['loss'] < 1e-3 and answer['accuracy'] is None, (optimizer, more, answer)
        assert abs(found['w'][1] - 2) < 0.15 and abs(found['w'][0] + 3) < 0.15 and abs(found['b'][0] - 0.5) < 0.15, (optimizer, found)


@test('what is frozen stays, and l1 and huber find the line too')
def _frozen():
    line('--optimizer', 'sgd', '--rate', '0.1', '--freeze', 'b', '--epochs', '5')
    assert weights()['b'] == (0, 0) and weights()['w'] != (0, 0), weights()
    for loss in ('l1', 'huber'):
        assert line('--optimizer', 'adam', '--rate', '0.02', '--epochs', '200', loss=loss)['loss'] < 0.05


@test('numbers that are no longer finite stop the run at their node, with status 1')
def _diverged():
    answer = line('--optimizer', 'sgd', '--rate', '1e30', '--epochs', '3', status=1)
    assert 'step ' in answer['diverged'] and 'first node' in answer['diverged'], answer
    net = model('log', 'g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 1}> { a = Sub (x, w)  [log] l = Log (a)  y = Add (l, w) }')
    code, out, err = irscope('train', net, '--data', 'x=' + X, '--target', X, '--loss', 'mse', '--optimizer', 'sgd',
                             '--rate', '0.1', '--batch', '10', '-o', path('log.onnx'))
    assert code == 1 and 'log (Log)' in err and 'step 1' in err and 'no rate is to blame' in err, (code, out, err)
    assert 'try a smaller rate' in answer['diverged'] or 'step 1:' in answer['diverged'], answer
    net = model('root', 'g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 1}, float zero = {0}> { a = Mul (w, zero)  [root] r = Sqrt (a)  y = Add (x, r) }')
    answer = json_of('train', net, '--data', 'x=' + X, '--target', X, '--loss', 'mse', '--optimizer', 'sgd', '--rate', '0.1',
                     '--batch', '10', '-o', path('root.onnx'), status=1)
    assert 'in the derivative of root (Sqrt)' in answer['diverged'], answer


@test('parameters that no step moves are named, whether nothing or only 0 comes to them')
def _unmoved():
    net = model('still', 'g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 1}, float[2] dead = {-9, -9}, float[2] cut = {1, 1}> '
                         '{ a = Mul (x, w)  r = Relu (dead)  f = Floor (cut)  s = Add (r, f)  y = Add (a, s) }')
    command = ('train', net, '--data', 'x=' + X, '--target', X, '--loss', 'mse', '--optimizer', 'sgd', '--rate', '0.1', '--batch', '10',
               '-o', path('still.onnx'))
    notes = json_of(*command)['notes']
    assert notes[-1].startswith('2 of 3 parameters never moved: dead, cut; ') and '--explain dead' in notes[-1], notes
    assert notes[-1] in irscope(*command)[1]
    assert not any('moved' in note for note in line('--optimizer', 'sgd', '--rate', '0.1')['notes'])


@test('files that do not fit are refused by name, row and shape')
def _refused():
    base = ('--loss', 'cross-entropy', '--optimizer', 'adam', '--rate', '1e-3', '-o', path('no.onnx'))
    short = npy('short.npy', '|u1', (3,), [1, 2, 3])
    wrong = npy('wrong.npy', '|u1', (1797,), [1] * 700 + [10] + [2] * 1096)
    wide, few = npy('wide.npy', '<f4', (40, 1, 9, 9), [0] * 3240), npy('few.npy', '|u1', (40,), [1] * 40)
    real = npy('real.npy', '<f4', (1797,), [1] * 1797)
    for more, says in (((*SAMPLES[:2], '--target', short), 'short.npy: has 3 rows'),
                       ((*SAMPLES[:2], '--target', wrong), 'wrong.npy: row 700 is the label 10'),
                       ((*SAMPLES[:2], '--target', real), 'real.npy: is of float'),
                       (('--data', 'image=' + wide, '--target', few), 'wide.npy: is float[40,1,9,9]'),
                       (('--data', 'picture=' + wide, '--target', few), 'no input "picture"'),
                       (SAMPLES[:2], '--target FILE is needed'), (('--data', 'image=' + path('none.npy'), *SAMPLES[2:]), 'none.npy'),
                       ((*SAMPLES, '--batch', '4000'), 'a batch of 4000'), ((*SAMPLES, '--validate', '100%'), 'cannot be held out'),
                       ((*SAMPLES, '--freeze', 'nothing*'), 'no initializer is called "nothing*"'),
                       ((*SAMPLES, '--schedule', 'sometimes'), 'it is constant, cosine'),
                       ((*SAMPLES, '--momentum', '0.9'), 'only sgd has a momentum')):
        code, _, err = irscope('train', DIGITS, *more, *base)
        assert code in (2, 3) and says in err and not os.path.exists(path('no.onnx')), (more, code, err)
    code, _, err = irscope('train', DIGITS, *SAMPLES, *base[:-1], path('nowhere/no.onnx'))
    assert code == 2 and 'its folder cannot be written to' in err, (code, err)
    bad = npy('bad.npy', '<f4', (70, 2), [0] * 20 + [float('nan')] + [0] * 119)
    code, _, err = irscope('train', LINE, '--data', 'x=' + bad, '--target', Y, '--loss', 'mse', '--optimizer', 'sgd', '--rate',
                           '0.1', '--batch', '10', '-o', path('no.onnx'))
    assert code == 2 and 'bad.npy: row 10 has a number that is not finite' in err, (code, err)


@test('a network for batches of one size is trained and checked at others')
def _static():
    net = model('static', 'g (float[1,2] x) => (float[1,1] p) <float[2,1] w = {0, 0}, float[1] b = {0}> '
                          '{ m = MatMul (x, w)  y = Add (m, b)  p = Sigmoid (y) }')
    labels = npy('yes.npy', '|u1', (70, 1), [a > b for a, b in ROWS])
    answer = json_of('train', net, '--data', 'x=' + X, '--target', labels, '--loss', 'bce', '--optimizer', 'adam', '--rate',
                     '0.1', '--batch', '16', '--epochs', '60', '--validate', '22', '-o', path('static.onnx'))
    assert answer['accuracy'] > 0.9 and answer['allocated_bytes'] == 0, answer


@test('what an exporter has merged is trained apart, and what it has folded is said')
def _notes():
    net = model('merged', 'g (float[N,1,4,4] x) => (float[N,2] y) <float[2,1,4,4] w, float[2] b = {0, 0}> '
                          '{ c = Conv (x, w, b)  b2 = Identity (b)  f = Flatten (c)  y = Add (f, b2) }'.replace(
                              'w,', 'w = {' + ', '.join(str(i / 32) for i in range(32)) + '},', 1))
    answer = json_of('train', net, '--data', 'x=' + npy('c.npy', '<f4', (20, 1, 4, 4), [i % 11 / 11 for i in range(320)]),
                     '--target', npy('cl.npy', '<i8', (20,), [i % 2 for i in range(20)]), '--loss', 'cross-entropy',
                     '--optimizer', 'sgd', '--rate', '0.1', '--batch', '5', '-o', path('merged.onnx'))
    assert len(answer['notes']) == 2 and 'b2 had been merged with b' in answer['notes'][0], answer['notes']
    assert 'no normalization behind it' in answer['notes'][1], answer['notes']
    for name in ('b', 'b2'):
        assert json_of('tensor', path('merged.onnx'), name)['max'] != 0, name


@test('statistics that two normalizations share stay as they are: neither may write them for the other')
def _():
    text = ('g (float[N,2,3] x) => (float[N,2,3] y) <float[2] s = {1, 1}, float[2] b = {0, 0}, float[2] m = {0.5, 0}, float[2] v = {1, 1}, '
            'float[2] m2 = {0.5, 0}, float[2] v2 = {1, 1}> { [first] h = BatchNormalization (x, s, b, m, v)  [second] y = BatchNormalization (h, s, b, %s) }')
    for name, own, trained in (('shared', 'm, v', 0), ('apart', 'm2, v2', 2)):
        steps = json_of('steps', model(name, text % own), '--pass', 'to-training', '--class', 'unsafe')['steps']
        assert sum('hands out its running' in s['reason'] for s in steps) == trained, (name, steps)


@test('a loss that is a value of the graph needs no other')
def _own_loss():
    net = model('own', 'g (float[N,2] x, float[N,1] t) => (float loss) <float[2,1] w = {0, 0}> { p = MatMul (x, w)  '
                       'd = Sub (p, t)  s = Mul (d, d)  loss = ReduceMean <keepdims = 0> (s) }')
    answer = json_of('train', net, '--data', 'x=' + X, '--data', 't=' + npy('t.npy', '<f4', (70, 1), [a - b for a, b in ROWS]),
                     '--loss', 'loss', '--optimizer', 'adam', '--rate', '0.05', '--batch', '14', '--epochs', '60', '-o', path('own.onnx'))
    assert answer['loss'] < 1e-2, answer


run_tests()
