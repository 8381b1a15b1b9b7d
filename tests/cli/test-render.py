#!/usr/bin/python3
"""irscope render: the same bytes every time, overlays with legends, parts of a graph; prints TAP.

    test-render.py IRSCOPE SOURCE_ROOT"""

import json
import os
import re
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DIGITS = os.path.join(ROOT, 'data', 'examples', 'digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-render-')
ENVIRONMENT = dict(os.environ, XDG_DATA_HOME=WORK)


def render(*args):
    result = subprocess.run([PROGRAM, 'render', *args], capture_output=True, text=True, env=ENVIRONMENT)
    return result.returncode, result.stdout, result.stderr


def overlay_of(out, *args):
    code, answer, error = render(DIGITS, '-o', out, *args, '--json')
    assert code == 0, error
    return json.loads(answer).get('overlay')


def place(name):
    return os.path.join(WORK, name)


with open(place('numbers.json'), 'w') as file:
    json.dump({'title': 'Latency', 'unit': 's', 'nodes': {'/conv1/Conv': 2e-6, '/fc/Gemm': 0.5}}, file)


def texts_of(path):
    return re.findall(r'<text[^>]*>([^<]*)</text>', open(path, encoding='utf-8').read())


@test('loops are lanes and iterations columns, of bodies and of tokens alike')
def _():
    nested, newton = (os.path.join(ROOT, 'data/examples', name) for name in ('nested-loops.onnxtxt', 'while-newton.onnxtxt'))
    code, _, err = render(nested, '-o', place('flow.svg'), '--view', 'flow', '--value', 'n=5')
    assert code == 0, err
    texts = texts_of(place('flow.svg'))
    for wanted in ('numbers', 'divisors', 'add (Add)', 'next (Add)', 'last: 0', 'last: 2'):
        assert wanted in texts, (wanted, texts)
    assert texts.count('divisors (Loop)') == 1 and [t for t in texts if t in ('false', 'true')].count('false') == 4, texts
    lowered = place('lowered.onnxtxt')
    subprocess.run([PROGRAM, 'optimize', newton, '--pass', 'lower-control-flow', '-o', lowered], check=True, capture_output=True)
    given = ('--value', 'a=2', '--value', 'x=1')
    assert render(lowered, '-o', place('flow.svg'), '--view', 'flow', *given)[0] == 0
    tokens = texts_of(place('flow.svg'))
    assert 'last: 5' in tokens and tokens.count('dead') > 10 and '1 ▸ 1.417' in tokens and 'out' in tokens, tokens
    assert render(newton, '-o', place('flow.svg'), '--view', 'flow', *given)[0] == 0
    texts = texts_of(place('flow.svg'))
    assert 'last: 4' in texts and 'dead' not in texts and '4.511e-12' in texts and not any('Constant' in t for t in texts), texts
    again = open(place('flow.svg')).read()
    assert render(newton, '-o', place('flow.svg'), '--view', 'flow', *given)[0] == 0 and open(place('flow.svg')).read() == again
    closures = os.path.join(ROOT, 'data/examples/mindspore-while.onnxtxt')
    assert render(closures, '-o', place('flow.svg'), '--view', 'flow', *given)[0] == 0
    texts = texts_of(place('flow.svg'))
    assert 'called' in texts and 'else' not in texts and 'body/Div (Div)' in texts, texts
    assert render(closures, '-o', place('closures.svg'))[0] == 0
    assert 'function header' in texts_of(place('closures.svg')), texts_of(place('closures.svg'))
    code, _, err = render(newton, '-o', place('flow.svg'), '--view', 'flow', '--overlay', 'flops')
    assert code == 2 and 'needs --view graph' in err, err
    for name in ('numbers.json', 'file'):  # who has a file hears how it is given
        code, _, err = render(newton, '-o', place('flow.svg'), '--overlay', name)
        assert code == 2 and 'verdict or age; numbers of a file with --overlay-file' in err, err


