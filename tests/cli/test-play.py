#!/usr/bin/python3
"""Events of control flow on the command line; prints TAP.

    test-play.py IRSCOPE SOURCE_ROOT"""

import json
import os
import subprocess
import sys
import tempfile

from schema import violations
from tap import run_tests, test

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
WORK = tempfile.mkdtemp(prefix='irscope-play-')
NEWTON = os.path.join(ROOT, 'data/examples/while-newton.onnxtxt')
GIVEN = ('--value', 'a=2', '--value', 'x=1')
NESTED = """<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x, int64 n, bool p) => (float[4] y) {
  [outer] y0 = Loop (n, "", x) <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] v2) {
    c2 = Identity (c)
    [inner] j = Loop (i, "", v) <body = bb (int64 i1, bool c1, float[4] w) => (bool c3, float[4] w2) { c3 = Identity (c1)  [step] w2 = Neg (w) }>
    [choice] v2 = If (p) <then_branch = t () => (float[4] a) { [yes] a = Abs (j) }, else_branch = e () => (float[4] d) { [no] d = Exp (j) }> }>
  y = Relu (y0) }
"""


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def json_of(*arguments, status=0, schema=None):
    code, out, err = irscope(*arguments, '--json')
    assert code == status, (arguments, code, err)
    answer = json.loads(out)
    if schema:
        found = list(violations(answer, json.load(open(os.path.join(ROOT, 'data/schema', schema + '.schema.json')))))
        assert not found, (arguments, found)
    return answer


def model(name, text):
    path = os.path.join(WORK, name + '.onnxtxt')
    open(path, 'w').write(text)
    return path


def lowered(path):
    to = path.replace('.onnxtxt', '.tokens.onnxtxt')
    to = os.path.join(WORK, os.path.basename(to))
    assert irscope('optimize', path, '--pass', 'lower-control-flow', '-o', to)[0] == 0
    return to


def fired(got):
    return {n['node']: n['fired'] for n in got['nodes']}


@test('a loop tells of each node in each iteration, and its tokens of the same')
def _():
    plain = json_of('play', NEWTON, *GIVEN)
    tokens = json_of('play', lowered(NEWTON), *GIVEN)
    assert fired(plain)['divide (Div)'] == fired(tokens)['divide (Div)'] == 5, plain['nodes']
    divides = [[(e['frame'], e['iteration']) for e in got['events'] if (e['node'], e['kind']) == ('divide (Div)', 'fired')] for got in (plain, tokens)]
    assert divides[0] == [('loop', i) for i in range(5)] and [i for _, i in divides[1]] == list(range(5)), divides
    assert [f['iterations'] for f in plain['frames']] == [5] and [f['iterations'] for f in tokens['frames']] == [6], (plain['frames'], tokens['frames'])
    dead = {n['node']: n['dead'] for n in tokens['nodes'] if n['dead'] > 0}
    assert dead['divide (Div)'] == 1 and sum('Exit' in name and n == 5 for name, n in dead.items()) == 1, dead
    winners = {e['slot'] for e in tokens['events'] if e['kind'] == 'merged'}
    assert winners == {0, 1} and any(e['kind'] == 'next' and e['iteration'] == 5 for e in tokens['events']), winners


@test('places in loops in loops, and which branch was called, in both forms')
def _():
    path = model('nested', NESTED)
    for form in (path, lowered(path)):
        for taken in (0, 1):
            got = json_of('play', form, '--value', 'x=1', '--value', 'n=3', '--value', f'p={taken}')
            steps = [(e['frame'].replace('y0', 'outer').replace('j', 'inner'), e['iteration']) for e in got['events'] if (e['node'], e['kind']) == ('step (Neg)', 'fired')]
            assert steps == [('outer@1/inner', 0), ('outer@2/inner', 0), ('outer@2/inner', 1)], (form, steps)
            counts = fired(got)
            assert counts.get('yes (Abs)', 0) == 3 * taken and counts.get('no (Exp)', 0) == 3 * (1 - taken), counts
            calls = [e['slot'] for e in got['events'] if e['kind'] == 'called']
            assert calls == ([taken] * 3 if form == path else []), calls


