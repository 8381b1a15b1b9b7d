#!/usr/bin/python3
"""A model at a glance: tables that add up to what other commands say, sorted, timed, and drawn; prints TAP.

    test-summary.py IRSCOPE SOURCE_ROOT"""

import json
import os
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
EXAMPLES = os.path.join(ROOT, 'data/examples')
FILES = [os.path.join(EXAMPLES, name) for name in sorted(os.listdir(EXAMPLES)) if name.endswith('.onnx')]
DIGITS = os.path.join(EXAMPLES, 'digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-summary-')


def run(*args, status=0):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=100)
    assert done.returncode == status, (args, done.returncode, done.stderr)
    return done.stdout


def answer(*args):
    return json.loads(run(*args, '--json'))


def model(name, text, imports='"" : 17'):
    path = os.path.join(WORK, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'<ir_version: 8, opset_import: [{imports}]>\n{text}')
    return path


@test('tables by operator and by scope add up to what irscope info says')
def _():
    for file in FILES:
        info, summary = answer('info', file), answer('summary', file)
        assert (summary['nodes'], summary['flops'], summary['bytes'], summary['params']) == (
            info['nodes'], info['flops'], info['bytes'], info['parameters']), (file, summary, info)
        assert summary['opsets'] == info['opsets'] and summary['partial'] == info['flops_partial']
        for rows in (summary['operators'], summary['scopes']):
            assert sum(r['nodes'] for r in rows) == info['nodes'], file
            assert sum(r['flops'] for r in rows) == info['flops'] and sum(r['bytes'] for r in rows) == info['bytes'], file
            assert all(abs(r['intensity'] - (r['flops'] / r['bytes'] if r['bytes'] else 0)) < 1e-9 for r in rows)
        assert sum(p['nodes'] for p in summary['places']) == info['nodes'], (file, summary['places'])
        assert {r['name']: r['nodes'] for r in summary['operators']}.items() <= info['ops'].items(), file


@test('rows are sorted by what is asked for, and timed by a run')
def _():
    for key in ('nodes', 'params', 'flops', 'bytes', 'intensity'):
        rows = [r[key] for r in answer('summary', DIGITS, '--sort', key)['operators']]
        assert rows == sorted(rows, reverse=True) and rows[0] > rows[-1], (key, rows)
    names = [r['name'] for r in answer('summary', DIGITS, '--sort', 'name')['operators']]
    assert names == sorted(names), names
    timed = answer('summary', DIGITS, '--run', '--sort', 'time')
    ms = [r['ms'] for r in timed['operators']]
    assert ms == sorted(ms, reverse=True) and ms[0] > 0 and abs(sum(ms) - timed['ms']) < 1e-6 * timed['ms'] + 1e-9
    assert 'ms' not in answer('summary', DIGITS)


@test('scopes are as deep as asked for; values are counted by type and size')
def _():
    net = model('net.onnxtxt', '''g (float[8,4] x) => (float[8,4] y) <float[4,4] w = {%s}, double[2] z = {1.0, 2.0}> {
 ["/a/b/mm"] h = MatMul (x, w)
 ["/a/c/act"] i = Relu (h)
 ["/d/add"] y = Add (i, h)
}''' % ', '.join('1.0' for _ in range(16)))
    one, two = answer('summary', net)['scopes'], answer('summary', net, '--depth', '2')['scopes']
    if {r['name'] for r in one} != {''}:  # names of nodes say scopes
        assert {r['name']: r['nodes'] for r in one} == {'a': 2, 'd': 1}, one
        assert {r['name']: r['nodes'] for r in two} == {'a/b': 1, 'a/c': 1, 'd': 1}, two
    summary = answer('summary', net, '--tensors', '2')
    assert [(t['name'], t['bytes'], t['constant']) for t in summary['tensors']] == [('x', 128, False), ('y', 128, False)] or \
        len({t['bytes'] for t in summary['tensors']}) == 1 and summary['tensors'][0]['bytes'] == 128, summary['tensors']
    types = {d['dtype']: d for d in summary['dtypes']}
    assert types['float']['constants'] == 1 and types['float']['constant_bytes'] == 64, types
    assert types['float']['computed'] == 4 and types['float']['computed_bytes'] == 4 * 128, types
    assert types['double']['constant_bytes'] == 16 and types['double']['computed'] == 0, types
    assert summary['operators'][0]['name'] == 'MatMul' and summary['operators'][0]['params'] == 16


