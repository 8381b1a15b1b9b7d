#!/usr/bin/python3
"""What the views draw, as render writes it: of each its texts in their order and how many elements of each colour it
has, against tests/cli/views.txt. Places are left out, as they go by the fonts of a machine. Prints TAP.

    test-views.py IRSCOPE SOURCE_ROOT [--bless]"""

import collections
import html
import os
import re
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
KEPT = os.path.join(ROOT, 'tests/cli/views.txt')
WORK = tempfile.mkdtemp(prefix='irscope-views-')
PLAN = ('--threads', '1', '--random', '1')
EXACT = (*PLAN, '--device', 'ref')  # the same numbers on every machine


def numbers(n):
    return ', '.join(f'{(7 * i % 11 - 4) / 8}' for i in range(n))


# A convolution, of which passes make less in two steps
with open(os.path.join(WORK, 'stem.onnxtxt'), 'w') as model:
    model.write(f'''<ir_version: 8, opset_import: ["" : 17]>
stem (float[1,2,5,5] x) => (float[1,3,5,5] y, int64[4] s)
<float[3,2,3,3] w = {{{numbers(54)}}}, float[3] one = {{1.0, 2.0, 0.5}}, float[3] none = {{0.0, 0.25, -1.0}}>
{{
 ["stem/conv"] a = Conv <pads = [1, 1, 1, 1]> (x, w)
 ["stem/norm"] b = BatchNormalization (a, one, none, none, one)
 ["stem/act"] c = Relu (b)
 [sum] y = Add (c, c)
 [size] s = Shape (y)
}}''')
with open(os.path.join(WORK, 'overlay.json'), 'w') as overlay:
    overlay.write('{ "title": "Heat", "unit": "K", "nodes": { "stem/conv": 300, "sum": 20 } }')
STEM = ('stem', '--pass', 'fold-conv-bn,fuse-activation')
POINT = ('--value', 'x1=2', '--value', 'x2=5')
OVERLAYS = ('flops', 'bytes', 'memory', 'dtype', 'device', 'error', 'sparsity', 'values', 'verdict', 'age')

# Contents are of constants, or of the reference kernels; of what is measured there are no times.
VIEWS = {
    'summary': ('digits', '--view', 'summary', *PLAN),
    'schedule': ('digits', '--view', 'schedule', *EXACT),
    'memory': ('digits', '--view', 'memory', *EXACT),
    'memory under a budget': ('digits', '--view', 'memory', '--budget', '90%', *EXACT),
    'histogram of a weight': ('digits', '--view', 'tensor', '--tensor', 'conv1.weight', *EXACT),
    'histogram in an iteration': ('while-newton', '--view', 'tensor', '--tensor', 'loop@3/better', *EXACT),
    'derivation': ('worked-example', '--view', 'derivation', *EXACT),  # at the inputs that it has by default
    'gradients': ('worked-example', '--view', 'gradients', '--value', 'x1=2', '--value', 'x2=5', '--wrt', 'inputs', *EXACT),
    'flow': ('while-newton', '--view', 'flow', *EXACT),
    'unrolled': ('while-newton', '--view', 'unrolled', '--iterations', '1..2', *EXACT),
    'unrolled as tokens': ('while-newton', '--pass', 'lower-control-flow', '--view', 'unrolled', '--iterations', '1..2', *EXACT),
    'a rewrite': ('digits', '--rewrite', '5'),
    'timeline': ('stem', '--view', 'timeline', *EXACT),
    'trace': ('stem', '--view', 'trace', *EXACT),
    'a difference': (*STEM, '--diff', '0:1'),
    'a difference, both sides': (*STEM, '--diff', '0:2', '--sides', 'beside'),
    'a difference from another file': ('worked-example', '--diff', os.path.join(WORK, 'stem.onnxtxt')),
    'why a rule did not fire': ('stem', '--why', 'fuse-conv-add:sum'),
    'a query': ('stem', '--highlight', 'op:conv', '--colour', 'green=op:add', '--constants'),
    'plain stem': STEM,
    'plain worked-example': ('worked-example', '--view', 'graph'),
    **{f'overlay {name}': (*STEM, '--overlay', name, *EXACT) for name in OVERLAYS},
    'overlay gradient': ('worked-example', '--overlay', 'gradient', '--wrt', 'inputs', *POINT, *EXACT),
    'overlay of a file': (*STEM, '--overlay-file', os.path.join(WORK, 'overlay.json')),
    'scoreboard': (*STEM, '--view', 'scoreboard', *PLAN),
    'training': ('digits-untrained', '--view', 'training', '--log', os.path.join(WORK, 'log.csv')),
}
PICTURES = {
    'heat map': ('conv1.weight', '--axes', '0,0,r,c'),
    'part of a heat map': ('conv1.weight', '--axes', '0,0,r1:3,c:2'),
    'tiles': ('conv1.weight', '--axes', 't,0,r,c'),
    'line': ('bn1.weight', '--as', 'line'),
    'scatter plot': ('bn1.weight', '--as', 'scatter', '--against', 'bn1.bias'),
    'difference': ('bn1.weight', '--as', 'heat', '--against', 'bn1.bias'),
}


