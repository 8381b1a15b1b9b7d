#!/usr/bin/python3
"""A run that is stopped, looked at and driven: breakpoints, run to a node, rounds of loops, watchpoints,
and the commands of --debug; prints TAP.

    test-run-control.py IRSCOPE SOURCE_ROOT"""

import json
import os
import re
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-run-control-')


def run(*args, status=0, stdin=None):
    done = subprocess.run([PROGRAM, 'run', *args], capture_output=True, text=True, input=stdin or '', timeout=100)
    assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
    return done


def answer(*args, status=0, stdin=None):
    return json.loads(run(*args, '--json', status=status, stdin=stdin).stdout)


def model(name, text, *imports):
    path = os.path.join(WORK, name)
    imported = ', '.join(['"" : 17', *(f'"{domain}" : 1' for domain in imports)])
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'<ir_version: 8, opset_import: [{imported}]>\n' + text)
    return path


CHAIN = model('chain.onnxtxt', '''g (float[4] x) => (float[4] y, float[4] z) {
 [first] a = Neg (x)
 [root] b = Sqrt (a)
 [last] y = Relu (b)
 [beside] z = Add (x, x)
}''')
VALUES = ('--value', 'x=-1,-4,4,-9')  # of which the third has no root

SIZES = model('sizes.onnxtxt', '''g (float[1] x) => (int64[1] y) <int64[1] n = {1280}> {
 s = Mul (n, n)
 r = Mul (x, x)
 y = Add (s, n)
}''')

LOOP = model('loop.onnxtxt', '''g (float[2] x) => (float[2] y) {
 n = Constant <value_int = 4> ()
 c = Constant <value = bool {1}> ()
 [loop] y = Loop (n, c, x) <body = b (int64 i, bool go, float[2] s) => (bool more, float[2] t) {
  [double] d = Add (s, s)
  [step] t = Add (d, x)
  [again] more = Identity (go)
 }>
 }''')
START = ('--value', 'x=1,2')

SHAPES = model('shapes.onnxtxt', '''g (float[2,3,2] x, uint8[6] q) => (float[2,3,2] y, float[2,3,2] k, uint8[6] r)
<float[3,1] scale = {1.0, 0.0, 0.0}, float[1] zero = {0.0}> {
 [scaled] y = Mul (x, scale)
 [nothing] k = Mul (x, zero)
 [same] r = Identity (q)
}''')
GIVEN = ('--value', 'x=1,2,3,4,5,6,7,8,9,10,11,12', '--value', 'q=0,255,255,255,255,9')


def names(stop):
    return [v['name'] for v in stop['values']]


@test('a run stops behind the node that gives the first NaN, with statistics and what it comes of')
def _():
    found = answer(CHAIN, *VALUES, '--break', 'nan', status=1)
    stop, = found['stops']
    assert (stop['node'], stop['when'], stop['value'], stop['break']) == ('root', 'after', 'b', 'nan'), stop
    assert stop['values'][0]['nan'] == 1 and stop['values'][0]['max'] == 3 and 'root' in stop['advice'], stop
    assert 'came_in' not in stop and 'error' not in found, found
    assert [v for v in found['outputs'] if v['name'] == 'y' and 'dtype' in v] == [], found['outputs']
    text = run(CHAIN, *VALUES, '--break', 'nan', status=1).stdout
    assert 'stopped after root (Sqrt)' in text and '1 of 4 elements are NaN' in text, text


@test('where the condition holds of what a node reads, that is said')
def _():
    stop, = answer(CHAIN, *VALUES, '--break', 'nan op:relu', status=1)['stops']
    assert stop['node'] == 'last' and stop['came_in'] == 'b', stop
    stop, = answer(CHAIN, '--value', 'x=nan,1,2,3', '--break', 'nan', status=1)['stops']
    assert stop['id'] == 0 and stop['value'] == 'x' and stop['done'] == 0, stop


@test('a question about nodes alone stops before them, and shows what they read')
def _():
    stop, = answer(CHAIN, *VALUES, '--break', 'op:sqrt', status=1)['stops']
    assert (stop['node'], stop['when'], names(stop)) == ('root', 'before', ['a']), stop
    assert stop['values'][0]['min'] == -4


@test('each kind of condition stops at the first node of which it holds, and only there')
def _():
    for condition, value in (('abs>8.5', 'x'), ('max>8.5 -op:nothing', 'a'), ('min<-3.5 op:neg', 'a'),
                             ('std>3 op:add', 'z'), ('mean<0 op:add', 'z')):
        stop, = answer(CHAIN, *VALUES, '--break', condition, status=1)['stops']
        assert stop['value'] == value, (condition, stop)
    for condition, value in (('dead', 'y'), ('dead>60%', 'y'), ('zeros', 'k'), ('constant', 'k'),
                             ('saturated', 'q'), ('saturated>0.6', 'q'), ('memory>1', None)):
        stop, = answer(SHAPES, *GIVEN, '--break', condition, status=1)['stops']
        assert stop.get('value') == value, (condition, stop)
    for condition in ('dead>70%  op:identity', 'saturated>0.9', 'zeros op:identity', 'memory>1G', 'inf', 'nan'):
        assert answer(SHAPES, *GIVEN, '--break', condition)['stops'] == [], condition