@test('rendering twice gives the same bytes', sanitized=False)
def _():
    for arguments in ([], ['--overlay', 'flops'], ['--overlay-file', place('numbers.json'), '--zoom', '0.3'],
                      ['--highlight', 'op:conv', '--colour', 'orange=op:relu'], ['--only', 'op:conv'],
                      ['--pipeline', 'default', '--overlay', 'verdict'], ['--fold', 'auto', '--overlay', 'dtype']):
        for ending in ('svg', 'png', 'pdf'):
            names = [place(f'{which}.{ending}') for which in ('one', 'two')]
            for name in names:
                code, _, err = render(DIGITS, '-o', name, *arguments)
                assert code == 0, f'{arguments}: {err}'
            one, two = (open(name, 'rb').read() for name in names)
            assert ending != 'pdf' or b'/CreationDate (19700101000000Z)' in one, 'both may be of the same second'
            assert one == two, f'{ending} of {arguments}'


@test('render colours by overlays and says how')
def _():
    overlay = lambda *arguments: overlay_of(place('o.svg'), *arguments)
    flops = overlay('--overlay', 'flops')
    assert overlay('--overlay', 'values') is None
    drawn = open(place('o.svg'), encoding='utf-8').read()
    assert drawn.count('data:image/png;base64,') > 20, drawn.count('data:image/png')
    assert flops['title'] == 'Arithmetic' and flops['logarithmic'] and flops['high'] > 1000, flops
    assert not overlay('--overlay', 'flops', '--overlay-scale', 'linear')['logarithmic']
    assert overlay('--overlay', 'time')['boxes'] > 10 and overlay('--overlay', 'time')['unit'] == 's'
    assert overlay('--overlay', 'error')['boxes'] > 10
    zeros = overlay('--overlay', 'sparsity')
    assert 0 < zeros['high'] <= 100, zeros
    assert set(overlay('--overlay', 'dtype')['classes']) == {'float', 'int64'}
    devices = overlay('--overlay', 'device')['classes']
    assert devices and set(devices) <= {'cpu', 'ref'}, devices
    verdicts = overlay('--pipeline', 'default', '--overlay', 'verdict')['classes']
    assert set(verdicts) <= {'exact', 'rounding'} and sum(verdicts.values()) == 8, verdicts
    age = overlay('--pipeline', 'default', '--overlay', 'age')
    assert age['high'] < 40 and age['boxes'] == 8, age
    numbers = overlay('--overlay-file', place('numbers.json'))
    assert numbers == {'title': 'Latency', 'boxes': 2, 'unit': 's', 'low': 2e-6, 'high': 0.5, 'logarithmic': True}
    assert 'class="legend"' in open(place('o.svg')).read() and '500 ms' in open(place('o.svg')).read()


@test('render draws parts of a graph, and says what it cannot')
def _():
    source = os.path.join(ROOT, 'data/examples/if-branch.onnx')
    def text(*arguments):
        code, _, err = render(source, '-o', place('p.svg'), *arguments)
        assert code == 0, err
        return open(place('p.svg')).read()
    branch = text('--enter', '/If/then_branch')
    assert 'Relu' in branch and 'Tanh' not in branch and 'hidden' in branch
    assert 'Neg' in text('--enter', '/If')
    beside = text('--beside', '/If')
    assert '/If · then_branch' in beside and '/If · else_branch' in beside
    only = text('--only', 'op:tanh')
    assert 'Tanh' in only and 'Relu' not in only
    for arguments, needle in ((['--enter', '/Mul'], 'has no graph'), (['--enter', '/If/loop'], 'has no loop'),
                              (['--enter', 'nowhere'], 'nowhere'), (['--beside', '/Mul'], 'branches or a body'),
                              (['--only', 'cost>lots'], 'needs a number'), (['--colour', 'mauve=op:relu'], 'needs COLOUR=QUERY'),
                              (['--overlay', 'speed'], 'time, flops'), (['--overlay', 'file'], '--overlay-file'),
                              (['--overlay-scale', 'cubic'], 'linear or log'), (['--overlay-file', source], 'is no JSON'),
                              (['--overlay-file', place('numbers.json')], 'is a node of the graph'),
                              (['--overlay', 'time', '--view', 'memory'], 'needs --view graph'),
                              (['--kept', '3'], 'none is kept')):
        code, _, err = render(source, '-o', place('refused.svg'), *arguments)
        assert code == 2 and needle in err, f'{arguments}: {code} {err}'