# Of a training of five steps, behind the last of which it was checked
with open(os.path.join(WORK, 'log.csv'), 'w') as log:
    log.write('step,epoch,loss,accuracy,rate,ms,validation_loss,validation_accuracy,weight_norm,update_norm\n')
    for i in range(1, 6):
        check = '0.5,0.875' if i == 5 else ','
        log.write(f'{i},1,{2 / i},{i / 8},0.003,7,{check},{10 + i},{1 / i}\n')


def example(name):
    if name == 'stem':
        return os.path.join(WORK, 'stem.onnxtxt')
    for ending in ('onnx', 'onnxtxt'):
        path = os.path.join(ROOT, 'data/examples', f'{name}.{ending}')
        if os.path.exists(path):
            return path
    raise AssertionError(name)


MEASURED = ('timeline', 'trace')
TIME = r'[0-9.,]+\s?(ns|µs|ms|s)\b'
CRITICAL, GAP = '#8a3b3b', '#ced2d8'  # which path that is goes by the times, and where workers stand idle


def without_times(svg, texts):
    """How many ticks an axis has goes by its length, as do the lines at them."""
    kept = [re.sub(TIME, 'TIME', text) for text in texts if text not in ('0', '') and not re.fullmatch(TIME, text)]
    return re.sub(rf'<(rect|path)\b[^>]*fill="(none|{CRITICAL}|{GAP})"[^>]*>', '', svg), kept


def drawn(path, short, measured=False):
    """@short: what is written into bars goes by the fonts, and is left out, as is all that is cut."""
    svg = open(path, encoding='utf-8').read()
    texts = [html.unescape(re.sub(r'<[^>]*>', '', text)) for text in re.findall(r'<text[^>]*>(.*?)</text>', svg, re.S)]
    texts = [text for text in texts if '…' not in text and (not short or ' ' in text or text[:1].isdigit())]
    if measured:
        svg, texts = without_times(svg, texts)
    kinds = collections.Counter(f'{kind} {fill}' for kind, fill in re.findall(r'<(rect|path|polyline|circle|line)\b[^>]*?fill="([^"]*)"', svg))
    kinds.update({'image': svg.count('<image ')} if '<image ' in svg else {})
    return [', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items())), *texts]


def beyond(lines, plain):
    """Texts of an overlay that the picture without it has not"""
    rest = collections.Counter(plain[1:])
    return [lines[0], *(text for text in lines[1:] if rest[text] == 0 or rest.subtract([text]))]


def made():
    path, plain = os.path.join(WORK, 'view.svg'), {}
    for name, (model, *arguments) in VIEWS.items():
        subprocess.run([PROGRAM, 'render', example(model), '-o', path, *arguments], check=True)
        lines = drawn(path, arguments[1] in ('schedule', 'memory', *MEASURED), arguments[1] in MEASURED)
        plain = {**plain, name: lines} if name.startswith('plain') else plain
        yield name, beyond(lines, plain[f'plain {model}']) if name.startswith('overlay') else lines
    for name, (value, *arguments) in PICTURES.items():
        done = subprocess.run([PROGRAM, 'tensor', example('digits'), value, '--picture', path, *arguments], stdout=subprocess.DEVNULL)
        assert done.returncode <= ('--against' in arguments), done
        yield name, drawn(path, False)


def kept():
    sections = open(KEPT, encoding='utf-8').read().split('== ')[1:]
    return {section.split('\n', 1)[0]: section.rstrip('\n').split('\n')[1:] for section in sections}


if '--bless' in sys.argv:
    with open(KEPT, 'w', encoding='utf-8') as file:
        for name, lines in made():
            file.write('\n'.join([f'== {name}', *lines]) + '\n')
    sys.exit(0)


@test('each view draws what is kept of it')
def _():
    expected, found = kept(), dict(made())
    assert set(expected) == set(found), set(expected) ^ set(found)
    for name, lines in found.items():
        differ = [(a, b) for a, b in zip(expected[name] + [''] * len(lines), lines + [''] * len(expected[name])) if a != b]
        assert not differ, f'{name}: kept {differ[0][0]!r}, drawn {differ[0][1]!r}; after a change that is meant: --bless'


run_tests()