@test('the examples of loops in loops and of a search by beams')
def _():
    primes = os.path.join(ROOT, 'data/examples/nested-loops.onnxtxt')
    told = irscope('run', primes, '--value', 'n=20')[1].splitlines()
    assert told[0].split()[-1] == '8', told
    last = irscope('tensor', primes, 'numbers@7/divisors@0/next', '--value', 'n=20')[1].splitlines()[-1]
    assert last == '3', last  # of 9
    beams = os.path.join(ROOT, 'data/examples/beam-search.onnxtxt')
    told = irscope('run', beams)[1].splitlines()  # by what its inputs hold
    assert told[0].endswith('[[0, 1, 2, 3, 4], [0, 2, 3, 4, 0]]'), told
    for path, given in ((primes, ('n=20',)), (beams, ())):
        values = [word for value in given for word in ('--value', value)]
        code, out, err = irscope('optimize', path, '--pass', 'lower-control-flow,raise-control-flow', '--prove', *values)
        assert code == 0 and ' 0 broken' in out + err, (out, err)


@test('names of loops may have slashes')
def _():
    path = model('slashes', NESTED.replace('[outer]', '["/a/Loop"]').replace('[inner]', '["/b/Loop"]'))
    given = ('--value', 'x=1', '--value', 'n=3', '--value', 'p=1')
    got = json_of('play', path, *given, '--loop', '/b/Loop')
    assert [f['frame'] for f in got['frames']] == ['/a/Loop', '/b/Loop'] and [f['iterations'] for f in got['frames']] == [3, 3], got['frames']
    assert {e['frame'] for e in got['events']} == {'/a/Loop@1//b/Loop', '/a/Loop@2//b/Loop'}, got['events']


@test('what is asked for: numbers, a loop, an iteration, the summary alone; the same bytes each time')
def _():
    path = model('nested', NESTED)
    given = ('--value', 'x=1', '--value', 'n=4', '--value', 'p=1')
    all_events = json_of('play', path, *given)
    assert [e['index'] for e in all_events['events']] == list(range(all_events['n_events']))
    some = json_of('play', path, *given, '--events', '5:9')
    assert some['events'] == all_events['events'][5:9] and some['n_events'] == all_events['n_events']
    inner = json_of('play', path, *given, '--loop', 'inner', '--iteration', '1')['events']
    assert inner == [e for e in all_events['events'] if e['frame'].endswith('/inner') and e['iteration'] == 1] and inner, inner
    summary = json_of('play', path, *given, '--summary')
    assert summary['events'] == [] and summary['nodes'] == all_events['nodes']
    assert irscope('play', path, *given) == irscope('play', path, *given)
    assert '9 of' in irscope('play', path, *given, '--events', '0:9')[1].splitlines()[-1]
    for wrong, says in ((('--loop', 'nix'), 'are outer, inner'), (('--iteration', 'x'), 'needs a number'), (('--events', '7'), 'needs two numbers'),
                        (('--events', '9:5'), 'the smaller one'), (('--events', '5:5'), 'the smaller one'), (('--iteration', '77'), 'did not come there')):
        code, out, err = irscope('play', path, *given, *wrong)
        assert code == 2 and out == '' and says in err, (wrong, code, err)


@test('loops are listed with their depth, trips and costs')
def _():
    newton = json_of('info', NEWTON, schema='info')['loops']
    assert [(l['node'], l['depth'], l['trips'], l['invariants'], l['flops']) for l in newton] == [('loop', 1, None, ['a'], 7)], newton
    nested = json_of('info', model('nested', NESTED))['loops']
    assert [(l['node'], l['depth'], l['trips']) for l in nested] == [('outer', 1, None), ('outer/inner', 2, None)], nested
    scan = model('scan', """<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x, float[7,5,4] xs) => (float[7,4] y) {
  three = Constant <value = int64 {3}> ()
  [rows] last, y = Scan (x, xs) <num_scan_inputs = 1, scan_input_axes = [-2], body = b (float[4] h, float[7,4] e) => (float[4] h2, float[4] o) {
    o = Identity (h)
    [thrice] h2 = Loop (three, "", h) <body = b2 (int64 i, bool c, float[4] v) => (bool c2, float[4] w) { c2 = Identity (c)  w = Add (v, x) }> }> }
""")
    loops = json_of('info', scan)['loops']
    assert [(l['node'], l['depth'], l['trips'], l['flops']) for l in loops] == [('rows', 1, 5, 12), ('rows/thrice', 2, 3, 4)], loops
    code, out, _ = irscope('info', scan)
    assert 'rows/thrice: 3 iterations' in out, out
    assert json_of('info', scan)['flops'] == json_of('summary', scan)['flops'] == 5 * 3 * 4, out  # each as often as it runs


