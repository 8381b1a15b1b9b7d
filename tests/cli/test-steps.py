#!/usr/bin/python3
"""Steps and differences on the command line: what passes did in sum, a step by itself, pictures of
differences in every way, breakpoints that name nothing; prints TAP.

    test-steps.py IRSCOPE SOURCE_ROOT"""

import json
import os
import re
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DIGITS = os.path.join(ROOT, 'data', 'examples', 'digits.onnx')
BRANCH = os.path.join(ROOT, 'data', 'examples', 'if-branch.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-steps-')


def run(*args, status=0, stdin=None):
    result = subprocess.run([PROGRAM, *args], capture_output=True, text=True, input=stdin)
    assert result.returncode == status, (args, result.returncode, result.stderr)
    return result


def answer(*args, status=0):
    return json.loads(run(*args, '--json', status=status).stdout)


def path(name):
    return os.path.join(WORK, name)


def render(name, *args, file=DIGITS):
    run('render', file, '-o', path(name), *args)
    return open(path(name), encoding='utf-8').read()


def model(name, text, *imports):
    with open(path(name), 'w', encoding='utf-8') as file:
        file.write(f'<ir_version: 8, opset_import: [{", ".join(chr(34) * 2 + " : 17" if not i else i for i in ("", *imports))}]>\n')
        file.write(text)
    return path(name)


@test('the summary counts what the steps are')
def _():
    steps = answer('steps', DIGITS)['steps']
    summary = answer('steps', DIGITS, '--summary')
    passes = summary['passes']
    assert sum(p['steps'] for p in passes) == len(steps)
    assert [p['first'] for p in passes] == [next(s['index'] for s in steps[p['first'] - 1:]) for p in passes]
    for p in passes:
        own = steps[p['first'] - 1:p['first'] - 1 + p['steps']]
        assert {s['pass'] for s in own} == {p['pass']}
        assert sum(g['count'] for g in p['groups']) == p['steps']
        assert {g['rule'] for g in p['groups']} == {s['rule'] for s in own}
        assert p['verdicts']['none'] == p['steps']
    ends = [steps[p['first'] + p['steps'] - 2]['nodes'] for p in passes]
    assert [p['nodes'] for p in passes[1:]] == [b - a for a, b in zip(ends, ends[1:])], passes
    busy = {p['pass'] for p in passes}
    assert summary['idle'] and not busy & set(summary['idle']) and len(set(summary['idle'])) == len(summary['idle'])


@test('verdicts are counted, and those that are not proved say why')
def _():
    steps = answer('steps', DIGITS, '--prove')['steps']
    passes = answer('steps', DIGITS, '--prove', '--summary')['passes']
    for p in passes:
        own = steps[p['first'] - 1:p['first'] - 1 + p['steps']]
        for verdict, n in p['verdicts'].items():
            assert n == sum(s['verdict'] == verdict for s in own), p
        assert sum(u['count'] for u in p['unproved']) == p['verdicts']['none'] + p['verdicts']['skipped']
    unknown = model('unknown.onnxtxt', '''g (float[4] x) => (float[4] y) {
      r = some.where.Thing (x)  i = Identity (r)  y = Add (x, i) }''', '"some.where" : 1')
    passes = answer('steps', unknown, '--prove', '--summary')['passes']
    reasons = [u['reason'] for p in passes for u in p['unproved'] if u['verdict'] == 'skipped']
    assert reasons and all(reasons), passes


@test('equal steps of one pass stand together, from all over it')
def _():
    nodes = '\n'.join(f'a{i} = Identity (x)  b{i} = Mul (a{i}, one)  c{i} = Neg (b{i})' for i in range(9))
    many = model('many.onnxtxt', f'''g (float[4] x) => (float[4] y) <float one = {{1}}>
      {{ {nodes} y = Sum ({', '.join(f'c{i}' for i in range(9))}) }}''')
    groups = {(g['rule'], g.get('op')): g['count']
              for p in answer('steps', many, '--summary')['passes'] for g in p['groups']}
    assert groups[('identity', 'Identity')] == 9 and groups[('mul-one', 'Mul')] == 9, groups


@test('a step says what became of which nodes, in a sentence and in text')
def _():
    steps = answer('steps', DIGITS)['steps']
    fold = next(s['index'] for s in steps if s['rule'] == 'fold-conv-bn')
    one = answer('steps', DIGITS, '--at', str(fold))['steps'][0]
    assert re.match(r'.*Conv.* and .*BatchNormalization.* became .*Conv.*', one['sentence']), one['sentence']
    assert len(one['before']) == 2 and len(one['after']) == 1, one
    assert any('BatchNormalization' in line for line in one['before']) and ' = Conv <' in one['after'][0]
    identity = answer('steps', DIGITS, '--at', '1')['steps'][0]
    assert 'was removed; image takes its place' in identity['sentence'] and not identity['after']
    text = run('steps', DIGITS, '--at', str(fold)).stdout
    assert text.count('\n     - ') == 2 and text.count('\n     + ') == 1, text
    for s in steps:  # every step has one
        one = answer('steps', DIGITS, '--at', str(s['index']))['steps'][0]
        assert one['sentence'].endswith('.'), one


