#!/usr/bin/python3
"""irscope find: nodes by what they are, and by what they reach; prints TAP.

    test-find.py IRSCOPE SOURCE_ROOT"""

import json
import os
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DIGITS = os.path.join(ROOT, 'data', 'examples', 'digits.onnx')
BRANCH = os.path.join(ROOT, 'data', 'examples', 'if-branch.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-find-')
MODEL = '''<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3, 8, 8] x) => (float[2, 4, 8, 8] y, float[2, 3, 8, 8] z)
<float[4, 3, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, nan}>
{ ["stem/conv"] c = Conv <kernel_shape = [1, 1], group = 1> (x, w)
  ["stem/act"] r = Relu (c)
  ["head/out"] y = Sigmoid (r)
  ["tail"] z = Neg (x) }'''


def run(*args, status=0):
    result = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
    assert result.returncode == status, (args, result.returncode, result.stderr)
    return result


def names(file, *args, found=True):
    out = json.loads(run('find', file, *args, '--json', status=0 if found else 1).stdout)
    assert out['found'] == len(out['nodes'])
    return [node['node'] for node in out['nodes']]


def model():
    path = os.path.join(WORK, 'g.onnxtxt')
    with open(path, 'w') as file:
        file.write(MODEL)
    return path


@test('words, in any field')
def _():
    assert names(model(), 'conv') == ['stem/conv']
    assert names(model(), 'STEM') == ['stem/conv', 'stem/act']
    assert names(model(), 'stem relu') == ['stem/act']
    assert names(model(), 'nothing', found=False) == []
    assert len(names(model())) == 4


@test('a node by its number, as the list has it')
def _():
    listed = json.loads(run('find', model(), '--json').stdout)['nodes']
    for node in listed:
        assert names(model(), f'#{node["id"]}') == [node['node']]
    assert names(model(), f'stem -#{listed[0]["id"]}') == ['stem/act']
    for none in (f'#{listed[0]["id"]} op:neg', '#99', f'"#{listed[0]["id"]}"', '#', '#0'):
        assert names(model(), none, found=False) == [], none


@test('fields')
def _():
    assert names(model(), 'op:con') == ['stem/conv']
    assert names(model(), 'op:"con"', found=False) == []
    assert names(model(), 'op:"Conv"') == ['stem/conv']
    assert names(model(), 'name:out') == ['head/out']
    assert names(model(), 'dtype:int', found=False) == []
    assert names(model(), 'shape:2,4,8,8') == ['stem/conv', 'stem/act', 'head/out']
    assert names(model(), 'shape:*,3,*,*') == ['tail']
    assert names(model(), 'shape:[2,3,8,8]') == ['tail']
    assert names(model(), 'shape:2,3,8', found=False) == []
    assert names(model(), 'shape:4 -op:conv') == ['stem/act', 'head/out']
    assert names(model(), 'attr:group') == ['stem/conv']
    assert names(model(), 'attr:group=2', found=False) == []
    assert names(model(), 'attr:kernel_shape=1,1') == ['stem/conv']


@test('numbers')
def _():
    costs = {n['node']: n['flops'] for n in json.loads(run('find', model(), '--json').stdout)['nodes']}
    assert names(model(), 'cost>1k') == [n for n, c in costs.items() if c > 1000]
    assert names(model(), f'cost>={costs["stem/conv"]}') == ['stem/conv']
    assert 'a number' in run('find', model(), 'cost>many', status=2).stderr
    assert 'has:nan' in run('find', model(), 'has:weights', status=2).stderr


@test('what constants hold')
def _():
    assert names(model(), 'has:nan') == ['stem/conv']
    assert names(model(), 'has:inf', found=False) == []


@test('what reaches what')
def _():
    assert names(model(), '--reached-by', 'stem/conv') == ['stem/conv', 'stem/act', 'head/out']
    assert names(model(), '--reaches', 'head/out') == ['stem/conv', 'stem/act', 'head/out']
    assert names(model(), '--reaches', 'head/out', '--within', '1') == ['stem/act', 'head/out']
    assert names(model(), '--between', 'head/out,stem/conv') == ['stem/conv', 'stem/act', 'head/out']
    assert names(model(), '--between', 'tail,stem/conv', found=False) == []
    assert names(model(), 'relu', '--between', 'stem/conv,head/out') == ['stem/act']
    assert "no node 'lost'" in run('find', model(), '--reaches', 'lost', status=2).stderr


@test('in branches, and through them')
def _():
    nodes = json.loads(run('find', BRANCH, '--json').stdout)['nodes']
    inner = [n for n in nodes if n['graph'] != nodes[0]['graph']]
    owner = next(n['node'] or f'#{n["id"]}' for n in nodes if n['op'] == 'If')
    assert inner
    reached = json.loads(run('find', BRANCH, '--reaches', owner, '--json').stdout)['nodes']
    assert {n['id'] for n in inner} <= {n['id'] for n in reached}


@test('after steps')
def _():
    assert names(DIGITS, 'op:convrelu', found=False) == []
    assert names(f'{DIGITS}@32', 'op:convrelu')


run_tests()