@test('sizes tell how often a loop runs, of tokens, too, and what is not known is named')
def _():
    sizes = model('sizes', """<ir_version: 10, opset_import: ["" : 21]>
g (float[7,6,4] x, int64 n) => (float[4] y, float[4] z, float[4] v, float[7,6,4] w) <int64 last = {-2}, bool yes = {1}, float[4] s = {0, 0, 0, 0}> {
  sizes = Shape <start = 1> (x)
  m = Gather (sizes, last)
  [six] y = Loop (m, yes, s) <body = b (int64 i, bool c, float[4] a) => (bool d, float[4] e) { d = Identity (c)  e = Tanh (a) }>
  [free] z = Loop (n, yes, s) <body = b2 (int64 i2, bool c2, float[4] a2) => (bool d2, float[4] e2) { d2 = Identity (c2)  e2 = Tanh (a2) }>
  [early] v = Loop (m, yes, s) <body = b4 (int64 i4, bool c4, float[4] a4) => (bool d4, float[4] e4) { d4 = Not (c4)  e4 = Tanh (a4) }>
  [rows] w = Scan (x) <num_scan_inputs = 1, body = b3 (float[6,4] q) => (float[6,4] q2) { q2 = Exp (q) }> }
""")
    wanted = [('six', 6), ('free', None), ('early', None), ('rows', 7)]
    facts = json_of('info', sizes)
    assert [(l['node'], l['trips']) for l in facts['loops']] == wanted, facts['loops']
    assert facts['flops'] == 6 * 4 + 4 + 4 + 1 + 7 * 24 and facts['flops_partial'], facts['flops']
    lowered = os.path.join(WORK, 'sizes-lowered.onnxtxt')
    irscope('optimize', sizes, '--pass', 'lower-control-flow', '-o', lowered)
    assert [l['trips'] for l in json_of('info', lowered)['loops']] == [trips for _, trips in wanted]
    out, err = irscope('why', sizes, 'unroll-loop', 'free')[1:]
    assert 'its limit n is no constant' in out, (out, err)


@test('a run stops in an iteration, and shows what came before')
def _():
    lowered = os.path.join(WORK, 'stops.onnxtxt')
    assert irscope('optimize', NEWTON, '--pass', 'lower-control-flow', '-o', lowered)[0] == 0
    frame = json_of('tensor', lowered, 'distance', '--series', *GIVEN)['series'][0]['frame']
    for file, loop in ((NEWTON, 'loop'), (lowered, frame)):
        for condition, place, node in ((f'iteration>=3 frame:{loop} op:div', 3, 'divide'), ('iteration=1 max<0.01 name:size', 1, 'size'), ('max<0.0001 name:size', 2, 'size')):
            got = json_of('play', file, '--break', condition, *GIVEN, status=1, schema='play')
            stop, = got['stops']
            assert (stop['place'], stop['node']) == (f'{loop}@{place}/', node) and got['error'] is None, (condition, stop)
            assert 0 < len(got['events']) <= 20 and got['events'][-1]['index'] == got['n_events'] - 1, got['events']
    code, out, err = irscope('play', NEWTON, '--break', 'iteration>70', *GIVEN)
    assert code == 0 and 'stopped nowhere' in out, (code, out, err)
    code, out, _ = irscope('run', NEWTON, '--break', 'iteration=2 op:mul', *GIVEN)
    assert code == 1 and 'before loop@2/halve (Mul)' in out, out
    for condition, word in (('iteration', 'needs a number'), ('iteration=-1', 'needs a number'), ('frame:', 'the name of a loop'), ('frame:lop', 'its loops are loop'), ('diverges', 'irscope run')):
        code, out, err = irscope('play', NEWTON, '--break', condition, *GIVEN)
        assert code == 2 and word in err and not out, (condition, code, err)


THIRDS = """<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x, int64 n) => (float[4] y) {
  three = Constant <value = float {3}> ()  four = Constant <value = float {4}> ()  two = Constant <value = int64 {2}> ()
  [loop] y = Loop (n, "", x) <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] w) {
    c2 = Identity (c)  late = Less (i, two)  [third] t = Div (v, three)  [other] u = Mul (t, four)  w = Where (late, v, u) }>
}
"""