@test('a step by itself is a picture')
def _():
    fold = next(s['index'] for s in answer('steps', DIGITS)['steps'] if s['rule'] == 'fold-conv-bn')
    svg = render('one.svg', '--rewrite', str(fold))
    assert svg == render('two.svg', '--rewrite', str(fold))
    for state in ('removed', 'new'):
        assert f'class="node {state}"' in svg, state
    assert svg.count('>BatchNormalization<') == 1 and svg.count('>Conv<') == 2, svg
    assert 'MaxPool' not in svg
    err = run('render', DIGITS, '--rewrite', '999', '-o', path('no.svg'), status=2).stderr
    assert 'needs a step from 1 to' in err, err
    last = len(answer('steps', DIGITS)['steps'])  # initializers that nothing uses
    assert 'no nodes' in run('render', DIGITS, '--rewrite', str(last), '-o', path('no.svg'), status=2).stderr


@test('a difference is drawn as an overlay, side by side, or one side alone')
def _():
    boxes = {}
    for sides in ('overlay', 'beside', 'before', 'after'):
        svg = render(f'{sides}.svg', '--diff', '0:20', '--sides', sides)
        boxes[sides] = sorted(re.findall(r'class="node (\w+)"', svg))
        assert svg == render('again.svg', '--diff', '0:20', '--sides', sides)
    assert boxes['overlay'], 'states are in the picture'
    count = {k: {s: v.count(s) for s in set(v)} for k, v in boxes.items()}
    assert 'new' not in count['before'] and 'removed' not in count['after'], count
    assert count['before']['removed'] == count['overlay']['removed'] == count['beside']['removed'], count
    assert count['after']['new'] == count['overlay']['new'] == count['beside']['new'], count
    assert 'needs --diff' in run('render', DIGITS, '--sides', 'beside', '-o', path('n.svg'), status=2).stderr
    assert 'needs overlay' in run('render', DIGITS, '--diff', '0:1', '--sides', 'x', '-o', path('n.svg'), status=2).stderr


@test('a difference as DOT has the badges, colours and clusters of the picture, and what is gone')
def _():
    dot = render('d.dot', '--diff', '0:20')
    assert dot == render('e.dot', '--diff', '0:20')
    for needed in ('label="− Identity', 'label="+ Conv', 'label="~ Relu', 'class="removed"', 'class="new"',
                   'subgraph "cluster_', 'label="block"', 'style="filled,rounded,dashed"', 'fillcolor="#'):
        assert needed in dot, needed
    assert len(re.findall(r'\[shape=', dot)) == len(re.findall(r'^ *"[^"]*" \[', dot, re.M))
    assert dot != render('dark.dot', '--diff', '0:20', '--dark')
    assert run('info', path('d.dot'), '--json').stdout  # it can be read
    plain = render('plain.dot')
    run('convert', DIGITS, path('convert.dot'))
    assert plain == open(path('convert.dot'), encoding='utf-8').read()
    branch = render('b.dot', '--diff', '0:0', file=BRANCH)
    assert branch.count('subgraph "cluster_') >= 2 and branch.count('{') == branch.count('}'), branch
    for line in branch.splitlines():  # every end is a node that is there
        for end in re.findall(r'^  "([^"]*)" -> "([^"]*)"', line):
            assert all(f'"{name}" [' in branch for name in end), line


@test('the difference of two files is drawn, with what became what by the lineage in the file')
def _():
    run('optimize', DIGITS, '-o', path('small.onnx'))
    svg = render('files.svg', '--diff', DIGITS, file=path('small.onnx'))
    assert svg == render('again.svg', '--diff', DIGITS, file=path('small.onnx'))
    drawn, nodes = re.findall(r'class="node (\w+)"', svg), answer('diff', DIGITS, path('small.onnx'), status=1)['nodes']
    gone = [n for n in nodes if n['kind'] == 'removed' and n['op'] != 'Constant']
    assert len(gone) >= drawn.count('removed') > 20 and 'changed' in drawn, (drawn, gone)
    assert re.search(r'>\d+ became \d+<', svg), 'no bracket'
    both = render('sides.svg', '--diff', DIGITS, '--sides', 'beside', file=path('small.onnx'))
    assert 'became' not in both and 'class="node removed"' in both
    assert 'or another file' in run('render', DIGITS, '--diff', 'nosuch.onnx', '-o', path('n.svg'), status=2).stderr


@test('a breakpoint that names nothing is refused, as in the window')
def _():
    for text, said in (('rule=nosuch', 'no rule'), ('pass=nosuch', 'no pass'), ('op=Frob', 'no operator'),
                       ('node=nosuch', 'no node')):
        err = run('steps', DIGITS, '--break', text, status=2).stderr
        assert said in err and text in err, err
        err = run('steps', DIGITS, '--debug', stdin=f'break {text}\n', status=2).stderr
        assert said in err, err
    assert answer('steps', DIGITS, '--break', 'op=Gemm')['steps']


run_tests()