@test('--until stops when the node has run; what is kept so far is there')
def _():
    found = answer(CHAIN, *VALUES, '--until', 'root', '--capture', 'all')
    stop, = found['stops']
    assert (stop['node'], stop['when'], names(stop)) == ('root', 'after', ['b']) and 'break' not in stop, stop
    kept = {v['name'] for v in found['captured'] if 'dtype' in v}
    assert {'a', 'b'} <= kept and 'y' not in kept, found['captured']


@test('rounds of loops are counted, and stopped in')
def _():
    stop, = answer(LOOP, *START, '--break', 'max>20', status=1)['stops']
    assert (stop['node'], stop['round'], stop['depth']) == ('double', 3, 1), stop
    assert stop['values'][0]['max'] == 28 and 'came_in' not in stop, stop
    stop, = answer(LOOP, *START, '--break', 'max>6 name:step', status=1)['stops']
    assert (stop['node'], stop['round'], stop['came_in']) == ('step', 2, 'd'), stop


@test('commands: step, over, round, to, value, break and continue arrive where they say')
def _():
    text = run(LOOP, *START, '--debug', stdin='s\ns\ns\nr\nr\nto step\nv t\nn\nc\n').stdout
    where = [line[8:].split(',')[0] for line in text.splitlines() if line.startswith('stopped ')]
    loop = where.index('before loop@0/double (Add)')
    assert where[loop:] == ['before loop@0/double (Add)', 'before loop@1/double (Add)', 'before loop@2/double (Add)',
                            'after loop@2/step (Add)'] + where[loop + 4:], where
    assert 'value t' in text and '[15, 30]' in text.replace('  ', ' '), text
    end = run(LOOP, *START, '--debug', stdin='c\n').stdout.splitlines()
    assert any(line.startswith('y') and '31' in line for line in end), end


IN_PLACE = model('in-place.onnxtxt', '''g (float[4,8] x) => (float[4,8] y, float[8,4] z) {
 [made] a = Exp (x)
 [over] b = Neg (a)
 [seen] c = Flatten (b)
 [turned] d = Transpose <perm = [1, 0]> (c)
 [other] e = Sin (d)
 [more] z = Neg (e)
 [last] y = Neg (x)
}''')


@test('a value whose bytes are given to others is said to be gone, and none holds what another has')
def _():
    kept = {v['name']: v for v in answer(IN_PLACE, '--capture', 'stats')['captured'] if 'min' in v}
    gone = set()
    for steps in range(1, 6):
        done = run(IN_PLACE, '--debug', stdin='s\n' * steps + ''.join(f'v {name}\n' for name in 'abcde'), status=2)
        shown = dict(re.findall(r'^  value (\w+) .*\n    min (\S+)', done.stdout, re.M))
        assert shown, done
        for name, least in shown.items():
            assert abs(float(least) - kept[name]['min']) <= 1e-5 * abs(kept[name]['min']), (steps, name, least, kept[name])
        gone |= {name for name in 'abcde'[:steps] if name not in shown}
        assert all(f'{name} holds nothing now' in done.stderr for name in 'abcde' if name not in shown), done.stderr
    assert gone == {'a', 'b', 'c', 'd'}, gone


@test('what no node has given yet is not shown, an output of the graph as little as another value')
def _():
    text = run(CHAIN, *VALUES, '--debug', stdin='v y\nv z\nto beside\nv z\nq\n', status=2)
    assert 'y holds nothing now' in text.stderr and 'z holds nothing now' in text.stderr, text
    assert re.findall(r'^  value (\w+) ', text.stdout, re.M) == ['z'] and '[[0, 0' not in text.stdout, text.stdout


CALLS = model('calls.onnxtxt', '\n'.join(('''g (float[2,3] x, int64[1] i, bool c) => (float[N,3] y, float[N,3] z)
{
 [outer] y = local.outer (x, i)
 [choice] z = If (c) <then_branch = t () => (float[N,3] a) { [mine] a = local.pick (x, i) },
                      else_branch = e () => (float[N,3] b) { [other] b = Gather <axis = 0> (x, i) }>
}''', *(f'''<opset_import: ["" : 17, "local" : 1], domain: "local">
{name} (a, k) => (b)
{{
 r = Relu (a)
 [last] b = {op} (r, k)
}}''' for name, op in (('outer', 'local.pick'), ('pick', 'Gather <axis = 0>'))))), 'local')