@test('two files and two steps part in an iteration, which is named with its value')
def _():
    path, other = model('thirds', THIRDS), model('fourths', THIRDS.replace('float {4}', 'float {5}'))
    code, out, _ = irscope('diff', path, other, '--values', '--value', 'n=6')
    assert code == 1 and 'in loops loop@0/u: first of all iterations' in out, out
    third = model('thirds2', THIRDS.replace('int64 {2}', 'int64 {3}'))
    got = json_of('diff', path, third, '--values', '--value', 'n=6', status=1, schema='diff')['numbers']['first_iteration']
    assert (got['frame'], got['iteration'], got['a'], got['b']) == ('loop', 2, 'late', 'late'), got
    assert 'first_iteration' not in json_of('diff', path, path, '--values', '--value', 'n=6')['numbers']
    got = json_of('bisect', path, '--value', 'n=6', '--pass', 'reduce-strength', '--class', 'unsafe', '--fail', 'max_abs(y) > 0', schema='bisect')
    assert (got['first_iteration']['frame'], got['first_iteration']['iteration'], got['first_iteration']['b']) == ('loop', 0, 't'), got
    code, out, _ = irscope('bisect', path, '--value', 'n=6', '--pass', 'reduce-strength', '--class', 'unsafe', '--fail', 'max_abs(y) > 0')
    assert code == 0 and 'in loops loop@0/t' in out, out


@test('two iterations are compared value by value')
def _():
    got = json_of('diff', NEWTON, '--iterations', '1:3', *GIVEN, status=1)
    verdicts = {v['name']: v['verdict'] for v in got['values']}
    assert verdicts['go_on'] == 'same' and verdicts['guess'] == 'differs' and got['different'] == len([v for v in verdicts.values() if v != 'same']), got
    one = {i: json_of('tensor', NEWTON, f'loop@{i}/distance', *GIVEN)['min'] for i in (1, 3)}
    assert [v['max_abs'] for v in got['values'] if v['name'] == 'distance'] == [one[1] - one[3]], (got, one)
    code, out, _ = irscope('diff', NEWTON, '--iterations', '4:5', *GIVEN)
    assert code == 1 and 'computed in one alone' in out, out
    for options, word in (((NEWTON, '--iterations', '3'), 'as in 3:4'), ((NEWTON, '--iterations', '3:3'), 'as in 3:4'), ((NEWTON, NEWTON, '--iterations', '1:2'), 'as in 3'),
                          ((NEWTON,), 'two graphs'), ((NEWTON, '--iterations', '70:80', *GIVEN), 'no loop')):
        code, out, err = irscope('diff', *options)
        assert code == 2 and word in err and not out, (options, code, err)


@test('an iteration is compared before and after a pass')
def _():
    for name, given in (('while-newton', GIVEN), ('nested-loops', ('--value', 'n=12'))):
        path, low = os.path.join(ROOT, 'data/examples', name + '.onnxtxt'), os.path.join(WORK, name + '-low.onnxtxt')
        assert irscope('optimize', path, '--pass', 'lower-control-flow', '-o', low)[0] == 0
        for graphs in ((path, low), (low, path), (low + '@0', low + '@0')):
            got = json_of('diff', *graphs, '--iterations', '1', *given)
            assert got['different'] == 0 and len(got['values']) > 6 and all(v['verdict'] == 'same' for v in got['values']), (graphs, got)
    other = model('newton-other', open(NEWTON).read().replace('double {0.5}', 'double {0.51}'))
    got = json_of('diff', NEWTON, other, '--iterations', '2', *GIVEN, status=1)
    apart = [abs(json_of('tensor', path, 'loop@2/better', *GIVEN)['min']) for path in (NEWTON, other)]
    assert {v['name']: v['max_abs'] for v in got['values']}['better'] == abs(apart[0] - apart[1]), (got, apart)
    code, out, err = irscope('diff', NEWTON, other, '--iterations', '200', *GIVEN)
    assert code == 2 and 'no value that both have' in err, (code, err)


@test('a summary is of the whole run, and says so')
def _():
    for option in (('--events', '0:5'), ('--loop', 'loop'), ('--iteration', '2')):
        code, out, err = irscope('play', NEWTON, '--summary', *option, *GIVEN)
        assert code == 2 and option[0] in err and not out, (option, code, err)