@test('sizes that are not known count as 1, in bytes of values as in FLOPs')
def _():
    net = model('free.onnxtxt', 'g (float[N,4] x) => (float[N,4] y) { h = Relu (x) y = Neg (h) }')
    summary = answer('summary', net)
    types = {d['dtype']: d for d in summary['dtypes']}
    assert types['float']['computed_bytes'] == 3 * 16, types
    assert [t['bytes'] for t in summary['tensors']] == [16, 16, 16], summary['tensors']
    assert 'at least' in run('summary', net).split('element types')[1].split('\n')[1]


@test('what has no kernel, and what lies in bodies and functions, has its place')
def _():
    net = model('odd.onnxtxt', '''g (float[2] x) => (float[2] y) {
 h = custom.domain.Frob (x)
 y = Relu (h)
}'''.replace('custom.domain.Frob', 'my.Frob'), '"" : 17, "my" : 1')
    places = {p['where']: p['nodes'] for p in answer('summary', net)['places']}
    assert places == {'nothing': 1, 'ref': 1}, places  # behind it no type is known
    assert {'my.Frob', 'Relu'} == {r['name'] for r in answer('summary', net)['operators']}
    places = {p['where'] for p in answer('summary', os.path.join(EXAMPLES, 'if-branch.onnx'))['places']}
    assert 'control flow' in places, places
    assert {p['where'] for p in answer('summary', DIGITS, '--device', 'ref')['places']} == {'ref'}


@test('text and picture have the same rows; the picture is the same each time')
def _():
    text = run('summary', DIGITS)
    assert '41 nodes' in text and 'largest tensors' in text and 'where it would run' in text
    path = os.path.join(WORK, 'summary.svg')
    pictures = []
    for _ in range(2):
        run('render', DIGITS, '--view', 'summary', '-o', path)
        pictures.append(open(path, encoding='utf-8').read())
    assert pictures[0] == pictures[1]
    for name in ('Operators by FLOPs', 'Scopes by FLOPs', 'Conv', 'block', 'Element types by bytes', 'fc.weight', 'cpu'):
        assert f'>{name}<' in pictures[0], name


@test('what memory holds at the peak is what lives there, the largest first')
def _():
    memory = answer('memory', DIGITS)
    peak, held = memory['at_peak'], {}
    for step in range(max(v['last'] for v in memory['values']) + 1):
        held[step] = len({b for v in memory['values'] if v['first'] <= step <= v['last']
                          for b in range(v['offset'], v['offset'] + v['size'])})
    assert (peak['step'], peak['bytes']) == (max(held, key=held.get), max(held.values())), (peak, held)
    assert set(peak['values']) == {v['name'] for v in memory['values'] if v['first'] <= peak['step'] <= v['last']}
    sizes = {v['name']: v['size'] for v in memory['values']}
    assert [sizes[n] for n in peak['values']] == sorted((sizes[n] for n in peak['values']), reverse=True)
    assert peak['values'][0] in run('memory', DIGITS, '--at-peak').split('\n')[1]


@test('what cannot be asked for is refused')
def _():
    for args, words in ((('--sort', 'size'), 'intensity'), (('--depth', '-1'), '--depth'), (('--device', 'tpu'), 'cpu')):
        done = subprocess.run([PROGRAM, 'summary', DIGITS, *args], capture_output=True, text=True)
        assert done.returncode == 2 and words in done.stderr, (args, done.stderr)


run_tests()