@test('an error says the function and the branch in which its node was written, and a call has run when its last node has')
def _():
    place = 'index 5 at place 0 is outside an axis of 2'
    for choice, outer, words in ((1, 5, 'outer/last/last (Gather) in local.pick of local.outer: ' + place),
                                 (1, 1, None), (0, 1, None)):
        done = subprocess.run([PROGRAM, 'run', CALLS, '--value', f'i={outer}', '--value', f'c={choice}'], capture_output=True, text=True)
        assert words is None and done.returncode == 0 or words in done.stdout + done.stderr, (done, words)
    only = model('branch.onnxtxt', open(CALLS).read().split('\n', 1)[1].replace(' [outer] y = local.outer (x, i)\n', '')
                 .replace('float[N,3] y, ', ''), 'local')
    for choice, words in ((1, 'choice/then_branch/mine/last (Gather) in local.pick: '), (0, 'choice/else_branch/other (Gather): ')):
        done = subprocess.run([PROGRAM, 'run', only, '--value', 'i=5', '--value', f'c={choice}'], capture_output=True, text=True)
        assert words + place in done.stderr, (done, words)
    text = run(CALLS, '--value', 'i=1', '--value', 'c=1', '--until', 'outer').stdout
    assert text.startswith('stopped after outer/last/last (Gather) in local.pick of local.outer, 3 of 4 nodes done'), text


@test('step by node gives the bits of a run that is not parallel, and of one of several threads')
def _():
    plain = answer(DIGITS, '--capture', 'stats', '--parallel', 'off', '--threads', '2')
    stepped = answer(DIGITS, '--capture', 'stats', '--debug', '--threads', '2', stdin='s\n' * 20 + 'c\n')
    assert len(stepped['stops']) == 21, len(stepped['stops'])
    sums = [{v['name']: v['checksum'] for v in r['captured'] + r['outputs'] if 'checksum' in v} for r in (plain, stepped)]
    assert len(sums[0]) > 10 and sums[0] == sums[1]


@test('watchpoints are judged on what was kept, without stopping')
def _():
    found = answer(CHAIN, *VALUES, '--watch', 'nan', '--watch', 'max>8.5', status=1)
    assert [(w['value'], w['break']) for w in found['watch']] == [('a', 'max>8.5'), ('b', 'nan'), ('y', 'nan')], found['watch']
    assert 'stops' not in found and all('min' in w for w in found['watch'])
    by_stats = answer(CHAIN, *VALUES, '--watch', 'nan', '--capture', 'stats', status=1)['watch']
    assert {'b', 'y'} == {w['value'] for w in by_stats}, by_stats
    assert answer(CHAIN, *VALUES, '--watch', 'inf')['watch'] == []
    for watch, words, status in (('max>8.5', '1 value was found that is', 1), ('nan', '2 values were found that are', 1),
                                 ('inf', '0 values were found that are', 0)):
        text = run(CHAIN, *VALUES, '--watch', watch, status=status).stdout
        assert f'\n{words} watched for\n' in text, text
    found = answer(SIZES, '--value', 'x=300', '--watch', 'abs>100', status=1)['watch']
    assert {w['value']: 'advice' in w for w in found} == {'x': True, 's': False, 'r': True, 'y': False}, found


@test('in a session of commands what was kept so far is watched, too')
def _():
    text = run(CHAIN, *VALUES, '--capture', 'all', '--debug', stdin='to root\nwatch nan\nq\n').stdout
    assert 'b: 1 of 4 elements are NaN' in text and '1 of the values' in text, text


@test('a step of training is stopped by the same conditions, and stepped through by the same commands')
def _():
    examples = os.path.dirname(DIGITS)
    args = [PROGRAM, 'train', os.path.join(examples, 'digits-untrained.onnx'), '--data',
            'image=' + os.path.join(examples, 'digits-images.npy'), '--target', os.path.join(examples, 'digits-labels.npy'),
            '--loss', 'cross-entropy', '--optimizer', 'sgd', '--batch', '8', '-o', os.path.join(WORK, 'trained.onnx')]
    done = subprocess.run([*args, '--rate', '1e-3', '--break', 'max>0 op:gemm', '--json'], capture_output=True, text=True, timeout=100)
    found = json.loads(done.stdout)
    stop, = found['stops']
    assert done.returncode == 1 and found['steps'] == 0 and found['diverged'] is None, (done.returncode, found)
    assert (stop['op'], stop['when']) == ('Gemm', 'after') and stop['done'] < stop['nodes'], stop
    done = subprocess.run([*args, '--rate', '1e-3', '--debug', '--json'], capture_output=True, text=True, timeout=100,
                          input='s 3\nbreak op:softmaxcrossentropyloss\nc\nq\n')
    stops = json.loads(done.stdout)['stops']
    assert done.returncode == 0 and len(stops) >= 2 and stops[1]['done'] == 3, (done.stderr, [s['text'] for s in stops])