@test('a value of one iteration has a name, in the file and lowered')
def _():
    lowered = os.path.join(WORK, 'names.onnxtxt')
    assert irscope('optimize', NEWTON, '--pass', 'lower-control-flow', '-o', lowered)[0] == 0
    series = json_of('tensor', NEWTON, 'loop/distance', '--series', *GIVEN, schema='tensor-series')
    assert [p['iteration'] for p in series['series']] == [0, 1, 2, 3, 4] and {p['frame'] for p in series['series']} == {'loop'}, series
    frame = json_of('tensor', lowered, 'distance', '--series', *GIVEN)['series'][0]['frame']
    for point in series['series']:
        for file, loop in ((NEWTON, 'loop'), (lowered, frame)):
            one = json_of('tensor', file, f"{loop}@{point['iteration']}/distance", *GIVEN, schema='tensor')
            assert one['min'] == point['min'] and not one['origin']['last_round'], (file, one)
    assert json_of('tensor', NEWTON, 'distance', *GIVEN)['min'] == series['series'][-1]['min']
    nested = model('nested', NESTED)
    inner = json_of('tensor', nested, 'outer@2/inner/w2', '--series', '--value', 'n=4', '--value', 'p=1')['series']
    assert [(p['frame'], p['iteration']) for p in inner] == [('outer@2/inner', 0), ('outer@2/inner', 1)], inner
    every = json_of('tensor', nested, 'w2', '--series', '--value', 'n=4', '--value', 'p=1')
    assert every['iterations'] == 0 + 1 + 2 + 3, every
    for name, word in (('loop@9/distance', 'was not computed in iteration 9 of loop'), ('other@0/distance', 'loop@0/distance'),
                       ('loop/distance', 'an iteration is missing'), ('loop@0/nothing', "no value 'loop@0/nothing'")):
        code, out, err = irscope('tensor', NEWTON, name, *GIVEN)
        assert code == 2 and word in err and not out, (name, code, err)
    code, _, err = irscope('tensor', NEWTON, 'half', '--series', *GIVEN)
    assert code == 2 and 'in no loop' in err, err
    code, _, err = irscope('tensor', nested, 'outer@1/a', '--value', 'n=2', '--value', 'p=0')
    assert code == 2 and 'a branch was not taken' in err, err


@test('values and nodes of iterations have one name in capture, breakpoints, ends of runs, kernels and events')
def _():
    nested = model('nested', NESTED)
    given = ('--value', 'x=1', '--value', 'n=4', '--value', 'p=1')
    for form in (nested, lowered(nested)):
        frame = [e['frame'] for e in json_of('play', form, *given)['events'] if '/' in e['frame']][-1]
        outer, inner = frame.split('@')[0], frame.split('/')[1]
        got = json_of('run', form, '--capture', f'{outer}@3/{inner}@1/w2,{outer}/{inner}@0/w2', *given, schema='run')
        names = sorted(c['name'] for c in got['captured'])
        assert names == sorted([f'{outer}@{i}/{inner}@0/w2' for i in (1, 2, 3)] + [f'{outer}@3/{inner}@1/w2']), names
        place = f'{outer}@2/{inner}@1/step'
        for options in (('--break', place), ('--break', f'max<9 {place}'), ('--until', place), ('--break', f'frame:{outer}@2/{inner} iteration=1 op:neg')):
            code, out, err = irscope('run', form, *options, *given)
            assert code == (0 if options[0] == '--until' else 1) and place in out.splitlines()[0], (options, code, out, err)
        events = json_of('play', form, '--loop', f'{outer}@2/{inner}', *given)['events']
        assert events and {e['frame'] for e in events} == {f'{outer}@2/{inner}'}, events
        one = json_of('play', form, '--loop', f'{outer}/{inner}@1', *given)['events']
        assert {e['frame'] for e in one} == {f'{outer}@{i}/{inner}' for i in ((2, 3) if form == nested else (1, 2, 3))} and {e['iteration'] for e in one} == {1}, one
    for options, word in ((('--capture', 'outer@9/inner@0/nothing'), "no value"), (('--break', 'outer@1/nothing'), 'no node'), (('--until', 'step@1/outer'), 'no loop'),
                          (('--watch', 'max>0 outer@1/inner@0/step'), 'one iteration'), (('--kernel', 'outer@1/inner/step=plain'), 'one kernel for all'),
                          (('--capture', 'outer@1/a', '--iterations', '1'), 'leave them out')):
        code, out, err = irscope('run', nested, *options, *given)
        assert code == 2 and word in err and not out, (options, code, err)
    for loop, word in (('outer@77/inner', 'did not come there'), ('inner@1/outer', 'are outer, inner')):
        code, out, err = irscope('play', nested, '--loop', loop, *given)
        assert code == 2 and word in err, (loop, code, err)


