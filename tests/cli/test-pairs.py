#!/usr/bin/python3
"""Values of one network as several tools write it: `irscope diff --values` pairs those that the source calls one
thing (pairs/pairs.json, which tests/oracle/exporter-pairs.py made of names alone), the same ones from either side,
and leaves alone what it cannot tell; prints TAP.

    test-pairs.py IRSCOPE SOURCE_ROOT"""

import csv
import json
import os
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
PAIRS = os.path.join(ROOT, 'tests/cli/pairs')
WORK = tempfile.mkdtemp(prefix='irscope-pairs-')
LISTS = json.load(open(os.path.join(PAIRS, 'pairs.json'), encoding='utf-8'))


def path(name):
    return os.path.join(WORK, name)


def model(name):
    return os.path.join(PAIRS, name + '.onnx')


def irscope(*args, status=(0,)):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=100)
    assert done.returncode in status, (args, done.returncode, done.stderr[:600])
    return done


def table(a, b, *args, runs=True):
    irscope('diff', *(['--values'] if runs else []), a, b, '--table', path('t.json'), *args, status=(0, 1))
    return json.load(open(path('t.json'), encoding='utf-8'))


def pairs_of(found):
    return {(v['a'], v['b']) for v in found['values'] if 'a' in v and 'b' in v}


def judge(key, a, b, least, besides=None, runs=True):
    """Returns: what was paired. So many parts of the list are, and none otherwise."""
    got, wanted = pairs_of(table(a, b, runs=runs)), {tuple(pair) for pair in LISTS[key] if pair[1] != besides}
    of_a, of_b = dict(got), {y: x for x, y in got}
    wrong = [(x, y) for x, y in wanted if of_a.get(x, y) != y or of_b.get(y, x) != x]
    assert not wrong, (key, wrong)
    assert len(wanted & got) >= least * len(wanted), (key, len(wanted & got), len(wanted))
    assert pairs_of(table(b, a, runs=runs)) == {(y, x) for x, y in got}, f'{key}: other pairs from the other side'
    return got


for name in LISTS:
    @test(f'{name}: 95 % of the pairs of the list are found, and none is wrong')
    def _(key=name):
        judge(key, *map(model, key.split()), 0.95)

# Before anything is run the same matcher has structure alone to tell by.
for name, least in ('script dynamo', 0.95), ('script old', 0.95), ('script runtime', 0.75):
    @test(f'{name}: structure alone makes no wrong pair')
    def _(key=name, part=least):
        judge(key, *map(model, key.split()), part, runs=False)


@test('names are no evidence: those of two branches that were exchanged do not make pairs')
def _():
    net = """<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) {{
  {a} = Exp (x)
  {b} = Sigmoid ({a})
  {c} = Exp (x)
  {d} = Tanh ({c})
  y = Add ({b}, {d})
}}"""
    for name, names in ('one', 'p q r s'), ('other', 'r s p q'):
        with open(path(name + '.onnxtxt'), 'w', encoding='utf-8') as file:
            file.write(net.format(**dict(zip('abcd', names.split()))))
    for runs in False, True:
        got = pairs_of(table(path('one.onnxtxt'), path('other.onnxtxt'), runs=runs))
        assert {('q', 's'), ('s', 'q'), ('y', 'y')} <= got and len(got) == 5, (runs, got)
    counts = json.loads(irscope('diff', path('one.onnxtxt'), path('other.onnxtxt'), '--json', status=(1,)).stdout)
    assert counts['paired_by'] == {'computation': 5, 'lineage': 0, 'name': 0, 'neighbours': 0}, counts['paired_by']


# With a fault that all values behind it have, only structure is left to tell by: other pairs may not be found.
for name, least in ('script dynamo', 0.95), ('script old', 0.95), ('script runtime', 0.75):
    @test(f'{name}: no pair is wrong where one side computes something else')
    def _(key=name, part=least):
        a, b = key.split()
        irscope('convert', model(b), path('b.onnxtxt'))
        text = open(path('b.onnxtxt'), encoding='utf-8').read()
        fault = text.replace('strides = [2, 2]', 'strides = [2, 2], irscope_fault = 1', 1)
        where = fault.index('irscope_fault')
        fault = fault.replace(', irscope_fault = 1', '')
        conv = fault[fault.rindex('\n', 0, where):fault.index('\n', where)]
        result, rest = conv.strip().split('] ', 1)[1].split(' = ', 1)
        fault = fault.replace(conv, f'\n  fault_in = {rest.strip()}\n  fault_scale = Constant <value = float {{1.75}}> ()\n  {result} = Mul (fault_in, fault_scale)')
        with open(path('fault.onnxtxt'), 'w', encoding='utf-8') as file:
            file.write(fault)
        # what the convolution gives is fault_in now
        assert 'fault_in' in {y for x, y in judge(key, model(a), path('fault.onnxtxt'), part, result.strip('"'))}


@test('the table has all values, sorted as it is asked for, as JSON and as CSV')
def _():
    found = table(model('script'), model('runtime'), '--sort', 'rel')
    alone = [v for v in found['values'] if v['verdict'] == 'no partner']
    assert alone and all(('a' in v) != ('b' in v) for v in alone) and 'first_diverging' not in found, alone[:2]
    schema = json.load(open(os.path.join(ROOT, 'data/schema/values.schema.json'), encoding='utf-8'))
    known = schema['properties']['values']['items']['properties']
    for v in found['values']:
        assert set(v) <= set(known) and all(v[k] in known[k]['enum'] for k in ('verdict', 'paired_by') if k in v), v
    of_a = {v['a'] for v in found['values'] if 'a' in v}
    assert len(of_a) == sum('a' in v for v in found['values']), 'one value stands twice'
    old = table(model('script'), model('old'), '--sort', 'abs')['values']
    numbers = [v['max_abs'] for v in old if 'max_abs' in v]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] > 0, numbers[:5]
    irscope('diff', '--values', model('script'), model('old'), '--table', path('t.csv'), '--sort', 'a', status=(0, 1))
    rows = list(csv.DictReader(open(path('t.csv'), encoding='utf-8', newline='')))
    assert len(rows) == len(old) and [r['a'] for r in rows] == sorted(r['a'] for r in rows), len(rows)
    assert {r['paired_by'] for r in rows} <= {'computation', 'lineage', 'name', 'neighbours', 'contents', 'nothing'}, rows[0]


@test('options that do not go together are refused')
def _():
    for options, words in (['--table', 'x.csv', '--sort', 'abs'], 'needs --values'), (['--values', '--sort', 'abs'], 'needs --table'), \
            (['--values', '--table', 'x.txt'], '.csv or .json'), (['--values', '--table', 'x.csv', '--sort', 'size'], 'needs order'):
        said = irscope('diff', model('script'), model('old'), *options, status=(2,)).stderr
        assert words in said, (options, said)


run_tests()