@test('a pipeline that changes nothing leaves nothing to diverge')
def _():
    done = subprocess.run([PROGRAM, 'run', CHAIN, *VALUES, '--pass', 'merge-casts', '--break', 'diverges:original'], capture_output=True, text=True)
    assert done.returncode == 0 and 'stopped nowhere' in done.stdout, (done.returncode, done.stdout, done.stderr)


def saved(graph, folder, *args):
    """Contents of all values by name, and the answer."""
    done = answer(graph, '--capture', 'all', '-o', os.path.join(WORK, folder), *args)
    values = {}
    for value in done['captured'] + done['outputs']:
        with open(value['file'], 'rb') as file:
            values[value['name']] = file.read()
    return values, done


CONSTANTS = model('constants.onnxtxt', '''g (float[4] x) => (float[4] y) {
 c = Constant <value_float = 2.0> ()
 d = Constant <value_float = 3.0> ()
 a = Exp (x)
 b = Mul (a, c)
 i = Identity (b)
 y = Add (i, d)
}''')


@test('a breakpoint names a node by its number, with tests of values beside it')
def _():
    for node in json.loads(subprocess.run([PROGRAM, 'find', CHAIN, '--json'], capture_output=True, text=True).stdout)['nodes']:
        stops = answer(CHAIN, *VALUES, '--break', f'#{node["id"]}', status=1)['stops']
        assert [(stop['id'], stop['when']) for stop in stops] == [(node['id'], 'before')], stops
    stops = answer(CHAIN, *VALUES, '--break', f'#{node["id"]} abs>=0', status=1)['stops']
    assert [(stop['id'], stop['when']) for stop in stops] == [(node['id'], 'after')], stops


@test('after a change only what it affects runs again, with the bits of a run of everything')
def _():
    least = 1
    for then, now in ((0, 1), (4, 5), (6, 12), (12, 6), (19, 20), (0, 20)):
        plain, whole = saved(f'{DIGITS}@{now}', f'plain-{then}-{now}')
        values, done = saved(f'{DIGITS}@{now}', f'since-{then}-{now}', '--since', str(then))
        since, computing = done['since'], sum(n['op'] != 'Constant' for n in whole['nodes'])
        assert values == plain, [name for name in plain if values.get(name) != plain[name]]
        assert since['step'] == then and since['ran'] + since['reused'] == computing, since
        kept = [n for n in done['nodes'] if 'kept from the run before' in n['kernel']]
        assert since['ran'] > 0 and len(kept) <= since['reused'], (since, len(kept))
        least = min(least, since['ran'] / len(whole['nodes']))
    assert least < 0.5, least
    with_constants = answer(CONSTANTS, *VALUES, '--pass', 'eliminate-identity', '--since', '0')['since']
    assert (with_constants['ran'], with_constants['reused']) == (1, 2), with_constants
    twice = answer(f'{DIGITS}@6', '--since', '6')['since']
    assert twice['reused'] == 0, 'where nothing has changed, everything runs'


@test('what cannot be asked for is refused, with what to ask for')
def _():
    for args, words in ((('--break', 'max'), 'max>6'), (('--break', 'max>six'), 'number'), (('--break', ''), 'nan'),
                        (('--break', 'memory>lots'), 'memory>100M'), (('--break', 'op:frob'), 'no such node'), (('--break', '#99'), 'no such node'),
                        (('--until', 'nowhere'), 'nowhere'), (('--watch', 'op:relu'), '--break'),
                        (('--break', 'nan', '--runs', '3'), '--runs'), (('--debug', '--until', 'root'), 'to NODE'),
                        (('--since', '3'), 'steps 0 to 0'), (('--since', '-1'), 'no step'), (('--since', 'x'), 'no step'),
                        (('--since', '0', '--runs', '2'), '--runs'), (('--since', '0', '--check', 'ref'), '--check'),
                        (('--break', 'cost>'), 'cost'), (('--break', 'diverges:original'), 'add --pipeline')):
        done = subprocess.run([PROGRAM, 'run', CHAIN, *VALUES, *args], capture_output=True, text=True, input='')
        assert done.returncode == 2 and words in done.stderr, (args, done.returncode, done.stderr)
    wrong = 'frob\ns many\nv nothing\nbreak op:frob\ndelete 7\nto nowhere\nbreak diverges:original\n'
    done = subprocess.run([PROGRAM, 'run', CHAIN, *VALUES, '--debug'], capture_output=True, text=True, input=wrong)
    assert done.returncode == 2 and done.stderr.count('irscope run:') == 7, done.stderr


run_tests()