@test('a loop is called the same as it is and as tokens, and has its name back behind them')
def _():
    for text in (model('nested', NESTED), NEWTON):
        there = [loop['node'] for loop in json_of('info', text)['loops']]
        tokens = lowered(text)
        assert [loop['node'] for loop in json_of('info', tokens)['loops']] == there, (text, there)
        raised = os.path.join(WORK, 'named.onnxtxt')
        assert irscope('optimize', tokens, '--pass', 'raise-control-flow', '-o', raised)[0] == 0
        assert [loop['node'] for loop in json_of('info', raised)['loops']] == there, (text, there)


@test('iterations written out: what each node gave stands in its column, what is not there is refused')
def _():
    out = os.path.join(WORK, 'unrolled.svg')
    for form in (NEWTON, lowered(NEWTON)):
        assert irscope('render', form, '--view', 'unrolled', '--iterations', '1..3', '-o', out, *GIVEN)[0] == 0
        svg = open(out).read()
        for i in (1, 2, 3):
            better = json_of('tensor', form, f'loop@{i}/better', *GIVEN)['mean']
            assert f'halve (Mul) in iteration {i} of loop: {better:.6g}' in svg and f'loop@{i}<' in svg, (form, i, better)
        assert 'loop@0' not in svg and 'loop@4' not in svg
    nested = model('nested', NESTED)
    given = ('--value', 'x=1', '--value', 'n=4', '--value', 'p=1')
    assert irscope('render', nested, '--view', 'unrolled', '--loop', 'outer@3/inner', '-o', out, *given)[0] == 0
    assert 'in iteration 2 of outer@3/inner' in open(out).read()
    for options, word in ((('--loop', 'nix'), 'no loop of this name ran'), (('--iterations', '70..80'), 'the last one that has some is 4'),
                          (('--iterations', '3..1'), 'such as 0..3'), (('--iterations', 'x'), 'such as 0..3'), (('--iterations', '1..2..3'), 'such as 0..3')):
        code, said, err = irscope('render', NEWTON, '--view', 'unrolled', *options, '-o', out, *GIVEN)
        assert code == 2 and word in err and not said, (options, code, err)
    for options in (('--loop', 'loop'), ('--iterations', '0..3')):
        code, _, err = irscope('render', NEWTON, *options, '-o', out)
        assert code == 2 and 'needs --view unrolled' in err, err
    code, _, err = irscope('render', NEWTON.replace('while-newton.onnxtxt', 'worked-example.onnx'), '--view', 'unrolled', '-o', out)
    assert code == 2 and 'no loop ran' in err, err


@test('a run keeps the iterations that it is asked for')
def _():
    for which, wanted in (('1..2', [1, 2]), ('every:2', [0, 2, 4]), ('last:2', [3, 4]), ('checkpoints', []), ('7..9', [])):
        got = json_of('run', NEWTON, '--iterations', which, '--capture', 'distance', *GIVEN, schema='run')
        names = [v['name'] for v in got['captured'] if '@' in v['name']]
        assert names == [f'loop@{i}/distance' for i in wanted], (which, names)
        assert got['iterations']['kept'] == len(wanted) and got['iterations']['checkpoints'] > 0, got['iterations']
    alone = json_of('run', NEWTON, '--iterations', '0', *GIVEN)
    assert {v['name'] for v in alone['captured']} == {'loop@0/' + n for n in ('i', 'go_on', 'guess', 'quotient', 'sum', 'better', 'squared', 'error', 'distance', 'more')}
    out = os.path.join(WORK, 'iterations')
    assert irscope('run', NEWTON, '--iterations', '0..1', '--capture', 'better', '--out', out, *GIVEN)[0] == 0
    assert {'loop_0_better.npy', 'loop_1_better.npy'} <= set(os.listdir(out)), os.listdir(out)
    for options, word in ((('--iterations', 'some'), 'every:N'), (('--iterations', '0', '--capture', 'stats'), 'keeps no values')):
        code, _, err = irscope('run', NEWTON, *options, *GIVEN)
        assert code == 2 and word in err, (code, err)


