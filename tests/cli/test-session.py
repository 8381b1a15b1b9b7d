#!/usr/bin/python3
"""Sessions: written, read, replayed on the model and on another one, and given to commands in the place of a model;
prints TAP.

    test-session.py IRSCOPE SOURCE_ROOT"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
SEVEN = os.path.join(ROOT, 'data/examples/digits-input-7.npy')
WORK = tempfile.mkdtemp(prefix='irscope-session-')


def path(name):
    return os.path.join(WORK, name)


def irscope(*args, status=0, cwd=None):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=100, cwd=cwd)
    assert done.returncode == status, (args, done.returncode, done.stdout[:600], done.stderr[:600])
    return done


def session(*args, status=0):
    return json.loads(irscope('session', *args, '--json', status=status).stdout)


def write(name, content):
    with open(path(name), 'w', encoding='utf-8') as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    return path(name)


def graph(name, body, head='float[2,3] x) => (float[2,3] y', more=''):
    return write(name, f'<ir_version: 8, opset_import: ["" : 17]{more}>\ng ({head}) {{\n{body}\n}}')


def nodes(*args):
    return json.loads(irscope('info', *args, '--json').stdout)['ops']


NET = graph('net.onnxtxt', ' a = Relu (x)\n b = Identity (a)\n y = Neg (b)')


@test('a step that was done by hand is no rewrite that a bundle could show')
def _():
    irscope('session', NET, '--do', 'insert Sigmoid a', '--pipeline', 'default', '-o', path('by-hand.json'))
    said = irscope('reproduce', '--session', path('by-hand.json'), '--fail', 'max_abs(y) > 1e-6', '-o', path('never'), status=2).stderr
    assert 'step 1' in said and 'by hand' in said and not os.path.exists(path('never')), said
    for args in (['bisect', '--fail', 'max_abs(y) > 1e-6'], ['steps', '--at', '1'], ['steps', '--prove'],
                 ['render', '--rewrite', '1', '-o', path('by-hand.svg')], ['optimize', '--prove']):
        irscope(args[0], '--session', path('by-hand.json'), *args[1:])


@test('what was done is done again, by every way to say it')
def _():
    irscope('session', NET, '--do', 'insert Sigmoid a', '--do', 'rename a first', '--pipeline', 'default', '-o', path('a.json'))
    found = session('--session', path('a.json'))
    assert [next(iter(d)) for d in found['done']] == ['act', 'act', 'pipeline'] and found['differs'] == [], found
    assert nodes('--session', path('a.json')) == {'Relu': 1, 'Sigmoid': 1, 'Neg': 1}
    assert nodes('--session', path('a.json') + '@2') == {'Relu': 1, 'Sigmoid': 1, 'Neg': 1, 'Identity': 1}
    assert nodes('--session', path('a.json') + '@0') == {'Relu': 1, 'Neg': 1, 'Identity': 1}


@test('edits are in values and in pictures too, at each step')
def _():
    irscope('session', NET, '--do', 'insert Sigmoid a', '-o', path('v.json'))
    ones = ('--value', 'x=1')
    value = [float(irscope('tensor', '--session', f, 'y', *ones, '--json').stdout.split('"min":')[1].split(',')[0]) for f in (path('v.json'), path('v.json') + '@0')]
    assert abs(value[0] + 0.731058) < 1e-5 and value[1] == -1, value
    assert irscope('tensor', '--session', path('v.json'), 'y', '--at', '1', *ones).stdout == irscope('tensor', '--session', path('v.json'), 'y', *ones).stdout
    drawn = []
    for more in ((), ('--at', '1')):
        irscope('render', '--session', path('v.json'), *more, '-o', path('v.svg'))
        drawn.append(open(path('v.svg')).read())
    irscope('render', '--session', path('v.json') + '@0', '-o', path('v.svg'))
    assert 'Sigmoid' in drawn[0] and drawn[0] == drawn[1] and 'Sigmoid' not in open(path('v.svg')).read()


@test('the passes of a session are not run on the file that it is compared with')
def _():
    irscope('session', NET, '--pipeline', 'default', '-o', path('p.json'))
    assert 'Identity' in irscope('diff', '--session', path('p.json'), NET, status=1).stdout
    irscope('diff', '--session', path('p.json') + '@0', NET)


@test('what a session does not keep is refused')
def _():
    for options in (('--shape', 'x=2x3'), ('--opset', '18'), ('--device', 'ref'), ('--threads', '2'), ('--skip', 'fuse-gelu'), ('--set', 'gradient.of=y')):
        refused = irscope('session', NET, *options, '-o', path('k.json'), status=2)
        assert f'{options[0]}: a session does not keep it' in refused.stderr and not os.path.exists(path('k.json')), (options, refused.stderr)
    for options, words in ((('--value', 'x'), '--value x: needs NAME=VALUE'), (('--value', 'x=1,2'), '--value x=1,2: '),
                           (('--value', 'z=1'), '--value z=1: '), (('--fill', 'x=odd'), '--fill x=odd: '), (('--image', 'x=no.png'), '--image x=no.png: '),
                           (('--input', 'x=no.npy'), '--input x=no.npy: '), (('--input', 'all.npz'), 'needs NAME=all.npz:ARRAY')):
        refused = irscope('session', NET, *options, '-o', path('k.json'), status=2)
        assert words in refused.stderr and not os.path.exists(path('k.json')), (options, refused.stderr)


@test('a session is never written over its model, and options with = in them are kept')
def _():
    own = shutil.copy(NET, path('own.onnxtxt'))
    before = open(own).read()
    refused = irscope('session', own, '-o', own, status=2)
    assert 'is the model itself' in refused.stderr and open(own).read() == before, refused
    irscope('session', NET, '--fill', 'x=uniform,low=0,high=2', '-o', path('f.json'))
    assert irscope('run', '--session', path('f.json')).stdout.splitlines()[0] == irscope('run', NET, '--fill', 'x=uniform,low=0,high=2').stdout.splitlines()[0]


@test('replay is deterministic: a session of a session is the same text')
def _():
    irscope('session', DIGITS, '--do', 'insert Abs image', '--pipeline', 'default', '--dim', 'batch=2', '--watch', 'nan',
            '--note', '/fc/Gemm=a, "b" = c', '--break', 'op=Conv', '--input', f'image={SEVEN}', '-o', path('b.json'))
    irscope('session', '--session', path('b.json'), '-o', path('b2.json'))
    assert open(path('b.json')).read() == open(path('b2.json')).read()


@test('inputs, sizes, seeds, class and passes are options, of which those of the command line are the later ones')
def _():
    irscope('session', DIGITS, '--input', f'image={SEVEN}', '--pipeline', 'basic', '-o', path('c.json'))
    given = irscope('tensor', '--session', path('c.json'), 'probabilities').stdout
    assert given.splitlines()[2:] == irscope('tensor', DIGITS, 'probabilities', '--input', f'image={SEVEN}', '--pipeline', 'basic').stdout.splitlines()[2:], given
    other = irscope('tensor', '--session', path('c.json'), 'probabilities', '--fill', 'image=zeros').stdout
    assert other == irscope('tensor', '--session', path('c.json'), 'probabilities', '--input', f'image={SEVEN}', '--fill', 'image=zeros').stdout
    irscope('session', DIGITS, '--dim', 'batch=3', '--random', '7', '-o', path('d.json'))
    info = json.loads(irscope('info', '--session', path('d.json'), '--json').stdout)
    assert info['inputs'][0]['shape'] == [3, 1, 8, 8], info['inputs']
    info = json.loads(irscope('info', '--session', path('d.json'), '--dim', 'batch=5', '--json').stdout)
    assert info['inputs'][0]['shape'] == [5, 1, 8, 8], info['inputs']
    steps = json.loads(irscope('optimize', '--session', path('c.json'), '--json').stdout)
    assert steps['nodes_after'] == json.loads(irscope('optimize', DIGITS, '--pipeline', 'basic', '--json').stdout)['nodes_after']
    irscope('optimize', '--session', path('c.json'), '--pipeline', 'default')


@test('a seed of any size is read as it was written', sanitized=False)
def _():
    for seed in ('1000000000', '1000000001', '2147483647', '2147483648', '9223372036854775807', '-1', '-9223372036854775808'):
        irscope('session', DIGITS, '--random', seed, '-o', path('seed.json'))
        given = irscope('tensor', DIGITS, 'probabilities', '--random', seed).stdout.splitlines()[2:]
        assert irscope('tensor', '--session', path('seed.json'), 'probabilities').stdout.splitlines()[2:] == given, seed
        irscope('session', '--session', path('seed.json'), '-o', path('seed2.json'))
        assert open(path('seed.json')).read() == open(path('seed2.json')).read(), seed
    file = {'irscope_session': 1, 'program': '0.1.0', 'model': {'path': os.path.abspath(DIGITS)}, 'seed': 2000000000} # as older ones have them
    irscope('info', '--session', write('seed3.json', file))
    for wrong in (-1, 1.5, 'x', '-1', True):
        assert 'seed needs' in irscope('info', '--session', write('seed3.json', {**file, 'seed': wrong}), status=2).stderr, wrong


@test('every command that takes a model takes a session')
def _():
    names = re.findall(r'^  (\S+) ', irscope('--help').stdout.split('Commands:')[1], re.M)
    takes = [n for n in names if '--session=F' in irscope(n, '--help').stdout]
    assert len(takes) >= 25 and not {'ops', 'passes', 'rules', 'conformance'} & set(takes), takes
    more = {'diff': [NET], 'tensor': ['y'], 'trace-node': ['#1'], 'why': ['merge-nodes', '#1'], 'find': ['op:neg'],
            'render': ['-o', path('p.svg')], 'convert': [path('o.onnx')], 'edit': ['--do', 'rename a z'],
            'extract': ['--to', 'y', '-o', path('e.onnx')], 'bisect': ['--fail', 'nodes < 1'],
            'reproduce': ['--fail', 'nodes < 1', '-o', path('r')], 'bench': ['--runs', '1'], 'grad': ['--wrt', 'inputs'], 'gradcheck': ['--wrt', 'inputs']}
    for name in takes:
        if name in ('view', 'train'):
            continue
        done = subprocess.run([PROGRAM, name, '--session', path('a.json'), *more.get(name, [])], capture_output=True, text=True, timeout=100)
        assert done.returncode in (0, 1), (name, done.returncode, done.stderr)
    assert 'takes no model' in irscope('ops', '--session', path('a.json'), status=2).stderr
    assert 'one of them' in irscope('info', '--session', path('a.json'), NET, status=2).stderr


@test('a model that has changed keeps what still fits, and each line says what does not')
def _():
    irscope('session', NET, '--do', 'insert Sigmoid a', '--do', 'rename b second', '--pipeline', 'default',
            '--note', '#3=here', '-o', path('e.json'))
    saved = open(NET).read()
    graph('net.onnxtxt', ' a = Relu (x)\n c = Abs (a)\n d = Identity (c)\n y = Neg (d)')
    try:
        found = session('--session', path('e.json'), status=1)
        said = '\n'.join(found['differs'])
        assert 'has changed' in said and 'Rename Node (rename b second) is left out' in said, said
        assert 'the graph has 4 nodes then, it had 3' in said, said
        assert len(found['done']) == 2, found['done']
        assert nodes('--session', path('e.json')) == {'Relu': 1, 'Sigmoid': 1, 'Abs': 1, 'Neg': 1}
        assert 'left out' in irscope('info', '--session', path('e.json')).stderr
        irscope('session', '--session', path('e.json'), '-o', path('e2.json'), status=1)
        assert session('--session', path('e2.json'), '--note', '#99=gone', status=1)['differs'] == ['the note on #99 has no node: it is kept']
    finally:
        open(NET, 'w').write(saved)


@test('another program is said, and so is a rule that makes another number of steps')
def _():
    irscope('session', NET, '--pipeline', 'default', '-o', path('f.json'))
    file = json.load(open(path('f.json')))
    file['program'] = '0.0.1'
    rule = next(iter(file['done'][0]['made']))
    file['done'][0]['made'] = {rule: 7, 'gone/rule': 2}
    said = '\n'.join(session('--session', write('f.json', file), status=1)['differs'])
    assert 'written by irscope 0.0.1' in said and f'{rule} makes 1 step, it made 7' in said and 'gone/rule makes 0 steps, it made 2' in said, said


@test('texts, kernels, opsets, skips, branches and what was undone are replayed')
def _():
    text = open(NET).read().replace('Neg', 'Exp')
    file = {'irscope_session': 1, 'program': '0.1.0', 'model': {'path': 'net.onnxtxt'}, 'step': 2, 'done': [
        {'text': text, 'at': 0, 'steps': 1}, {'kernel': '#1=ref', 'at': 1, 'steps': 2}, {'act': 'rename a z', 'at': 2, 'steps': 3}],
        'now': 2, 'branches': [{'shared': 1, 'done': [{'act': 'rename b q', 'at': 1, 'steps': 2}]}]}
    found = session('--session', write('g.json', file))
    assert found['step'] == 2 and found['now'] == 2 and [d['at'] for d in found['done']] == [0, 1, 2], found
    assert nodes('--session', path('g.json')) == {'Relu': 1, 'Identity': 1, 'Exp': 1}
    # What is left of one is a session, too: branches that begin behind what could not be done begin before it.
    file = {'irscope_session': 1, 'program': '0.1.0', 'model': {'path': NET}, 'done': [
        {'act': 'frob x', 'at': 0, 'steps': 1}, {'pipeline': 'nonesuch', 'at': 1, 'steps': 4}, {'act': 'insert Abs a', 'at': 700, 'steps': 701}],
        'branches': [{'shared': 3, 'done': [{'act': 'rename #1 z', 'at': 9, 'steps': 10}]}], 'step': 99999}
    irscope('session', '--session', write('j.json', file), '-o', path('k.json'), status=1)
    found = session('--session', path('k.json'))
    assert found['differs'] == [] and found['branches'][0]['shared'] == 1 and found['step'] == 1, found
    irscope('session', NET, '--pipeline', 'default', '--skip', 'eliminate-identity', '-o', path('h.json'))
    assert nodes('--session', path('h.json'))['Identity'] == 1
    old = graph('old.onnxtxt', ' y = ReduceSum <axes = [1]> (x)', head='float[2,3] x) => (float[2,1] y').replace('17', '11')
    write('old.onnxtxt', open(old).read().replace('"" : 17', '"" : 11'))
    file = {'irscope_session': 1, 'program': '0.1.0', 'model': {'path': 'old.onnxtxt'}, 'done': [{'opset': '17', 'at': 0, 'steps': 1}], 'step': 1}
    found = session('--session', write('i.json', file))
    assert found['differs'] == [] and found['done'][0]['made'], found


@test('passes that were chosen, their options and the class are those of each run')
def _():
    unsafe = graph('unsafe.onnxtxt', ' b = Sub (x, x)\n c = Identity (b)\n y = Add (c, x)')
    irscope('session', unsafe, '--pass', 'rewrite-unsafe,eliminate-identity', '--class', 'unsafe', '-o', path('l.json'))
    found = session('--session', path('l.json'))
    assert found['differs'] == [] and found['done'][0]['passes'] == ['rewrite-unsafe', 'eliminate-identity'], found
    expected = nodes(unsafe, '--pass', 'rewrite-unsafe,eliminate-identity', '--class', 'unsafe')
    assert nodes('--session', path('l.json')) == expected != nodes(unsafe, '--pass', 'rewrite-unsafe,eliminate-identity'), expected
    irscope('session', '--session', path('l.json'), '-o', path('l2.json'))
    assert open(path('l.json')).read() == open(path('l2.json')).read()
    # As the window has them: each run with its own, which are not those that are set now.
    file = {'irscope_session': 1, 'program': '0.1.0', 'model': {'path': unsafe}, 'pipeline': 'default', 'class': 'rounding',
            'done': [{'pipeline': 'passes', 'passes': ['rewrite-unsafe', 'fold-constants'], 'set': ['fold-constants.limit=1M'],
                      'class': 'unsafe', 'at': 0, 'steps': 1}], 'step': 99}
    found = session('--session', write('m.json', file))
    assert found['differs'] == [] and found['class'] == 'rounding' and 'set' not in found, found
    assert found['done'][0]['class'] == 'unsafe' and found['done'][0]['set'] == ['fold-constants.limit=1M'], found
    assert 'Sub' not in nodes('--session', path('m.json'))
    steps = json.loads(irscope('optimize', '--session', path('m.json'), '--json').stdout)
    assert steps['nodes_after'] == sum(nodes('--session', path('m.json')).values()), steps
    assert 'nonesuch' in irscope('session', unsafe, '--pass', 'nonesuch', '-o', path('n.json'), status=2).stderr


@test('paths start from the folder of the session, which can be moved')
def _():
    os.makedirs(path('one'))
    shutil.copy(NET, path('one/net.onnxtxt'))
    irscope('session', path('one/net.onnxtxt'), '--do', 'insert Abs a', '-o', path('one/s.json'))
    assert json.load(open(path('one/s.json')))['model']['path'] == 'net.onnxtxt'
    os.rename(path('one'), path('two'))
    assert nodes('--session', path('two/s.json'))['Abs'] == 1
    before = sorted(os.listdir(path('two')))
    for command in ('info', 'run', 'steps'):
        irscope(command, '--session', path('two/s.json'))
    assert sorted(os.listdir(path('two'))) == before, 'a session writes beside the model'


@test('a file of a pipeline beside the session is found by any name')
def _():
    os.makedirs(path('beside'))
    for name in ('mypipe', 'mine.json', 'default'):
        write('beside/' + name, {'name': 'mine', 'title': '', 'doc': '', 'max_iterations': 1, 'passes': ['eliminate-identity']})
        irscope('session', NET, '--pipeline', path('beside/' + name), '-o', path('beside/s.json'))
        held = json.load(open(path('beside/s.json')))
        assert held['pipeline'] == held['done'][0]['pipeline'] == './' + name, held
        found = session('--session', path('beside/s.json'))
        assert found['differs'] == [] and found['pipeline'] == path('beside/' + name), found


@test('a reproducer bundle has a session, which can be moved with it')
def _():
    irscope('reproduce', DIGITS, '--fail', 'max_abs(probabilities) > 0', '-o', path('bundle'))
    os.rename(path('bundle'), path('moved'))
    held = session('--session', path('moved/session.json'))
    assert held['differs'] == [] and held['step'] > 0 and held['model']['path'] == path('moved/model.onnx'), held
    irscope('run', '--session', path('moved/session.json'))


@test('a graph that was begun empty is built again')
def _():
    file = {'irscope_session': 1, 'program': '0.1.0', 'step': 3, 'done': [
        {'act': 'input x float[2,3]', 'at': 0, 'steps': 1}, {'act': 'add Relu x name=act', 'at': 1, 'steps': 2},
        {'act': 'output act y', 'at': 2, 'steps': 3}]}
    assert nodes('--session', write('new.json', file)) == {'Relu': 1}
    irscope('run', '--session', path('new.json'))


@test('a step that keeps its nodes and adds others says so, and nodes of a wrapped function where they went')
def _():
    acts = ['input x float[2,3]', 'add Relu x name=act', 'add Neg act name=minus', 'output minus', 'wrap Block act minus']
    write('wrap.json', {'irscope_session': 1, 'program': '0.1.0', 'step': len(acts), 'done': [
        {'act': act, 'at': i, 'steps': i + 1} for i, act in enumerate(acts)]})
    said = irscope('steps', '--session', path('wrap.json'), '--at=5').stdout
    assert 'act (Relu) and minus (Neg) were moved into the function Block, which Block (Block) calls.' in said, said


@test('a step that touches no node says what became of inputs and outputs, and their boxes hold their names')
def _():
    acts = ['input x float[2,3]', 'input flag bool[2]', 'add Relu x name=act', 'output act wide', 'type flag bool[7]',
            'remove flag', 'remove wide']
    write('ports.json', {'irscope_session': 1, 'program': '0.1.0', 'step': len(acts), 'done': [
        {'act': act, 'at': i, 'steps': i + 1} for i, act in enumerate(acts)]})
    for step, sentence in ((2, 'The input flag was added.'), (4, 'The output wide was added.'),
                           (5, 'The input flag was changed.'), (6, 'The input flag was removed.'),
                           (7, 'The output wide was removed.')):
        said = irscope('steps', '--session', path('ports.json'), f'--at={step}').stdout
        assert sentence in said, said
    irscope('render', '--session', path('ports.json'), '--diff=0:2', '-o', path('ports.svg'))
    with open(path('ports.svg')) as f:
        drawn = f.read()
    assert '>flag<' in drawn and '…' not in drawn, drawn


@test('what is no session says where, and what was needed')
def _():
    base = {'irscope_session': 1, 'program': '0.1.0', 'model': {'path': 'net.onnxtxt'}}
    for broken, words in (
            ('', 'no JSON'), ('[]', 'no number irscope_session'), ('{"irscope_session": 9}', 'version 9'),
            ({**base, 'done': 4}, 'done needs a list'), ({**base, 'done': [{'at': 1}]}, 'one of act'),
            ({**base, 'done': [{'act': 3}]}, 'done[0].act needs a text'),
            ('{"irscope_session": 1,\n "program": oh}', 'no JSON, from line 2, column 13'),
            ({**base, 'branches': [{'shared': 0}, {'shared': 0, 'done': [{'act': 'a'}, {'act': 'b', 'at': 'c'}]}]}, 'branches[1].done[1].at needs'),
            ({**base, 'notes': [{'node': 'a', 'text': 'b'}, {'node': 'a'}]}, 'notes[1].text needs'), ({**base, 'step': -1}, 'step needs a whole number'),
            ({**base, 'step': 1.5}, 'whole number'), ({**base, 'now': 3}, 'now needs'),
            ({**base, 'branches': [{'shared': 2}]}, 'shared needs'), ({**base, 'window': {'a': 1}}, 'a needs a text'),
            ({**base, 'inputs': [{'name': 'x'}]}, 'kind needs'), ({**base, 'views': {'1': 3}}, '1 needs an object'),
            ({'irscope_session': 1}, 'program needs a text'), ({**base, 'done': [{'act': 'a', 'at': 3, 'steps': 1}]}, 'steps needs'),
            ({**base, 'model': {'path': 'gone.onnx'}}, 'the model of the session')):
        said = irscope('info', '--session', write('broken.json', broken), status=2).stderr
        assert words in said and ('broken.json' in said), (broken, said)
    assert 'cannot be read' in irscope('info', '--session', path('absent.json'), status=2).stderr
    for behind in ('garbage', '{}', ']', '\0'):  # nothing may follow; blanks do no harm
        said = irscope('info', '--session', write('behind.json', json.dumps(base) + '\n' + behind), status=2).stderr
        assert 'follows the end of the JSON, from line 1, column' in said, (behind, said)
    irscope('info', '--session', write('blanks.json', json.dumps(base) + ' \n\n'))
    assert 'steps 0 to 0 exist' in irscope('info', '--session', write('ok.json', base) + '@4', status=2).stderr
    said = irscope('session', NET, '--do', 'rename nothing else', '-o', path('never.json'), status=2).stderr
    assert 'nothing' in said and not os.path.exists(path('never.json')), said
    said = '\n'.join(session('--session', write('undone.json', {**base, 'undone': 2}), status=1)['differs'])
    assert "2 things were undone that the model's file holds" in said, said
    # Keys of newer programs, and items that are nothing, do no harm.
    irscope('info', '--session', write('newer.json', {**base, 'later': [1], 'notes': [], 'views': {}}))


@test('a kept view is drawn from the session')
def _():
    file = {'irscope_session': 1, 'program': '0.1.0', 'model': {'path': NET},
            'views': {'3': {'show': 3, 'zoom': 1, 'overlay': 'flops', 'selected': ['nowhere']}}}
    irscope('render', '--session', write('view.json', file), '--kept', '3', '-o', path('view.svg'))
    plain = (irscope('render', NET, '-o', path('plain.svg')), open(path('plain.svg')).read())[1]
    assert open(path('view.svg')).read() != plain
    assert 'keeps no view 2' in irscope('render', '--session', path('view.json'), '--kept', '2', '-o', path('v.svg'), status=2).stderr
    assert 'view 3: there is no node nowhere' in '\n'.join(session('--session', path('view.json'), status=1)['differs'])


run_tests()