FUNCTIONS = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[n,4] x) => (float[n,4] y)
{
  a = local.Block <alpha = 0.5> (x)
  b = Relu (a)
  c = local.Block <alpha = 0.25> (b)
  d = local.Outer (c)
  y = Add (d, x)
}
<domain: "local", opset_import: ["" : 17]>
Block <alpha> (x) => (y)
{
  k = Constant <value = float {2.0}> ()
  t = Mul (x, k)
  u = LeakyRelu <alpha: float = @alpha> (t)
  y = Add (u, x)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
Outer (x) => (y)
{
  s = Sigmoid (x)
  y = local.Block <alpha = 0.1> (s)
}
"""


@test('the body of a function is drawn where it is called, beside, or alone; once')
def _():
    source = place('functions.onnxtxt')
    with open(source, 'w') as file:
        file.write(FUNCTIONS)

    def drawn(*arguments):
        code, _, err = render(source, '-o', place('functions.svg'), *arguments)
        assert code == 0, err
        with open(place('functions.svg')) as file:
            text = file.read()
        return [len(re.findall(f'>{word}<', text)) for word in ('LeakyRelu', 'Sigmoid', '▾ Block', '▸ Block')]

    assert drawn() == [0, 0, 0, 2]
    assert drawn('--open', '#1') == [1, 0, 1, 1]
    assert drawn('--open', '#1', '--open', '#3') == [1, 0, 1, 1]  # the last one that was opened
    assert drawn('--open', '#4') == [0, 1, 0, 3]
    assert drawn('--beside', '#1') == [1, 0, 1, 2]
    assert drawn('--enter', '#1') == [1, 0, 0, 0]
    assert drawn('--enter', '#4', '--open', '#1')[1] == 1
    inner = next(n for n in range(6, 20) if render(source, '-o', place('x.svg'), '--open', f'#{n}')[0] == 0)
    assert drawn('--open', '#4', '--open', f'#{inner}') == [1, 1, 1, 2]
    assert drawn('--open', '#1', '--pass', 'eliminate-identity', '--diff', '0:0') == [1, 0, 1, 1]
    code, _, err = render(source, '-o', place('x.svg'), '--open', '#2')
    assert code == 2 and 'calls a function' in err, err
    # functions that call each other are no graph that runs, but a picture
    with open(source, 'w') as file:
        file.write(FUNCTIONS.replace('t = Mul (x, k)', 't = local.Outer (x)'))
    for n in range(1, 12):
        for m in (1, 4, 7):
            assert render(source, '-o', place('x.svg'), '--open', f'#{n}', '--open', f'#{m}')[0] in (0, 2)


@test('a view that was kept has the boxes that were moved, and the numbers of its file')
def _():
    with open(place('kept.json'), 'w') as file:
        json.dump({'title': 'Latency', 'nodes': {'/conv1/Conv': 2e-6}}, file)
    os.makedirs(place('irscope'), exist_ok=True)

    def boxes(**kept):
        view = {'overlay': 'file', 'numbers': place('kept.json'), 'zoom': 1, **kept}
        with open(place('irscope/views.json'), 'w') as file:
            json.dump({os.path.abspath(DIGITS): {'2': view}}, file)
        code, _, err = render(DIGITS, '-o', place('kept.svg'), '--kept', '2')
        assert code == 0, err
        with open(place('kept.svg')) as file:
            text = file.read()
        assert 'Latency' in text
        return text

    still = boxes()
    assert boxes(moved=[{'box': '/conv1/Conv', 'x': 40, 'y': -16}]) != still
    for nonsense in ('nobody', '#', '#x', '#18446744073709551616', '', 7, None):
        assert boxes(moved=[{'box': nonsense, 'x': 40, 'y': -16}, 3]) == still, nonsense
    assert boxes(moved=[{'box': '/conv1/Conv', 'x': 1e300, 'y': 0}]) == still
    with open(place('irscope/views.json'), 'w') as file:
        json.dump({os.path.abspath(DIGITS): {'2': {'overlay': 'file', 'numbers': place('gone.json')}}}, file)
    code, _, err = render(DIGITS, '-o', place('kept.svg'), '--kept', '2')
    assert code == 2 and 'gone.json' in err, err


run_tests()