@test('bounds of iterations leave out what either does, and the last ones have room for themselves')
def _():
    path = os.path.join(WORK, 'count.onnxtxt')
    with open(path, 'w') as file:
        file.write('''<ir_version: 8, opset_import: ["" : 17]>
m (float[64] x, int64 n) => (float[64] y) {
  one = Constant <value = float {1.0}> ()
  [L] y = Loop <body = b (int64 i, bool go, float[64] s) => (bool on, float[64] t) { on = Identity (go)  t = Add (s, one) }> (n, "", x) }
''')
    given = ('--value', 'n=20', '--value', 'x=0')
    code, out, _ = irscope('play', path, *given, '--break', 'iteration>=1 iteration<=1 op:add')
    assert 'stopped before L@1/' in out, (code, out)
    code, _, err = irscope('play', path, *given, '--break', 'iteration>2 iteration<1')
    assert code == 2 and 'no iteration is left' in err, err
    code, out, err = irscope('run', path, *given, '--capture', 't', '--iterations', 'last:2', '--capture-budget', '1500')
    assert code == 0 and 'L@18/t' in out and 'L@19/t' in out and 'L@0/t' not in out, (out, err)
    code, out, err = irscope('run', path, *given, '--iterations', '30..40')
    assert code == 0 and 'kept nothing' in err, (out, err)


@test('loops in functions are kept as well')
def _():
    path = os.path.join(WORK, 'called.onnxtxt')
    with open(path, 'w') as file:
        file.write('''<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
m (float[4] x, int64 n) => (float[4] y) { [c] y = my.f (x, n) }
<domain: "my", opset_import: ["" : 17]>
f (v, n) => (w) { [L] w = Loop (n, "", v) <body = b (int64 i, bool go, float[4] s) => (bool on, float[4] t) { on = Identity (go)  t = Neg (s) }> }
''')
    code, out, err = irscope('run', path, '--value', 'n=3', '--value', 'x=1', '--iterations', 'last:1')
    assert code == 0 and '@2/' in out, (out, err)


@test('iterations in flight are bounded, and what waits for one is told')
def _():
    path = lowered(NEWTON)
    text = open(path).read()
    one = model('one', text.replace('frame_name = "loop"', 'frame_name = "loop", parallel_iterations = 1'))
    assert open(one).read() != text
    got = json_of('play', one, *GIVEN)
    assert [f['most_in_flight'] for f in got['frames']] == [1] and any(e['kind'] == 'deferred' for e in got['events']), got['frames']
    assert json_of('play', path, *GIVEN)['frames'][0]['most_in_flight'] > 1
    assert fired(got) == fired(json_of('play', path, *GIVEN))


@test('a run that fails tells what was before; a graph without loops tells of its nodes')
def _():
    bad = model('bad', NESTED.replace('[step] w2 = Neg (w)', '[step] r = Reshape (w, k)  w2 = Neg (r)').replace('g (float[4] x,', 'g (int64[1] k, float[4] x,'))
    got = json_of('play', bad, '--value', 'x=1', '--value', 'n=3', '--value', 'p=1', '--value', 'k=3', status=3)
    assert 'step (Reshape)' in got['error'] and got['events'][-1]['frame'] == 'outer@1/inner', got
    endless = json_of('play', NEWTON, *GIVEN, '--max-iterations', '3', status=3)
    assert 'iterations' in endless['error'] and fired(endless)['divide (Div)'] == 3, endless
    flat = model('flat', '<ir_version: 10, opset_import: ["" : 21]>\ng (float[2] x) => (float[2] y) { h = Neg (x)  y = Abs (h) }\n')
    assert [e['kind'] for e in json_of('play', flat)['events']] == ['fired', 'fired']
    assert irscope('play', flat, '--loop', 'a')[0] == 2


@test('what is printed is what the schema says')
def _():
    schema = json.load(open(os.path.join(ROOT, 'data/schema/play.schema.json')))
    got = json_of('play', NEWTON, *GIVEN)
    assert sorted(got) == sorted(schema['required'])
    for part in ('events', 'nodes', 'frames'):
        for item in got[part]:
            assert sorted(item) == sorted(schema['properties'][part]['items']['required']), item


run_tests()
