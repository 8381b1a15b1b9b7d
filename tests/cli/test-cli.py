#!/usr/bin/python3
"""The command-line program as a user calls it: every command, its JSON against its schema, exit
statuses and messages; prints TAP.

    test-cli.py IRSCOPE SOURCE_ROOT"""

import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from schema import violations
from tap import run_tests, test

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
SEVEN = os.path.join(ROOT, 'data/examples/digits-input-7.npy')
WORK = tempfile.mkdtemp(prefix='irscope-cli-')


def irscope(*arguments, **environment):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def json_of(command, *arguments, status=0):
    code, out, err = irscope(command, *arguments, '--json')
    assert code == status, f'exit status {code}, needs {status}: {err.strip()[:300]}'
    answer = json.loads(out)
    schema = json.load(open(os.path.join(ROOT, 'data/schema', command + '.schema.json')))
    found = list(violations(answer, schema))
    assert not found, '; '.join(found[:5])
    return answer


def path(name):
    return os.path.join(WORK, name)


@test('help lists every command, and each explains itself')
def _():
    code, out, _ = irscope('--help')
    names = [line.split()[0] for line in out.split('Commands:')[1].split('\n\n')[0].split('\n') if line.strip()]
    assert code == 0 and len(names) >= 16, names
    for name in names:
        code, out, err = irscope(name, '--help')
        assert code == 0 and 'Usage' in out, f'{name}: {code} {err}'


@test('info says what is in the file')
def _():
    info = json_of('info', DIGITS)
    assert info['inputs'] == [{'name': 'image', 'dtype': 'float', 'shape': ['batch', 1, 8, 8]}], info['inputs']
    assert info['ops']['Conv'] == 4 and info['problems'] == [], info


@test('info counts what is stored in sparse form')
def _():
    with open(path('sparse.onnxtxt'), 'w') as file:
        file.write('<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] x) => (float[2] y)\n'
                   '<sparse_tensor(float[2]) w = {3} int64[1] {1}> { y = Mul (x, w) }\n')
    assert json_of('info', path('sparse.onnxtxt'))['sparse'] == {'tensors': 1, 'elements': 2, 'stored': 1}
    assert json_of('info', DIGITS)['sparse'] == {'tensors': 0, 'elements': 0, 'stored': 0}


@test('a given dimension takes the place of its symbol')
def _():
    info = json_of('info', DIGITS, '--dim', 'batch=3')
    assert info['inputs'][0]['shape'] == [3, 1, 8, 8] and info['outputs'][0]['shape'] == [3, 10], info
    assert not info['flops_partial']


@test('run recognizes the seven, on both back ends, before and after optimization')
def _():
    seen = []
    for arguments in (['--device', 'ref'], ['--device', 'cpu'], ['--pipeline', 'default']):
        answer = json_of('run', DIGITS, '--input', f'image={SEVEN}', '--out', path('out'), *arguments)
        tensor = json_of('tensor', DIGITS, 'probabilities', '--input', f'image={SEVEN}', *arguments)
        assert answer['outputs'][0]['shape'] == [1, 10] and os.path.exists(answer['outputs'][0]['file'])
        seen.append(tensor['max'])
    assert all(abs(p - seen[0]) < 1e-5 for p in seen) and seen[0] > 0.99, seen


@test('run captures every value and writes a trace')
def _():
    answer = json_of('run', DIGITS, '--capture', 'all', '--out', path('all'), '--trace', path('trace.json'))
    assert len(answer['captured']) > 20 and all(os.path.exists(c['file']) for c in answer['captured'])
    trace = json.load(open(path('trace.json')))
    events = trace['traceEvents'] if isinstance(trace, dict) else trace
    assert sum(event.get('ph') == 'X' for event in events) > 20


@test('a run that is stopped, or watched, says where')
def _():
    json_of('summary', DIGITS, '--run')
    gain = json_of('summary', DIGITS, '--gain', 'default')['gain']
    assert gain['steps'] > 5 and gain['after']['nodes'] < gain['before']['nodes'], gain
    stop, = json_of('run', DIGITS, '--break', 'op:softmax', status=1)['stops']
    assert stop['op'] == 'Softmax' and stop['when'] == 'before' and len(stop['values']) == 1
    assert json_of('run', DIGITS, '--watch', 'std>5 op:relu', status=1)['watch'] and 'nodes' in stop


@test('run keeps to a budget, spills the rest, and gives every value of the original graph')
def _():
    everything = json_of('run', DIGITS, '--capture', 'all', '--threads', '1')
    assert everything['capture']['spilled'] == 0 and everything['capture']['lost'] == 0
    for arguments in (['--capture', 'all', '--capture-budget', '1'], ['--capture', 'checkpoints']):
        answer = json_of('run', DIGITS, '--threads', '1', '--out', path('some'), *arguments)
        assert [c['name'] for c in answer['captured']] == [c['name'] for c in everything['captured']]
        hows = {c['origin']['how'] for c in answer['captured']}
        assert ('spilled' if 'all' in arguments else 'recomputed') in hows, hows
    assert answer['capture']['kept'] < everything['capture']['kept']
    original = json_of('run', DIGITS, '--capture', 'original', '--pipeline', 'default', '--out', path('original'))
    names = {value['name']: value['origin'] for value in original['captured'] + original['outputs']}
    assert {c['name'] for c in everything['captured']} <= set(names)
    gone = [name for name, origin in names.items() if origin['how'] == 'recomputed' and 'stands_for' not in origin]
    assert gone and any(value.get('stands_for') for value in names.values())
    tensor = json_of('tensor', DIGITS, gone[-1], '--pipeline', 'default')
    assert tensor['origin']['how'] == 'recomputed' and tensor['origin']['nodes'] >= 1 and 'recomputed' in tensor['origin']['text']
    plain = json_of('tensor', DIGITS, gone[-1])
    assert abs(plain['mean'] - tensor['mean']) < 1e-4 * max(1, abs(plain['mean'])) and plain['shape'] == tensor['shape']
    assert 'origin: recomputed' in irscope('tensor', DIGITS, gone[-1], '--pipeline', 'default')[1]
    assert irscope('tensor', DIGITS, 'nonsense', '--pipeline', 'default')[0] == 2


@test('bench measures every kind of run, and its quantiles are in order')
def _():
    answer = json_of('bench', DIGITS, DIGITS, '--runs', '5', '--warmup', '2', '--capture', 'all', '--threads', '1', '--pipeline', 'default')
    assert len(answer['models']) == 2 and answer['threads'] == 1
    for model in answer['models']:
        assert model['pipeline_ms'] > 0 and model['open_first_ms'] > 0 and model['nodes'] > 5
        for series in (model['plain'], model['captured']):
            times = series['run_ms']
            assert times['runs'] == 5 and series['warmup_ms']['runs'] == 1 and series['prepare_ms'] > 0 and series['first_ms'] > 0
            assert 0 < times['min'] <= times['q1'] <= times['median'] <= times['q3'] <= times['max'], times
            assert series['peak_rss_bytes'] > 1 << 20
        assert model['captured']['value_bytes'] > model['plain']['value_bytes'] > 0
    plain = json_of('bench', DIGITS, '--runs', '3', '--warmup', '1')['models'][0]
    assert plain['captured'] is None and plain['plain']['warmup_ms'] is None and plain['pipeline_ms'] == 0
    assert irscope('bench', DIGITS, '--capture', 'x')[0] == 2 and irscope('bench', DIGITS + '-missing')[0] == 2


@test('the same seed gives the same numbers, another seed others')
def _():
    first, again, other = (irscope('run', DIGITS, '--random', seed, '--device', 'ref')[1].split('\n')[0] for seed in '112')
    assert first == again and first != other


@test('optimize proves every step, and what it writes means the same')
def _():
    answer = json_of('optimize', DIGITS, '--prove', '-o', path('optimized.onnx'))
    assert answer['nodes_after'] < answer['nodes_before'] / 2, answer
    assert answer['proof']['broken'] == 0 and answer['proof']['skipped'] == 0, answer['proof']
    assert sum(answer['proof'].values()) == answer['steps']
    before = json_of('tensor', DIGITS, 'probabilities', '--input', f'image={SEVEN}')
    after = json_of('tensor', path('optimized.onnx'), 'probabilities', '--input', f'image={SEVEN}')
    assert abs(before['max'] - after['max']) < 1e-5


@test('steps counts what optimize counts, and one step shows its records')
def _():
    steps = json_of('steps', DIGITS)['steps']
    assert len(steps) == json_of('optimize', DIGITS)['steps'] and [s['index'] for s in steps] == list(range(1, len(steps) + 1))
    one = json_of('steps', DIGITS, '--at', '1')['steps']
    assert len(one) == 1 and len(one[0]['changes']) == one[0]['records'] > 0


@test('a skipped rule is not applied')
def _():
    steps = json_of('steps', DIGITS, '--skip', 'fold-conv-bn')['steps']
    assert steps and all(step['rule'] != 'fold-conv-bn' for step in steps)


@test('steps scores every step, and stops at breakpoints')
def _():
    steps = json_of('steps', DIGITS, '--scoreboard')['steps']
    assert [s['scores']['nodes'] for s in steps] == [s['nodes'] for s in steps]
    assert all(s['scores']['peak_bytes'] > 0 for s in steps)
    assert all(b['change']['nodes'] == b['nodes'] - a['nodes'] for a, b in zip(steps, steps[1:]))
    stops = json_of('steps', DIGITS, '--break', 'rule=fold-conv-b?')['steps']
    assert stops and [s['index'] for s in stops] == [s['index'] for s in steps if s['rule'] == 'fold-conv-bn']
    few = json_of('steps', DIGITS, '-b', f'nodes<={stops[0]["nodes"]}')['steps']
    assert [s['index'] for s in few] == [next(s for s in steps if s['nodes'] <= stops[0]['nodes'])['index']], few
    assert irscope('steps', DIGITS, '--break', 'colour=red')[0] == 2


@test('what a skipped application, rule or pass would have done stands beside the result')
def _():
    steps = json_of('steps', DIGITS)['steps']
    folds = [s['index'] for s in steps if s['rule'] == 'fold-conv-bn']
    key = json_of('steps', DIGITS, '--at', str(folds[0]))['steps'][0]['key']
    for skip, least in ((key, 1), ('fold-conv-bn', len(folds)), ('fuse-activation', 1)):
        answer = json_of('optimize', DIGITS, '--skip', skip, '--compare')
        compared = answer['what_if']
        assert compared['with']['steps'] == len(steps), compared
        assert compared['without']['steps'] == answer['steps'], compared
        assert compared['without']['nodes'] == answer['nodes_after'], compared
        assert compared['without']['nodes'] >= compared['with']['nodes'] + least, (skip, compared)
        assert compared['graph']['added'] > 0 and compared['between']['max_abs'] < 1e-4, compared
        assert compared['with']['run_ms'] > 0 and compared['with']['peak_bytes'] > 0, compared
    text = irscope('optimize', DIGITS, '--skip', 'fold-conv-bn', '--compare')[1]
    assert 'with skips' in text and 'between both' in text, text
    same = json_of('optimize', DIGITS, '--compare')['what_if']
    assert same['graph']['added'] == same['graph']['removed'] == 0 and same['between']['max_abs'] == 0, same


@test('bisect finds the step that folds, and lists no broken one')
def _():
    steps = json_of('steps', DIGITS)['steps']
    first = next(s for s in steps if s['rule'] == 'fold-conv-bn')
    found = json_of('bisect', DIGITS, '--fail', f'nodes < {first["nodes"] + 1} and nodes(BatchNormalization) < 100')
    assert (found['step'], found['pass'], found['rule'], found['anchor']) == tuple(
        next(s for s in steps if s['nodes'] <= first['nodes'])[k] for k in ('index', 'pass', 'rule', 'anchor')), found
    assert found['checks'] <= (len(steps) - 1).bit_length() + 2 and found['value'] <= 100, found
    moved = json_of('bisect', DIGITS, '--fail', 'max_abs(probabilities) > 0', '--prove', '--device', 'ref')
    assert moved['answer'] == 'found' and moved['value'] > 0 and moved['broken'] == [], moved
    assert 0 < moved['diverges']['max_abs'] < 1e-3 and moved['diverges']['original'], moved
    assert any('Conv' in line or 'node' in line for line in moved['changes']), moved


@test('bisect --over kernels finds the node whose kernel rounds in another way than the reference')
def _():
    found = json_of('bisect', DIGITS, '--over', 'kernels', '--fail', 'max_abs(probabilities) > 0')
    assert found['answer'] == 'found' and found['over'] == 'kernels' and found['node'] and found['kernel'], found
    assert 0 < found['value'] < 1e-3 and found['checks'] <= (found['steps'] - 1).bit_length() + 2, found
    out = irscope('bisect', DIGITS, '--over', 'kernels', '--fail', 'max_abs(probabilities) > 0')[1]
    assert out.startswith(f'{found["node"]}: {found["kernel"]}\n'), out
    assert json_of('bisect', DIGITS, '--over', 'kernels', '--fail', 'max_abs(*) > 0.01', status=1)['answer'] == 'nothing-fails'
    assert irscope('bisect', DIGITS, '--over', 'nodes', '--fail', 'nodes > 1')[0] == 2


@test('bisect says that nothing fails, or that the original does')
def _():
    nothing = json_of('bisect', DIGITS, '--fail', 'max_abs(*) > 0.01 or has_nan(probabilities)', status=1)
    assert nothing['answer'] == 'nothing-fails' and nothing['step'] is None and nothing['checks'] == 2, nothing
    original = json_of('bisect', DIGITS, '--fail', 'cmd: false', status=1)
    assert original['answer'] == 'original-fails' and original['checks'] == 1 and original['value'] == 1, original


@test('bisect searches the first N steps of FILE@N')
def _():
    assert json_of('bisect', f'{DIGITS}@3', '--fail', 'nodes < 30', status=1)['steps'] == 3
    found = json_of('bisect', f'{DIGITS}@12', '--fail', 'nodes < 35')
    assert found['steps'] == 12 and found['step'] == json_of('bisect', DIGITS, '--fail', 'nodes < 35')['step'], found


@test('reproduce writes a folder whose one command finds the failure again')
def _():
    for name, condition in {'numbers': 'max_abs(probabilities) > 0', 'counts': 'nodes < 30'}.items():
        folder = path('reproducer ' + name)
        answer = json_of('reproduce', DIGITS, '--fail', condition, '-o', folder)
        assert answer['reproduced'] and answer['step'] > 0, answer
        assert (answer['nodes'] == answer['nodes_whole']) == (name == 'counts') and answer['nodes'] > 1, answer
        assert {'README.md', 'model.onnx', 'pipeline.json', 'diff.svg', 'input_0.npy', 'expected_0.npy',
                'actual_0.npy'} <= set(os.listdir(folder)), os.listdir(folder)
        words = shlex.split(answer['command'])
        assert answer['command'] in open(os.path.join(folder, 'README.md')).read()
        again = subprocess.run([os.path.abspath(PROGRAM), *words[1:], '--json'], capture_output=True, text=True, cwd=folder)
        found = json.loads(again.stdout)
        assert again.returncode == 0 and found['pass'] == answer['pass'] and found['rule'] == answer['rule'], found
    expected, actual = (open(os.path.join(path('reproducer numbers'), f'{side}_0.npy'), 'rb').read()
                        for side in ('expected', 'actual'))
    assert expected != actual
    assert json_of('reproduce', DIGITS, '--fail', 'has_nan(*)', '-o', path('none'), status=1) == {
        'answer': 'nothing-fails'} and not os.path.exists(path('none'))
    assert irscope('reproduce', DIGITS, '--fail', 'nodes < 3')[0] == 2


@test('a reproducer of a part has nothing of what the file says of the whole')
def _():
    weights = ', '.join(str(i / 10) for i in range(1, 55))
    with open(path('whole.onnxtxt'), 'w') as file:
        file.write(f'''<ir_version: 8, opset_import: ["" : 17, "local" : 1], doc_string: "All of it", metadata_props: ["secret": "value"]>
net (float[1,2,5,5] x) => (float[1,3,5,5] y, float[1,2,5,5] z)
<float[3,2,3,3] w = {{{weights}}}, float[3] s = {{1.1, 2.3, 0.7}}, float[3] b = {{0.1, 0.25, -1.3}}>
{{ z = local.twice (x) a = Conv <pads = [1, 1, 1, 1]> (x, w) n = BatchNormalization (a, s, b, b, s) y = Tanh (n) }}
<domain: "local", opset_import: ["" : 17]>
twice (p) => (q) {{ half = Neg (p) q = Sub (p, half) }}''')
    made = json_of('reproduce', path('whole.onnxtxt'), '--pass', 'fold-conv-bn', '--fail', 'max_abs(y) > 0', '-o', path('of a part'))
    assert (made['nodes'], made['nodes_whole']) == (2, 4), made
    irscope('convert', os.path.join(path('of a part'), 'model.onnx'), path('part.onnxtxt'))
    text = open(path('part.onnxtxt')).read()
    assert 'BatchNormalization' in text and not any(word in text for word in ('secret', 'All of it', 'twice')), text


@test('bisect says where an expression is wrong')
def _():
    for text, words in (('max_abs(probabilities) >', 'column 25'), ('nodes > 3 xor flops > 1', 'column 11'),
                        ('rel(nobody) > 1', "no value 'nobody'"), ('cmd: /no/such/program', 'cmd: /no/such/program')):
        code, out, err = irscope('bisect', DIGITS, '--fail', text)
        assert code == 2 and words in err and out == '', (text, code, err)
    assert irscope('bisect', DIGITS)[0] == 2


@test('why says at which step a rule fired, and else what did not fit')
def _():
    fired = json_of('why', DIGITS, 'fold-conv-bn', '/bn1/BatchNormalization')
    steps = json_of('steps', DIGITS)['steps']
    assert fired['answer'] == 'fired' and steps[fired['steps'][0] - 1]['rule'] == 'fold-conv-bn', fired
    left_out = json_of('why', DIGITS, 'fold-conv-bn', '/bn1/BatchNormalization', '--skip', 'fold-conv-bn')
    assert left_out['answer'] == 'matches' and left_out['parts_matched'] == left_out['parts'], left_out
    refused = json_of('why', DIGITS, 'fuse-conv-add', '/fc/Add', '--pass', 'fuse-residual')
    assert refused['answer'] == 'refused' and refused['needed'] and 'Gemm' in refused['found'], refused
    assert any(part['node'] is None for part in refused['match']), refused
    other = json_of('why', DIGITS, 'fold-conv-bn', '/conv1/Conv', '--pass', 'fuse-bias')
    assert other['answer'] == 'other-operator' and other['roots'][0]['name'] == '/bn1/BatchNormalization', other
    assert json_of('why', DIGITS, 'fold-conv-bn', '/bn1/BatchNormalization', '--pass', 'fuse-bias')['answer'] == 'not-run'
    for rule, node in (('no-such-rule', '/conv1/Conv'), ('fold-conv-bn', 'nobody')):
        code, out, err = irscope('why', DIGITS, rule, node)
        assert code == 2 and out == '' and ('no-such-rule' in err or 'nobody' in err), err


@test('diff of two steps says what changed, and of one file with itself nothing')
def _():
    answer = json_of('diff', f'{DIGITS}@0', f'{DIGITS}@5', status=1)
    assert answer['counts']['removed'] > 0 and answer['nodes']
    assert json_of('diff', DIGITS, DIGITS)['nodes'] == []


@test('diff of the values of two steps names the first tensor that diverges')
def _():
    small = ['-p', 'basic']
    fold = next(s['index'] for s in json_of('steps', DIGITS, *small)['steps'] if s['rule'] == 'fold-conv-bn')
    before = json_of('diff', '--values', *small, DIGITS, f'{DIGITS}@{fold - 1}', status=1)['numbers']
    assert before['compared'] > 20 and before['differ'] == 0, before
    numbers = json_of('diff', '--values', *small, DIGITS, f'{DIGITS}@{fold}', status=1)['numbers']
    assert numbers['differ'] > 1 and numbers['values'][0]['a'] == '/bn1/BatchNormalization_output_0', numbers
    assert 0 < numbers['values'][0]['max_abs'] < 1e-4, numbers
    out = irscope('diff', '--values', *small, DIGITS, f'{DIGITS}@{fold}')[1]
    first = next(line for line in out.splitlines() if line.split()[:1] == ['first'])
    assert first.split()[1].startswith('/bn1/BatchNormalization_output_0'), out


@test('trace-node leads from a folded node to the one that it is part of')
def _():
    answer = json_of('trace-node', DIGITS, '/bn1/BatchNormalization')
    assert [n['name'] for n in answer['from']] == ['/bn1/BatchNormalization'], answer
    assert any('Conv' in n['op'] for n in answer['to']) and any(s['rule'] == 'fold-conv-bn' for s in answer['steps']), answer


@test('schedule and memory give plans within their bounds')
def _():
    schedule = json_of('schedule', DIGITS)
    assert schedule['critical_path_ms'] <= schedule['makespan_ms'] <= schedule['work_ms'] * 1.000001 and schedule['items']
    memory = json_of('memory', DIGITS)
    assert memory['lower_bound_bytes'] <= memory['peak_bytes'] <= memory['naive_bytes'] and memory['values']
    separate = json_of('memory', DIGITS, '--separate')
    assert separate['peak_bytes'] >= memory['peak_bytes'] and not any('alias_of' in v for v in separate['values'])
    checker = os.path.join(ROOT, 'tests/scripts/check-memory.py')
    for options in (['--json'], ['--csv'], ['--csv', '--separate'], ['--csv', '--order', 'memory']):
        text = irscope('memory', DIGITS, *options)[1]
        judged = subprocess.run([sys.executable, checker], input=text, capture_output=True, text=True)
        assert judged.returncode == 0, judged.stdout + judged.stderr


@test('schedule takes a policy, workers and measured times, and refuses what is neither', sanitized=False)
def _():
    trace = path('schedule-trace.json')
    assert irscope('run', DIGITS, '--threads', '1', '--trace', trace)[0] == 0
    for policy in ('file', 'list', 'memory', 'ios'):
        for options in ([], ['--costs', trace]):
            plan = json_of('schedule', DIGITS, '--policy', policy, '--workers', '2', *options)
            assert plan['policy'] == policy and plan['workers'] == 2 and ('stages' in plan) == (policy == 'ios')
            assert policy == 'ios' or plan['bound_ms'] <= plan['makespan_ms'] * 1.000001, plan
            assert ('measured' in plan) == any('measured_ms' in item for item in plan['items']) == bool(options)
            assert plan['widths'][-1]['n'] == 0 and max(w['n'] for w in plan['widths']) == plan['max_width'] <= 2
            assert plan['streams']['n'] == 1 + max(item['stream'] for item in plan['items'])
    assert all(item['bytes'] >= 0 and item['flops'] >= 0 and 'gflops' not in item for item in json_of('schedule', DIGITS)['items'])
    peaks = json_of('run', DIGITS, '--threads', '1', '--trace', path('schedule-roofline.json'), '--roofline')
    plan = json_of('schedule', DIGITS, '--costs', path('schedule-roofline.json'))
    names = {node['node']: node for node in peaks['nodes']}
    assert plan['roofline'] == peaks['roofline'] and 'roofline' not in json_of('schedule', DIGITS, '--costs', trace)
    for item in plan['items']:  # the same figures as those of the run that wrote the trace
        node = names[item['node']]
        assert [item[k] for k in ('flops', 'bound')] == [node[k] for k in ('flops', 'bound')], (item, node)
        assert abs(item['gflops'] - node['gflops']) <= 0.01 * node['gflops'] + 1e-3, (item, node)
        assert abs(item['roofline'] - node['roofline']) <= 0.01 * node['roofline'] + 1e-3, (item, node)
    wide = path('schedule-wide.json')
    assert irscope('run', DIGITS, '--threads', '2', '--trace', wide)[0] == 0
    plan = json_of('schedule', DIGITS, '--policy', 'ios', '--workers', '2', '--costs', trace, '--wide-costs', wide)
    assert plan['makespan_ms'] <= plan['compared']['one_at_a_time_ms'] * 1.000001
    for span in plan['compared']['beside']:
        assert span['beside_ms'] < span['one_at_a_time_ms'] and span['first'] < span['last'] < len(plan['items'])
    for mode in ('off', 'on', 'auto'):
        assert irscope('run', DIGITS, '--threads', '2', '--runs', '18', '--parallel', mode)[0] == 0
    assert irscope('run', DIGITS, '--parallel', 'maybe')[0] != 0
    assert irscope('schedule', DIGITS, '--policy', 'ios', '--max-group', '1')[0] == 0
    for options in (['--policy', 'fastest'], ['--workers', '-1'], ['--costs', DIGITS], ['--costs', path('absent.json')],
                    ['--wide-costs', trace], ['--policy', 'ios', '--wide-costs', DIGITS], ['--max-group', '2'], ['--max-groups', '2']):
        code, out, err = irscope('schedule', DIGITS, *options)
        assert code in (2, 3) and not out and err, (options, code, out[:99], err)


@test('memory places a list of buffers, and says in which line one is wrong')
def _():
    with open(path('buffers.csv'), 'w') as file:
        file.write('id,lower,upper,size\na,0,3,4\nb,3,9,4\nc,0,9,4\nd,9,21,4\n')
    memory = json_of('memory', path('buffers.csv'))
    assert memory['peak_bytes'] == memory['lower_bound_bytes'] == 8 and memory['proven'] and len(memory['values']) == 4
    json_of('memory', path('buffers.csv'), '--capacity', '7', status=1)
    text = irscope('memory', path('buffers.csv'), '--csv')[1]
    assert text.split('\n')[0] == 'id,lower,upper,size,offset' and text.count('\n') == 5, text
    with open(path('buffers.csv'), 'a') as file:
        file.write('e,5,5,1\n')
    code, _, err = irscope('memory', path('buffers.csv'))
    assert code == 2 and 'line 6' in err and 'needed' in err, err


def as_text(name, text):
    with open(path(name), 'w') as file:
        file.write(text)
    return path(name)


@test('the plans of concurrent nodes agree with the run, and a checker sees when two of them overlap', sanitized=False)
def _():
    branches = ' '.join(f'{b}1 = MatMul (x, w) {b}2 = MatMul ({b}1, w) {b}3 = Exp ({b}2) {b}4 = MatMul ({b}3, w)' for b in 'abc')
    source = as_text('branches.onnxtxt', '<ir_version: 8, opset_import: ["" : 17, "own" : 1]>\ng (float[48,48] x, float[48,48] w) => '
                     '(float[96,48] y) { ' + branches + ' s = own.Joined (a4, b4) t = Add (s, c4) u = Concat <axis: int = 0> (t, c4) '
                     'y = Neg (u) }\n<domain: "own", opset_import: ["" : 17]> Joined (p, q) => (r) { r = Add (p, q) }')
    checker = os.path.join(ROOT, 'tests/scripts/check-memory.py')

    def judged(text, *options):
        return subprocess.run([sys.executable, checker, *options], input=text if isinstance(text, str) else json.dumps(text),
                              capture_output=True, text=True)

    plans = {}
    for mode in ('off', 'on', 'auto'):
        options = ('--threads', '2', '--parallel', mode)
        plan = plans[mode] = json_of('memory', source, *options)
        assert judged(plan).returncode == 0, (mode, judged(plan).stdout + judged(plan).stderr)
        with open(path('plan.json'), 'w') as file:
            json.dump(plan, file)
        if mode == 'auto':
            continue  # decided by times, which differ from call to call
        csv = irscope('memory', source, '--csv', *options)[1]
        assert judged(csv, '--spans', path('plan.json')).returncode == 0, csv
        run = json_of('run', source, '--trace', path('beside.json'), *options)
        with open(path('beside.json')) as file:
            trace = json.load(file)
        assert plan['peak_bytes'] == run['arena_bytes'] == trace['otherData']['arena_bytes'], (mode, plan['peak_bytes'], run)
        schedule = json_of('schedule', source, *options)
        assert [item['node'] for item in schedule['items']] == [step['node'] for step in plan['steps']]
        assert [(s['first'], s['last']) for s in schedule.get('beside', [])] == [(s['first'], s['last']) for s in plan['spans']]
    assert not plans['off']['spans'] and len(plans['on']['spans']) > 1 and plans['on']['peak_bytes'] > plans['off']['peak_bytes']
    assert json_of('schedule', source, '--threads', '2', '--parallel', 'auto')['parallel'] == 'auto'
    plan = plans['on']
    span = plan['spans'][-1]
    text = irscope('memory', source, '--threads', '2', '--parallel', 'on')[1]
    assert f'steps {span["first"]} to {span["last"]} concurrent on 2 workers' in text, text
    why = irscope('memory', source, '--threads', '2', '--parallel', 'on', '--why', 'c4')[1]
    assert f'Steps {span["first"]} to {span["last"]} run concurrently, so what one of them needs is kept for all of them' in why, why
    assert 'for its steps run concurrently with those of this value' in why and f'it has {plan["peak_bytes"]}.' in why, why
    # Two values of the span that no step has at once: the plan would be good if the steps ran one at a time.
    del plan['peak_bytes']  # the height of the plan that is spoiled
    apart = {**plan, 'spans': [], 'steps': [{'node': step['node'], 'op': step['op']} for step in plan['steps']]}
    inner = [v for v in plan['values'] if span['first'] <= v['first'] and v['last'] <= span['last'] and 'alias_of' not in v]
    n_seen = 0
    for early in inner:
        for late in inner:
            moved = [{**v, 'offset': early['offset']} if v['name'] == late['name'] else v for v in plan['values']]
            if early['last'] < late['first'] and ' 0 overlaps' in judged({**apart, 'values': moved}).stdout:
                found = judged({**plan, 'values': moved})
                assert found.returncode == 1 and 'overlap: ' in found.stdout, (early, late, found.stdout)
                n_seen += 1
    assert n_seen > 0, inner
    # One worker writes over what another reads in the same span.
    shared = {'align_bytes': 1, 'workers': 2, 'lower_bound_bytes': 4, 'peak_bytes': 4, 'spans': [{'first': 1, 'last': 2}],
              'steps': [{'node': 'a', 'op': 'A'}, {'node': 'b', 'op': 'B', 'worker': 0}, {'node': 'c', 'op': 'C', 'worker': 1},
                        {'node': 'd', 'op': 'D'}],
              'values': [{'name': 'a', 'offset': 0, 'size': 4, 'first': 0, 'last': 2, 'read_by': [1, 2]},
                         {'name': 'c', 'offset': 0, 'size': 4, 'first': 2, 'last': 3, 'read_by': [3], 'alias_of': 'a', 'over': 'a'}]}
    assert 'c is written over a, which is still read' in judged(shared).stderr, judged(shared).stderr
    shared['steps'][2]['worker'] = 0
    assert judged(shared).returncode == 0, judged(shared).stderr
    shared['values'][0]['last'] = 1
    assert 'a stays until 1, and is read in [1, 2]' in judged(shared).stderr
    for command, *wrong in (('memory', '--parallel', 'maybe'), ('memory', '--parallel', 'on', '--budget', '50%'),
                            ('memory', '--parallel', 'on', '--order', 'memory'), ('schedule', '--parallel', 'no'),
                            ('schedule', '--parallel', 'on', '--policy', 'list'), ('schedule', '--parallel', 'on', '--workers', '3')):
        code, out, err = irscope(command, source, *wrong)
        assert code == 2 and not out and '--parallel' in err, (command, wrong, code, err)


@test('memory under a budget computes values again, and a checker follows its runs', sanitized=False)
def _():
    down = ' '.join(f'd{i} = MatMul (d{i - 1}, w)' for i in range(1, 9))
    up = ' '.join(f'm{i} = Mul (u{i + 1}, d{i}) u{i} = MatMul (m{i}, w)' for i in range(7, 0, -1))
    source = as_text('skips.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[8,8] d0, float[8,8] w) => (float[8,8] y) { '
                     + down + ' u8 = Tanh (d8) ' + up + ' y = MatMul (u1, w) }')
    checker = os.path.join(ROOT, 'tests/scripts/check-memory.py')

    def judged(text):
        return subprocess.run([sys.executable, checker], input=text, capture_output=True, text=True)

    for method, options in (('keep', ['100%']), ('chain', ['50%']), ('chain', ['1100']), ('chain', ['1K', '--separate'])):
        code, text, _ = irscope('memory', source, '--json', '--budget', *options)
        again = json.loads(text)['recompute']
        assert code == 0 and again['feasible'] and again['method'] == method, again
        assert again['peak_bytes'] <= again['budget_bytes'] and again['floor_bytes'] <= again['peak_bytes']
        assert (again['extra_flops'] > 0) == (method != 'keep') == bool(again['evicted'])
        assert judged(text).returncode == 0, judged(text).stdout
        csv = irscope('memory', source, '--csv', '--budget', *options)[1]
        assert judged(csv).returncode == 0, judged(csv).stdout
    damaged = json.loads(text)
    damaged['recompute']['runs'] = [run for run in damaged['recompute']['runs'] if not run['again']]
    assert judged(json.dumps(damaged)).returncode == 1
    damaged = json.loads(text)
    for life in damaged['recompute']['values']:
        life['offset'] = 0
    assert 'does not find' in judged(json.dumps(damaged)).stdout
    lowest = json_of('memory', source, '--budget', '10%', status=1)['recompute']
    assert not lowest['feasible'] and lowest['floor_bytes'] <= lowest['peak_bytes'] < lowest['plain_peak_bytes'], lowest
    code, text, _ = irscope('memory', source, '--budget', '10%')
    assert code == 1 and 'not held; the lowest peak found is' in text, text
    for wrong in ('0', '-5', '5Q', '50%%', 'x', '99999999999999999999', '99999999T'):
        code, _, err = irscope('memory', source, '--budget=' + wrong)
        assert code == 2 and '--budget ' + wrong in err, (wrong, code, err)


@test('memory holds no budget with values that no memory has room for')
def _():
    source = as_text('huge.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[1] x) => (float[1,1,1] y) '
                     '<int64[3] s = {400000, 400000, 400000}> { a = Expand (x, s) b = Neg (a) y = ReduceSum (b) }')
    assert json_of('memory', source)['too_large'] == 2
    answer = json_of('memory', source, '--budget', '1G', status=1)
    assert answer['too_large'] == 2 and not answer['recompute']['feasible'], answer
    code, text, _ = irscope('memory', source, '--budget', '1G')
    assert code == 1 and 'not held: no memory has room for 2 of the values' in text, text


@test('memory under a budget keeps parts in their wholes, and a checker sees when they are not there')
def _():
    down = ' '.join(f'd{i} = MatMul (d{i - 1}, w)' for i in range(1, 7))
    up = ' '.join(f'l{i}, r{i} = Split <axis: int = 0> (d{i}) v{i} = MatMul (l{i}, w) c{i} = Concat <axis: int = 0> (u{i + 1}, v{i}, r{i}) n{i} = Neg (c{i}) '
                  f's{i} = Slice (n{i}, begin, end) m{i} = MatMul (s{i}, w) u{i} = Tanh (m{i})' for i in range(6, 0, -1))
    source = as_text('joined.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[16,16] d0, float[16,16] w) => (float[16,16] y) '
                     '<int64[1] begin = {16}, int64[1] end = {32}> { ' + down + ' u7 = Exp (d6) ' + up + ' y = MatMul (u1, w) }')
    checker = os.path.join(ROOT, 'tests/scripts/check-memory.py')

    def judged(plan):
        return subprocess.run([sys.executable, checker], input=plan if isinstance(plan, str) else json.dumps(plan),
                              capture_output=True, text=True)

    plan = json_of('memory', source, '--budget', '100%')
    kinds = [{(v['name'], key, v[key]) for v in values for key in ('view_of', 'part_of') if key in v}
             for values in (plan['values'], plan['recompute']['values'])]
    assert kinds[0] == kinds[1] and {key for _, key, _ in kinds[0]} == {'view_of', 'part_of'}, kinds
    assert plan['peak_bytes'] == plan['recompute']['peak_bytes'] == plan['recompute']['plain_peak_bytes']
    plan = json_of('memory', source, '--budget', '70%')
    again = plan['recompute']
    assert again['feasible'] and again['extra_flops'] > 0 and judged(plan).returncode == 0, judged(plan).stdout
    assert judged(irscope('memory', source, '--budget', '70%', '--csv')[1]).returncode == 0
    lives = again['values']
    view = next(i for i, life in enumerate(lives) if 'view_of' in life)
    part, other = next((i, other) for i, life in enumerate(lives) for other in lives if 'part_of' in life and other is not life and
                       all(life[key] == other.get(key) for key in ('part_of', 'block')))
    for index, change in ((part, {'part_of': None}), (view, {'view_of': None}), (part, {'offset': other['offset']}),
                          (view, {'offset': int(again['peak_bytes']) - int(lives[view]['size'])}), (part, {'last': lives[part]['first']})):
        damaged = json.loads(json.dumps(plan))
        damaged['recompute']['values'][index].update(change)
        for key in [key for key, value in change.items() if value is None]:
            del damaged['recompute']['values'][index][key]
        assert judged(damaged).returncode == 1, (lives[index], change, judged(damaged).stdout)


@test('memory lets parts lie in wholes, says where, and a checker sees when they do not')
def _():
    source = as_text('parts.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[4,16] x) => (float[2,16] y) { '
                     'a = Exp (x) b = Tanh (x) c = Concat <axis: int = 0> (a, b) d = Neg (x) e = Concat <axis: int = 0> (c, d) '
                     's, t, u = Split <axis: int = 0> (e) v = Neg (s) w = Add (v, t) z = Sub (w, u) i, j = Split <axis: int = 0> (z) '
                     'y = Mul (i, j) }')
    checker = os.path.join(ROOT, 'tests/scripts/check-memory.py')

    def judged(plan):
        return subprocess.run([sys.executable, checker], input=json.dumps(plan), capture_output=True, text=True)

    plan = json_of('memory', source)
    values = {value['name']: value for value in plan['values']}
    assert values['b']['part_of'] == 'c' and values['c']['part_of'] == 'e' and values['b']['alias_of'] == 'e', values
    assert [values[name]['offset'] - values['e']['offset'] for name in 'abcdstu'] == [0, 256, 0, 512, 0, 256, 512], values
    assert values['t']['view_of'] == 'e' and values['v']['over'] == 's' and plan['peak_bytes'] == 768, values
    assert judged(plan).returncode == 0, judged(plan).stdout + judged(plan).stderr
    assert 'b; is part of c + 256' in irscope('memory', source)[1]
    assert 'It is written into its place in c, from byte 256 on.' in irscope('memory', source, '--why', 'b')[1]
    assert 'x lies outside the arena: it is an input of the graph' in irscope('memory', source, '--why', 'x')[1]
    assert 'y lies outside the arena: it is an output of the graph' in irscope('memory', source, '--why', 'y')[1]
    for name, key, value in (('b', 'offset', 0), ('t', 'offset', 640), ('s', 'last', 99), ('u', 'offset', 768), ('a', 'last', 0)):
        damaged = json.loads(json.dumps(plan))
        next(v for v in damaged['values'] if v['name'] == name)[key] = value
        assert judged(damaged).returncode == 1, (name, key, judged(damaged).stdout)
    assert irscope('run', source)[0] == 0


@test('an optimized file carries its lineage, whatever its IR version')
def _():
    for version in (8, 10):
        text = ['convert', DIGITS, path(f'l{version}.onnxtxt')]
        assert irscope(*text)[0] == 0
        source = open(path(f'l{version}.onnxtxt')).read().replace('ir_version: 8', f'ir_version: {version}')
        original = as_text(f'l{version}.onnxtxt', source)
        assert json_of('optimize', original, '-o', path('l.onnx'))['steps'] > 10
        gone = json_of('trace-node', path('l.onnx'), '/bn1/BatchNormalization')
        assert gone['source'] == 'file' and [node['op'] for node in gone['to']] == ['ConvRelu'], gone
        assert {'pass': 'fold-conv-bn', 'rule': 'fold-conv-bn'} in gone['steps'], gone
        fused = json_of('trace-node', path('l.onnx'), '/conv1/Conv')
        assert [node['name'] for node in fused['from']] == ['/conv1/Conv', '/bn1/BatchNormalization',
                                                            '/relu1/Relu'], fused
        same = json_of('trace-node', path('l.onnx'), '/pool/MaxPool')
        assert [node['name'] for node in same['from']] == ['/pool/MaxPool'] and same['steps'] == [], same
        assert json_of('trace-node', path('l.onnx'), '/conv1/Conv', '--pass', 'fold-constants')['source'] == 'history'
        code, _, err = irscope('trace-node', path('l.onnx'), 'nobody')
        assert code == 2 and 'nobody' in err, err
        pairs = {node['node']: node for node in json_of('diff', original, path('l.onnx'), status=1)['nodes']}
        assert pairs['/conv1/Conv']['kind'] == 'changed', pairs['/conv1/Conv']
        assert any('stands for: /conv1/Conv, /bn1' in change for change in pairs['/conv1/Conv']['changes'])


@test('lineage is followed through files that were optimized twice')
def _():
    assert irscope('optimize', DIGITS, '--pass', 'fold-conv-bn', '-o', path('once.onnx'))[0] == 0
    assert irscope('optimize', path('once.onnx'), '-o', path('twice.onnx'))[0] == 0
    fused = json_of('trace-node', path('twice.onnx'), '/conv1/Conv')
    assert [node['name'] for node in fused['from']] == ['/conv1/Conv', '/bn1/BatchNormalization', '/relu1/Relu'], fused
    assert [step['rule'] for step in fused['steps']] == ['fold-conv-bn', 'fuse-conv-relu'], fused


@test('steps are gone through by commands, forwards and back, and stop at breakpoints')
def _():
    def debug(*commands, status=0, arguments=()):
        done = subprocess.run([PROGRAM, 'steps', DIGITS, '-p', 'default', '--debug', '--json', *arguments], capture_output=True,
                              text=True, timeout=120, input='\n'.join(commands) + '\n')
        assert done.returncode == status, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr
    steps = json_of('steps', DIGITS, '-p', 'default')['steps']
    last = len(steps)
    assert [at['index'] for at in debug('step', 'step 3', 'back', 'to 7', 'step 999', 'back 2')[0]] == [1, 4, 3, 7, last, last - 2]
    ends = [step['index'] for step, after in zip(steps, steps[1:] + [None]) if after is None or step['pass'] != after['pass']]
    assert [at['index'] for at in debug('next', 'next', 'next', 'previous')[0]] == [*ends[:3], ends[1]]
    bn = [step['index'] for step in steps if step['rule'] == 'fold-conv-bn']
    assert [at['index'] for at in debug('break rule=fold-conv-bn', 'c', 'c', 'r')[0]] == [bn[0], bn[1], bn[0]]
    fewer = next(step['index'] for step in steps if step['nodes'] < 20)
    assert [at['index'] for at in debug('continue', arguments=['-b', 'nodes<20'])[0]] == [fewer]
    stopped = debug('break verdict=rounding', 'continue')[0][0]
    assert stopped['verdict'] == 'rounding', stopped
    assert debug('to 2', 'show')[0][1]['changes']
    assert 'no command "jump"' in debug('jump', status=2)[1] and 'no step 999' in debug('to 999', status=2)[1]
    assert all(step['verdict'] == 'rounding' for step in json_of('steps', DIGITS, '-b', 'verdict=rounding')['steps'])
    code, _, err = irscope('steps', DIGITS, '-b', 'pass=gradient')
    assert code == 0 and 'no breakpoint stops' in err, err


@test('of a node that was folded it is said where it went, by history and by file', sanitized=False)
def _():
    source = as_text('fold.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] x) => (float[2] y) '
                     '<float[2] p = {1.0, 2.0}, float[2] q = {3.0, 4.0}> { [add] a = Add (p, q)  [neg] b = Neg (a)  '
                     '[mul] c = Mul (x, b)  [dead] d = Exp (x)  [one] y = Identity (c) }')
    wanted = {'add': ['b'], 'neg': ['b'], 'dead': []}
    for arguments in (['--pass', 'fold-constants,eliminate-dead-code'], ['--pipeline', 'default']):
        assert irscope('optimize', source, *arguments, '-o', path('folded.onnx'))[0] == 0
        assert irscope('convert', path('folded.onnx'), path('folded-again.onnx'))[0] == 0
        assert irscope('optimize', path('folded.onnx'), '-o', path('folded-twice.onnx'))[0] == 0
        for name, into in wanted.items():
            for answer in (json_of('trace-node', source, name, *arguments), json_of('trace-node', path('folded.onnx'), name),
                           json_of('trace-node', path('folded-again.onnx'), name), json_of('trace-node', path('folded-twice.onnx'), name)):
                assert answer['to'] == [] and [value['value'] for value in answer['into']] == into, answer
                assert all(value['constant'] for value in answer['into']) and answer['steps'], answer
    assert irscope('convert', DIGITS + '@5', path('five.onnx'))[0] == 0
    folded = json_of('trace-node', path('five.onnx'), '/bn1/BatchNormalization')
    assert folded['source'] == 'file' and len(folded['to']) == 1, folded


@test('a pipeline of one\'s own is a JSON file, and its mistakes are named with line and column')
def _():
    def pipeline(text):
        with open(path('own.json'), 'w') as file:
            file.write(text)
        return path('own.json')
    code, text, _ = irscope('passes', '--pipeline', 'default')
    schema = json.load(open(os.path.join(ROOT, 'data/schema/pipeline.schema.json')))
    assert code == 0 and not list(violations(json.loads(text), schema))
    for name in os.listdir(os.path.join(ROOT, 'data/pipelines')):
        assert not list(violations(json.load(open(os.path.join(ROOT, 'data/pipelines', name))), schema)), name
    own, shipped = json_of('optimize', DIGITS, '-p', pipeline(text)), json_of('optimize', DIGITS, '-p', 'default')
    assert own['steps'] == shipped['steps'] > 0 and own['nodes_after'] == shipped['nodes_after']
    for text, place, words in (
            ('{\n "passes": [\n  "fold-constants",\n  "fold-cosntants"]}', ':4:3:', '"fold-constants" meant'),
            ('{\n "passes": ["fold-constants",]}', ':2:', 'not JSON'),
            ('{"passes": [], "max_iterations": 0}', ':1:16:', 'whole number'),
            ('{"pases": []}', ':1:2:', 'not known'), ('{"passes": "fold-constants"}', ':1:2:', 'a list'),
            ('{"passes": []} {}', ':1:16:', 'nothing may follow'), ('{"title": 1, "passes": []}', ':1:2:', 'a string'),
            ('{"title": "x"}', ':1:1:', 'needs a list'), ('[]', ':1:1:', 'not a JSON object')):
        code, out, err = irscope('optimize', DIGITS, '-p', pipeline(text))
        assert code == 2 and out == '' and place in err and words in err, (text, err)


@test('diff names a change once that many places have')
def _():
    def chain(name, op, rest):
        lines = [f'[n{i}] v{i + 1} = {op} <alpha: float = {rest}> (v{i})' for i in range(24)]
        return as_text(name, '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] v0) => (float[2] v24) { '
                             + '  '.join(lines) + ' }')
    a, b, c = chain('a.onnxtxt', 'LeakyRelu', 0.5), chain('b.onnxtxt', 'LeakyRelu', 0.25), chain('c.onnxtxt', 'Elu', 0.5)
    groups = json_of('diff', a, b, status=1)['groups']
    assert len(groups) == 1 and groups[0]['count'] == len(groups[0]['names']) == 24, groups
    assert groups[0] == {**groups[0], 'kind': 'changed', 'of': 'nodes', 'op': 'LeakyRelu',
                         'changes': ['attribute alpha: 0.5 -> 0.25']}, groups
    code, out, _ = irscope('diff', a, b)
    assert code == 1 and out.count('\n') == 5 and 'the same change in 24 places' in out, out
    assert out.splitlines()[-1] == 'pairs: 24 by names that their neighbours bear out', out
    assert irscope('diff', a, b, '--all')[1].count('alpha') == 24
    assert json_of('diff', a, a)['groups'] == []


@test('diff pairs the layers of two exporters by their order, and compares what they compute')
def _():
    def net(name, prefix, scale, between):
        lines, at = [], 'x'
        for i in range(12):
            lines += [f'[{prefix}m{i}] {prefix}a{i} = MatMul ({at}, {prefix}w{i})']
            at = f'{prefix}a{i}'
            for k in range(between):
                lines += [f'[{prefix}s{i}_{k}] {prefix}b{i}_{k} = Mul ({at}, {prefix}c)']
                at = f'{prefix}b{i}_{k}'
            lines += [f'[{prefix}r{i}] {prefix}r{i} = Relu ({at})']
            at = f'{prefix}r{i}'
        weights = [f'float[2,2] {prefix}w{i} = {{{scale + i / 8}, 0.5, -0.25, 1.0}}' for i in range(12)]
        return as_text(name, '<ir_version: 8, opset_import: ["" : 17]>\n'
                             f'g (float[3,2] x) => (float[3,2] {at}) <float {prefix}c = {{1.0}}, {", ".join(weights)}> {{ '
                             + '  '.join(lines) + ' }')
    a, b, c = net('a.onnxtxt', '', 0.5, 0), net('b.onnxtxt', 'q_', 0.77, 2), net('c.onnxtxt', 'p_', 0.5, 1)
    answer = json_of('diff', a, b, status=1)
    assert answer['counts']['removed'] == 0 and answer['counts']['added'] == 24, answer['counts']
    assert {node['op'] for node in answer['nodes'] if node['kind'] == 'added'} == {'Mul'}
    numbers = json_of('diff', '--values', a, c, status=1)['numbers']
    assert numbers['compared'] == 24 and numbers['differ'] == 0, numbers
    assert [value['a'] for value in numbers['values'] if value['output']] == ['r11'], numbers
    numbers = json_of('diff', '--values', a, b, status=1)['numbers']
    assert numbers['differ'] == 24 and numbers['values'][0]['a'] == 'a0', numbers
    code, out, _ = irscope('diff', a, c)
    assert code == 1 and 'of these 12 only in names' in out and 'name:' not in out, out


@test('render writes every format and view')
def _():
    for name, arguments in {'g.svg': [], 'g.pdf': [], 'g.png': ['--dark'], 'g.dot': [], 'd.svg': ['--diff', '0:5'],
                            'a.svg': ['--at', '3'], 's.svg': ['--view', 'schedule'], 'm.svg': ['--view', 'memory'],
                            'sp.svg': ['--view', 'schedule', '--parallel', 'on', '--threads', '2'],
                            'b.svg': ['--view', 'memory', '--budget', '90%'], 'c.svg': ['--view', 'trace'],
                            't.svg': ['--view', 'tensor', '--tensor', 'probabilities'], 'd.svg': ['--view', 'derivation'], 'r.svg': ['--view', 'gradients']}.items():
        code, out, err = irscope('render', DIGITS, '-o', path(name), *arguments)
        assert code == 0 and out == '' and os.path.getsize(path(name)) > 200, f'{name}: {code} {err}'
    json_of('render', DIGITS, '-o', path('j.svg'))


@test('convert keeps the meaning through text and JSON')
def _():
    for name in ('c.onnxtxt', 'c.json', 'c.onnx'):
        json_of('convert', DIGITS, path(name))
        tensor = json_of('tensor', path(name), 'probabilities', '--input', f'image={SEVEN}')
        assert tensor['max'] > 0.99, (name, tensor['max'])


@test('convert --opset upgrades by steps, and refuses to go down')
def _():
    open(path('old.onnxtxt'), 'w').write('<ir_version: 4, opset_import: ["" : 9]>\n'
                                         'g (float[2,1,3] x) => (float[2,3] y) { y = Squeeze <axes: ints = [1]> (x) }')
    new = json_of('convert', path('old.onnxtxt'), '--opset', '13', '-o', path('new.onnxtxt'))
    assert new['opset'] == 13 and new['steps'] == 2, new
    steps = json_of('steps', path('old.onnxtxt'), '--pass', 'upgrade-opset', '--opset', '13', '--prove')['steps']
    assert [step['verdict'] for step in steps] == ['exact', 'exact'], steps
    assert steps[0]['reason'] == 'Squeeze: axes become an input (opset 13)', steps
    code, _, err = irscope('convert', path('new.onnxtxt'), '--opset', '9', '-o', path('down.onnx'))
    assert code == 2 and 'not downgraded' in err and not os.path.exists(path('down.onnx')), (code, err)
    first = json_of('optimize', path('old.onnxtxt'), '--opset', '28')
    assert first['passes'][0] == {**first['passes'][0], 'name': 'upgrade-opset', 'steps': 2}, first


@test('check accepts the good and names what is wrong with the bad')
def _():
    assert json_of('check', DIGITS)['ok']
    open(path('bad.onnx'), 'wb').write(open(DIGITS, 'rb').read()[:5000])
    bad = json_of('check', path('bad.onnx'), status=1)
    assert bad['errors'] > 0 and any(p['code'] == 'truncated' for p in bad['problems']), bad


@test('check --strict refuses types that cannot be')
def _():
    open(path('lies.onnxtxt'), 'w').write('<ir_version: 8, opset_import: ["" : 17]>\n'
                                          'g (float[2,3] x) => (float[2,3] y) <float[2,9] a> '
                                          '{ [up] a = Relu (x)  [down] y = Neg (a) }')
    assert json_of('check', path('lies.onnxtxt'))['warnings'] == 1
    found = json_of('check', '--strict', path('lies.onnxtxt'), status=1)['problems']
    assert [(p['node'], p['code']) for p in found] == [('up', 'shape-mismatch')], found
    assert 'float[2,3]' in found[0]['message'] and 'float[2,9]' in found[0]['message'], found


@test('convert --types declares what inference knows')
def _():
    open(path('plain.onnxtxt'), 'w').write('<ir_version: 8, opset_import: ["" : 17]>\n'
                                           'g (float[n,3] x) => (float[m,3] y) { a = Relu (x)  y = Neg (a) }')
    json_of('convert', '--types', path('plain.onnxtxt'), path('typed.onnxtxt'))
    assert 'float[n,3] a' in open(path('typed.onnxtxt')).read(), open(path('typed.onnxtxt')).read()


@test('the tables print')
def _():
    assert len(json_of('ops')['ops']) > 100
    passes = json_of('passes')
    assert len(passes['passes']) >= 9 and len(passes['pipelines']) >= 3
    assert len(json_of('rules')['rules']) > 20


def field(number, payload):
    payload = payload if isinstance(payload, bytes) else payload.encode()
    return bytes([number << 3 | 2, len(payload)]) + payload


def tensor_file(*values):
    return b'\x08' + bytes([len(values)]) + b'\x10\x01' + field(9, struct.pack(f'<{len(values)}f', *values))


def write_case(name, op, inputs, output):
    """One node of float[2] tensors, and its data."""
    folder = os.path.join(WORK, 'cases', name)
    os.makedirs(os.path.join(folder, 'test_data_set_0'))
    shape = field(2, field(1, b'\x08\x02'))
    value = lambda text: field(1, text) + field(2, field(1, b'\x08\x01' + shape))
    names = [f'x{i}' for i in range(len(inputs))]
    node = b''.join(field(1, text) for text in names) + field(2, 'y') + field(4, op)
    graph = field(1, node) + field(2, 'g') + b''.join(field(11, value(text)) for text in names) + field(12, value('y'))
    model = b'\x08\x08' + field(7, graph) + field(8, field(1, '') + b'\x10\x0d')
    open(os.path.join(folder, 'model.onnx'), 'wb').write(model)
    for i, values in enumerate(inputs):
        open(os.path.join(folder, f'test_data_set_0/input_{i}.pb'), 'wb').write(tensor_file(*values))
    open(os.path.join(folder, 'test_data_set_0/output_0.pb'), 'wb').write(tensor_file(*output))


@test('outputs that wait for a node that cannot run are named, the others are given')
def _():
    file = path('odd.onnxtxt')
    with open(file, 'w') as text:
        text.write('''<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x, bool c) => (float[2,3] gemm, float[2,3] lost, float[2,3] inner, float[2,3] good)
<float[2,3] w = ["location": "nowhere.bin", "offset": "0", "length": "24"]>
{
  h = Gemm (x)
  gemm = Relu (h)
  lost = Relu (w)
  inner = If (c) <then_branch = a () => (float[2,3] p) { p = MatMul (x, ) }, else_branch = b () => (float[2,3] q) { q = Relu (x) }>
  good = Relu (x)
}
''')
    for device in ('cpu', 'ref'):
        answer = json_of('run', file, '--device', device, '--capture', 'all', status=1)
        assert [output['name'] for output in answer['outputs']] == ['good'], answer['outputs']
        stopped = {missing['name']: (missing['op'], missing['why']) for missing in answer['missing']}
        assert {name: op for name, (op, _) in stopped.items()} == {'gemm': 'Gemm', 'lost': 'Relu', 'inner': 'If'}, stopped
        assert 'Gemm' in stopped['gemm'][1] and 'no contents' in stopped['lost'][1] and 'MatMul' in stopped['inner'][1], stopped
    json_of('tensor', file, 'good')
    for command in (['tensor', file, 'gemm'], ['schedule', file], ['memory', file], ['kernels', file], ['bench', file]):
        code, out, err = irscope(*command)
        assert code == 3 and err, (command, code, err)
    codes = {problem['code'] for problem in json_of('check', file, status=1)['problems']}
    assert {'input-count', 'no-contents', 'external-data'} <= codes, codes
    json_of('optimize', file, '--pipeline', 'default', '--prove')


@test('conformance tells passed, failed and unsupported apart')
def _():
    write_case('inner/right', 'Add', [(1, 2), (3, 4)], (4, 6.001))
    write_case('inner/unknown', 'NoSuchOperator', [(1, 2)], (1, 2))
    folder = os.path.join(WORK, 'cases')
    answer = json_of('conformance', folder)
    assert (answer['total'], answer['passed'], answer['unsupported']) == (2, 1, 1), answer
    assert 'NoSuchOperator' in answer['cases'][1]['reason'], answer
    write_case('wrong', 'Add', [(1, 2), (3, 4)], (4, 6.1))
    for device in ([], ['--device', 'ref'], ['--device', 'cpu']):
        answer = json_of('conformance', folder, *device, status=1)
        assert answer['failed'] == 1 and answer['cases'][2]['name'] == 'wrong', answer
    code, out, _ = irscope('conformance', folder)
    assert code == 1 and '3 cases: 1 passed, 1 failed, 1 unsupported' in out, out
    code, _, err = irscope('conformance', path('absent'))
    assert code == 2 and 'absent' in err, err


@test('bad usage and bad input end with 2 and say what was needed')
def _():
    open(path('garbage.onnx'), 'w').write('no model')
    for arguments, word in ((['info'], 'FILE'), (['nonsense'], 'no command'), (['info', '--nonsense', DIGITS], 'nonsense'),
                            (['info', path('absent.onnx')], 'absent.onnx'), (['info', path('garbage.onnx')], 'garbage.onnx'),
                            (['run', DIGITS, '--input', 'nonsense=x.npy'], 'nonsense'), (['run', DIGITS, '--input', 'image'], 'NAME=VALUE'),
                            (['optimize', DIGITS, '--pipeline', 'nonsense'], 'nonsense'), (['optimize', DIGITS, '--class', 'x'], '--class'),
                            (['tensor', DIGITS, 'nonsense'], 'nonsense'), (['info', DIGITS + '@9999'], '9999'),
                            (['render', DIGITS], '-o'), (['info', DIGITS, '--dim', 'batch=-1'], 'batch=-1')):
        code, out, err = irscope(*arguments)
        assert code == 2 and word in err and out == '', f'{arguments}: {code} {err.strip()[:200]!r}'


@test('the memory of a run and of one value is limited as told')
def _():
    for arguments, status, word in ((['--output-limit', '100'], 3, 'the limit is 100'), (['--memory-limit', '2K'], 3, 'the limit is 2'),
                                    (['--memory-limit', '0'], 2, '--memory-limit 0'), (['--output-limit', '5Q'], 2, '--output-limit 5Q'),
                                    (['--memory-limit', '-1'], 2, '--memory-limit -1'), (['--output-limit', '99999999T'], 2, '99999999T')):
        code, _, err = irscope('run', DIGITS, *arguments)
        assert code == status and word in err, f'{arguments}: {code} {err.strip()[:200]!r}'
    code, _, err = irscope('run', DIGITS, '--memory-limit', '1G', '--output-limit', '1m')
    assert code == 0, err


@test('a name that nothing has is refused instead of doing nothing')
def _():
    for arguments, word in [(['help', 'nonsense'], 'nonsense'),
                            (['optimize', DIGITS, '--skip', 'nonsense'], 'nonsense'),
                            (['info', DIGITS, '--dim', 'nonsense=3'], 'nonsense'),
                            (['run', DIGITS, '--threads', '-1'], '--threads -1'),
                            (['run', DIGITS, '--input', f'image={WORK}/missing.npy'], 'missing.npy')]:
        code, out, err = irscope(*arguments)
        assert code == 2 and word in err and out == '', f'{arguments}: {code} {err.strip()[:200]!r}'


@test('a step is left out by the key that is shown with it')
def _():
    key = json_of('steps', DIGITS, '-p', 'basic', '--at', '5')['steps'][0]['key']
    steps = len(json_of('steps', DIGITS, '-p', 'basic')['steps'])
    assert json_of('optimize', DIGITS, '-p', 'basic', '--skip', key)['steps'] < steps, key


@test('a full disk behind standard output ends with 3')
def _():
    with open('/dev/full', 'w', encoding='utf-8') as full:
        done = subprocess.run([PROGRAM, 'info', DIGITS], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False)
    assert done.returncode == 3 and 'standard output' in done.stderr, (done.returncode, done.stderr)


@test('a device that is not there ends with 3')
def _():
    code, _, err = irscope('run', DIGITS, '--device', 'gpu')
    assert code == 3 and 'gpu' in err, (code, err)


@test('an unwritable place ends with 3 and leaves nothing behind')
def _():
    code, _, err = irscope('convert', DIGITS, '/proc/nonsense/out.onnx')
    assert code == 3 and 'nonsense' in err, (code, err)


@test('kernels shows every kernel of a node with its times, the one that is taken first')
def _():
    nodes = json_of('kernels', DIGITS, '--runs', '2', '--threads', '1')['nodes']
    plan = json_of('schedule', DIGITS)['items']
    assert [n['node'] for n in nodes] == [item['node'] for item in plan]
    for node, item in zip(nodes, plan):
        first, *others = node['candidates']
        assert first['taken'] and first['kernel'] == item['kernel'] and not any(c['taken'] for c in others)
        assert first['ms']['runs'] == 2 and all(c['ms'] is None or c['ms']['min'] <= c['ms']['median'] <= c['ms']['max'] for c in others)
        names = [c['name'] for c in others]
        assert len(set(names)) == len(names) and None not in names
    assert any('ref' in [c['name'] for c in n['candidates'][1:]] for n in nodes)
    assert irscope('kernels', DIGITS, '--runs', '-1')[0] == 2


@test('a kernel that is asked for runs, changes the bits, and is refused where it does not fit')
def _():
    kernels = {n['node']: [c['name'] for c in n['candidates']] for n in json_of('kernels', DIGITS, '--runs', '1')['nodes']}
    node = next((name for name, names in kernels.items() if 'winograd' in names), None)
    if node is None:
        return  # a machine without wide vectors has one kind of convolution
    plain = [item for item in json_of('schedule', DIGITS)['items'] if item['node'] == node][0]
    assert plain['kernel'] == 'direct convolution' and 'Winograd' in plain['choice'], plain
    forced = [item for item in json_of('schedule', DIGITS, '--kernel', f'{node}=winograd')['items'] if item['node'] == node][0]
    assert forced['kernel'] == 'Winograd convolution' and 'asks for' in forced['choice'], forced
    run = json_of('run', DIGITS, '--kernel', f'{node}=winograd', '--out', path('forced'))
    assert [n['kernel'] for n in run['nodes'] if n['node'] == node] == ['Winograd convolution']
    free = json_of('run', DIGITS, '--out', path('free'))
    first, second = (open(answer['outputs'][0]['file'], 'rb').read() for answer in (free, run))
    assert first != second
    other = next(name for name, names in kernels.items() if 'onednn' in names and 'winograd' not in names)
    for asked in (f'{other}=winograd', f'{node}=nonsense', 'nonsense=ref'):
        code, out, err = irscope('run', DIGITS, '--kernel', asked)
        assert code == 2 and not out and err, (asked, code, err)


FUNCTIONS = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n' \
            'g (float[N,2] x) => (float[N,2] y) { a = local.twice (x)  y = local.twice (a) }\n' \
            '<domain: "local", opset_import: ["" : 17]>\n' \
            'twice (p) => (q) { half = Neg (p)  q = Sub (p, half) }'


@test('every command calls the nodes in bodies of functions by the same names')
def _():
    source, trace = as_text('functions.onnxtxt', FUNCTIONS), path('functions-trace.json')
    names = [n['node'] for n in json_of('run', source, '--trace', trace)['nodes']]
    assert len(set(names)) == 4 and all(name.startswith('twice/') for name in names), names
    assert [item['node'] for item in json_of('schedule', source)['items']] == names
    assert [step['node'] for step in json_of('memory', source)['steps']] == names
    assert [n['node'] for n in json_of('kernels', source, '--runs', '1')['nodes']] == names
    assert json_of('schedule', source, '--costs', trace)['measured'] == {**json_of('schedule', source, '--costs', trace)['measured'], 'nodes': 4, 'unknown': 0}
    assert json_of('kernels', as_text('nothing.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] x) => (float[2] x) { }'))['nodes'] == []


@test('kernels are asked for in bodies of functions and of branches, too')
def _():
    def kernels(file, *asked):
        options = [word for text in asked for word in ('--kernel', text)]
        return {n['node']: n['kernel'] == 'ref' for n in json_of('run', file, *options)['nodes']}

    source = as_text('functions.onnxtxt', FUNCTIONS)
    names = list(kernels(source))
    assert not any(kernels(source).values()) and all(kernels(source, '*=ref').values())
    assert all('ref' in [c['name'] for c in n['candidates']] for n in json_of('kernels', source, '--runs', '1')['nodes'])
    code, _, err = irscope('run', source, '--kernel', f'{names[0]}=ref')  # it is one node of one body, which runs twice
    assert code == 2 and '2 places' in err and '--pass inline-functions' in err, (code, err)
    assert kernels(source, re.search(r"'(#\d+)=NAME'", err)[1] + '=ref') == {name: '/Neg' in name for name in names}
    inlined = json_of('run', source, '--pass', 'inline-functions', '--kernel', f'{names[0]}=ref')['nodes']
    assert [n['kernel'] == 'ref' for n in inlined] == [True, False, False, False], inlined
    once = as_text('once.onnxtxt', FUNCTIONS.replace('a = local.twice (x)', '').replace('(a)', '(x)'))
    assert list(kernels(once, 'twice/Neg=ref').values()) == [True, False]
    assert irscope('run', once, '--kernel', 'twice/Exp=ref')[0] == 2
    branches = as_text('branches.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[64] x) => (float[64] y) '
                       '<bool c = {1}> { y = If (c) <then_branch = t () => (float[64] a) { a = Exp (x) }, '
                       'else_branch = e () => (float[64] b) { b = Neg (x) }> }')
    results = []
    for options in (['--kernel', '*=ref'], ['--device', 'ref']):
        with open(json_of('run', branches, '--out', path('branches'), *options)['outputs'][0]['file'], 'rb') as file:
            results.append(file.read())
    assert results[0] == results[1]


@test('a plan takes no contents, and contents are limited before they are made')
def _():
    source = as_text('functions.onnxtxt', FUNCTIONS)
    begin = time.monotonic()
    plan = json_of('memory', source, '--dim', 'N=1000000000')
    assert plan['peak_bytes'] >= 8 * 10 ** 9
    assert json_of('schedule', source, '--dim', 'N=1000000000')['items']
    code, out, err = irscope('run', source, '--dim', 'N=2000000', '--memory-limit', '10M')
    assert code == 3 and not out and 'input x' in err and 'limit' in err, (code, err)
    assert time.monotonic() - begin < 20


@test('memory and run refuse options that would go unheard, and say why in JSON too')
def _():
    buffers = as_text('buffers.csv', 'id,lower,upper,size\na,0,5,100\n')
    for arguments in ([DIGITS, '--capacity', '-1'], [DIGITS, '--time-limit', '-1'], [DIGITS, '--csv', '--why', 'image'],
                      [buffers, '--why', 'a'], [buffers, '--budget', '50%'], [buffers, '--parallel', 'on'], [buffers, '--order', 'memory']):
        code, out, err = irscope('memory', *arguments)
        assert code == 2 and not out and err, (arguments, code, err)
    for arguments in (['--runs', '-1'], ['--warmup', '-1'], ['--capture-budget', '1M'], ['--trace', path('absent/trace.json')], ['--trace', '']):
        code, out, err = irscope('run', DIGITS, *arguments)
        assert code in (2, 3) and not out and err, (arguments, code, err)
    name = json_of('memory', DIGITS)['values'][0]['name']
    why = json_of('memory', DIGITS, '--why', name)['why']
    assert why['value'] == name and '\n'.join(why['lines']) == '\n'.join(line.strip() for line in irscope('memory', DIGITS, '--why', name)[1].splitlines())


@test('run --check ref judges every node, and prove the execution of the result')
def _():
    nodes = len(json_of('schedule', DIGITS)['items'])
    check = json_of('run', DIGITS, '--check', 'ref')['check']['ref']
    assert check['right'] == nodes == len(check['nodes']) and 'first' not in check
    assert all(node['verdict'] == 'right' and node['judge'] for node in check['nodes'])
    out = irscope('run', DIGITS, '--check', 'ref', '--parallel', 'on', '--threads', '2')[1]
    assert f'execution: {nodes} right, 0 beyond tolerance, 0 overwritten, 0 not judged' in out
    few = json_of('run', DIGITS, '--check', 'ref', '--check-budget', '1,1')['check']['ref']
    assert few['not_judged'] > 0 and few['beyond'] == 0
    assert all(node['reason'] for node in few['nodes'] if node['verdict'] == 'not judged')
    assert '  not judged: ' in irscope('run', DIGITS, '--check', 'ref', '--check-budget', '1')[1]
    for arguments in (['--check', 'nothing'], ['--check', 'ref', '--check-budget', '-1'], ['--check', 'ref', '--check-budget', '2G,'],
                      ['--check', 'ref', '--check-budget', '1,2,3']):
        code, out, err = irscope('run', DIGITS, *arguments)
        assert code == 2 and not out and err, (arguments, code, err)
    execution = json_of('optimize', DIGITS, '--prove')['execution']
    assert execution['right'] > 0 and execution['beyond'] == execution['not_judged'] == 0


@test('the text of a run tells statistics, the warm-up, and what went to a file')
def _():
    captured = json_of('run', DIGITS, '--capture', 'stats')['captured']
    out = irscope('run', DIGITS, '--capture', 'stats', '--warmup', '2')[1]
    assert all(f'{value["name"]}  min ' in out for value in captured) and len(captured) > 20
    assert '2 before them to warm up' in out, out[-300:]
    out = irscope('run', DIGITS, '--capture', 'all', '--capture-budget', '1')[1]
    assert ' in a file, ' in out.splitlines()[-1], out[-300:]


@test('bench tells what the same bits at any number of threads cost')
def _():
    assert json_of('bench', DIGITS, '--runs', '1')['models'][0]['deterministic'] is None
    cost = json_of('bench', DIGITS, '--runs', '3', '--deterministic')['models'][0]['deterministic']
    assert all(cost[key]['runs'] == 3 for key in ('free_ms', 'run_ms', 'ratio'))


@test('a trace tells rates, shares of what the machine can do, the spread of runs and the warm-up')
def _():
    trace = path('rates.json')
    answer = json_of('run', DIGITS, '--runs', '5', '--warmup', '2', '--roofline', '--threads', '1', '--trace', trace)
    assert answer['wall_ms']['runs'] == 5 and answer['roofline']['gflops'] > 0 and answer['roofline']['gbps'] > 0
    found = json.load(open(trace))
    assert found['otherData']['peak_gflops'] == answer['roofline']['gflops']
    events = [e for e in found['traceEvents'] if e['ph'] == 'X']
    timed, warmup = ([e for e in events if e['pid'] == pid] for pid in (1, 2))
    assert len(timed) == len(warmup) > 0 and [e['name'] for e in timed] == [e['name'] for e in warmup]
    assert {e['args']['name'] for e in found['traceEvents'] if e['ph'] == 'M'} == {'last run', 'warm-up'}
    for event in timed:
        args = event['args']
        assert args['runs'] == 5 and args['q1_us'] <= args['median_us'] <= args['q3_us']
        least = max(args['flops'] / answer['roofline']['gflops'], args['bytes'] / answer['roofline']['gbps']) / 1000
        assert event['dur'] == 0 or abs(args['roofline'] * event['dur'] - least) <= 1e-6 * max(least, 1e-3), args
    assert all('median_us' not in e['args'] for e in warmup)
    assert irscope('run', DIGITS, '--warmup', '-1')[0] == 2


@test('a run tells per node when it ran, where, how fast, and how that varies over the runs')
def _():
    answer = json_of('run', DIGITS, '--runs', '5', '--warmup', '2', '--roofline', '--threads', '1')
    assert len(answer['warmup_ms']) == 2 and all(ms > 0 for ms in answer['warmup_ms'])
    peaks, nodes = answer['roofline'], answer['nodes']
    assert {n['op'] for n in nodes} >= {'Conv', 'Gemm'} and len({n['id'] for n in nodes}) == len(nodes)
    last = 0
    for node in nodes:
        assert last <= node['start_ms'] <= node['end_ms'] and node['worker'] == 0, node
        last = node['start_ms']
        ms = node['ms']
        assert ms['runs'] == 5 and ms['min'] <= ms['q1'] <= ms['median'] <= ms['q3'] <= ms['max'], node
        limits = {'compute': node['flops'] / peaks['gflops'], 'memory': node['bytes'] / peaks['gbps']}
        assert limits[node['bound']] == max(limits.values()), node
        if ms['median'] > 0:
            assert abs(node['gflops'] * ms['median'] * 1e6 - node['flops']) <= 1e-6 * node['flops']
            assert abs(node['gbps'] * ms['median'] * 1e6 - node['bytes']) <= 1e-6 * node['bytes']
            ns = round(ms['median'] * 1e6 + 1e-9)
            assert abs(node['roofline'] * ns / max(limits.values()) - 1) < 2 / ns + 1e-6 if node['bytes'] else True, node
    assert any(n['op'] == 'Conv' and n['flops'] > 0 and n['gflops'] > 0 for n in nodes)
    plain = json_of('run', DIGITS)
    assert plain['warmup_ms'] == [] and all('roofline' not in n and n['ms']['runs'] == 1 for n in plain['nodes'])
    code, out, _ = irscope('run', DIGITS, '--nodes', '--runs', '3')
    assert code == 0 and sum('GFLOP/s' in line for line in out.splitlines()) == len(nodes), out


@test('pictures of plans are made as memory and schedule make the plans')
def _():
    source = as_text('turns.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\n'
                     'turns (float[64,64] x) => (float[64,1] y) {\n'
                     '  one = Exp (x)  two = Tanh (x)  over = Neg (one)\n'
                     '  low = ReduceMax <axes = [1], keepdims = 1> (over)\n'
                     '  high = ReduceMax <axes = [1], keepdims = 1> (two)\n  y = Add (low, high) }')
    pictures = set()
    for options in ([], ['--order', 'memory'], ['--separate'], ['--parallel', 'on', '--threads', '2']):
        assert irscope('render', source, '--view', 'memory', '-o', path('plan.svg'), *options)[0] == 0
        with open(path('plan.svg')) as file:
            picture = file.read().replace('\u00a0', ' ')
        peak = json_of('memory', source, *options)['peak_bytes']
        assert f'Peak {peak / 1024:.1f} KiB' in picture, (options, peak)
        pictures.add(picture)
    assert len(pictures) == 4
    pictures = set()
    for options in ([], ['--parallel', 'on', '--threads', '2']):
        assert irscope('render', source, '--view', 'schedule', '-o', path('plan.svg'), *options)[0] == 0
        with open(path('plan.svg')) as file:
            pictures.add(file.read())
    assert len(pictures) == 2
    assert irscope('render', DIGITS, '--view', 'schedule', '--parallel', 'auto', '-o', path('plan.svg'))[0] == 0
    for view, options in (('graph', ['--separate']), ('schedule', ['--order', 'memory']), ('trace', ['--parallel', 'on']),
                          ('memory', ['--order', 'up']), ('memory', ['--parallel', 'maybe']), ('graph', ['--budget', '50%']),
                          ('memory', ['--parallel', 'on', '--order', 'memory'])):
        code, _, err = irscope('render', source, '--view', view, '-o', path('refused.svg'), *options)
        assert code == 2 and any(option in err for option in options), (view, options, code, err)


@test('values in a body of a function are captured by the name of the call and theirs')
def _():
    source = as_text('called.onnxtxt', '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
                     'g (float[2] x) => (float[2] y) <float[2] one = {1, 2}> {\n'
                     '  [first] a = local.twice (one)\n  [second] y = local.twice (a)\n}\n'
                     '<domain: "local", opset_import: ["" : 17]>\n'
                     'twice (p) => (q) { half = Neg (p)  q = Sub (p, half) }')
    for name, wanted in (('first/half', (-1, -2)), ('second/half', (-2, -4))):
        captured = json_of('run', source, '--capture', name, '--out', path('called'))['captured']
        assert [v['name'] for v in captured] == [name], captured
        with open(captured[0]['file'], 'rb') as file:
            assert struct.unpack('<2f', file.read()[-8:]) == wanted, name
        tensor = json_of('tensor', source, name, '--out', path('half.npy'))
        assert tensor['name'] == name and (tensor['min'], tensor['max']) == (wanted[1], wanted[0]), tensor
        with open(path('half.npy'), 'rb') as file:
            assert struct.unpack('<2f', file.read()[-8:]) == wanted, name
    for command in (['run', source, '--capture', 'third/half'], ['tensor', source, 'third/half']):
        code, _, err = irscope(*command)
        assert code == 2 and 'third/half' in err, err
    code, _, err = irscope('tensor', source, 'half')
    assert code == 2 and 'CALL/half' in err, (code, err)


# Minutes of products, with nodes between them that passes take away.
LONG = as_text('long.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\n'
               'g (float[1536,1536] x) => (float[1536,1536] y)\n{\n  y0 = Identity (x)\n' +
               ''.join(f'  z{i} = MatMul (y{i - 1}, x)\n  y{i} = Identity (z{i})\n' for i in range(1, 400)) +
               '  y = Identity (y399)\n}')


# A minute of search, and a graph whose values are all read again at the end, under a budget.
CROWDED = as_text('crowded.csv', 'id,lower,upper,size\n' +
                  ''.join(f'{i},{i * 7919 % 61},{i * 7919 % 61 + 1 + i * 104729 % 37},{97 + i * 15485863 % 8191}\n' for i in range(400)))
DEEP = as_text('deep.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\n'
               'g (float[4096] x) => (float[4096] y)\n{\n  y0 = Exp (x)\n' +
               ''.join(f'  y{i} = Exp (y{i - 1})\n' for i in range(1, 20000)) + '  z19999 = Exp (y19999)\n' +
               ''.join(f'  z{i} = Add (z{i + 1}, y{i})\n' for i in range(19998, -1, -1)) +
               '  y = Neg (z0)\n}')


def interrupted(arguments, signals, environment):
    """Exit status and messages after @signals, which come in the middle."""
    child = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env={**os.environ, **environment})
    patience = time.monotonic() + 60

    def seconds_worked():
        with open(f'/proc/{child.pid}/stat') as file:
            return sum(map(int, file.read().rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')

    try:
        while seconds_worked() < 0.5 and time.monotonic() < patience:  # it is computing by now
            assert child.poll() is None, f'ended by itself: {child.stderr.read()}'
            time.sleep(0.02)
        for number in signals:
            child.send_signal(number)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    return child.returncode, err


@test('SIGINT ends what takes long with a message and exit status 3, and leaves nothing half done')
def _():
    for arguments in (['run', LONG], ['run', LONG, '--capture', 'all', '--capture-budget', '20M', '--out', path('interrupted')],
                      ['run', LONG, '--device', 'ref'], ['bench', LONG], ['kernels', LONG],
                      ['optimize', LONG, '--pipeline', 'default', '--prove'], ['bisect', LONG, '--fail', 'max_abs(y) > 1'],
                      ['tensor', LONG, 'y'], ['memory', CROWDED], ['memory', DEEP, '--budget', '20%']):
        temporary = path('temporary')
        os.makedirs(temporary, exist_ok=True)
        threads = [] if arguments[0] == 'memory' else ['--threads', '1']
        code, err = interrupted([*arguments, *threads], [signal.SIGINT], {'TMPDIR': temporary})
        assert code == 3, f'{arguments}: exit status {code}, {err}'
        assert 'cancel' in err.lower(), f'{arguments}: {err}'
        assert os.listdir(temporary) == [], f'{arguments}: {os.listdir(temporary)} is left'
    for name in os.listdir(path('interrupted')):
        with open(os.path.join(path('interrupted'), name), 'rb') as file:
            data = file.read()
        header = struct.unpack('<H', data[8:10])[0]
        assert name.endswith('.npy') and len(data) == 10 + header + 4 * 1536 * 1536, name


# Written by a test that reads no further than to the first byte: the pipe is full then, and the rest waits.
ITEMS = as_text('items.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\n'
                'g (float[200000] x) => (seq(float) q) { q = SplitToSequence <axis = 0, keepdims = 0> (x) }')
CHAIN = as_text('chain.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[4] y0) => (float[4] y20000)\n{\n' +
                ''.join(f'  y{i + 1} = Neg (y{i})\n' for i in range(20000)) + '}')


@test('SIGINT ends what prints much, with a message and exit status 3', sanitized=False)
def _():
    for arguments in (['run', ITEMS, '--json'], ['run', ITEMS], ['tensor', ITEMS, 'q', '--json'], ['memory', CHAIN, '--json'],
                      ['memory', CHAIN], ['schedule', CHAIN, '--json'], ['schedule', CHAIN], ['run', CHAIN, '--json']):
        child = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            child.stdout.read1(1)
            time.sleep(0.2)
            child.send_signal(signal.SIGINT)
            time.sleep(0.05)
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
        assert child.returncode == 3, f'{arguments}: exit status {child.returncode}, {err}'
        assert b'cancel' in err.lower(), f'{arguments}: {err}'
        assert len(out) < 400000, f'{arguments}: {len(out)} bytes after the first'


@test('a second signal ends the program at once')
def _():
    code, err = interrupted(['run', LONG, '--threads', '1'], [signal.SIGINT, signal.SIGTERM], {})
    assert code == 3, (code, err)


@test('a run that was given up leaves its trace and what it had captured')
def _():
    source = as_text('endless.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\n'
                     'g (float[1] x) => (float[1] y) <int64 n = {9223372036854775807}, bool go = {1}> {\n'
                     '  early = Neg (x)\n'
                     '  y = Loop (n, go, early) <body = b (int64 i, bool c, float[1] a) => (bool d, float[1] e) '
                     '{ d = Identity (c) e = Neg (a) }>\n}')
    for options, word in ((['--max-iterations', '10'], 'iterations'), (['--time-limit', '0.001', '--max-iterations', '9000000000'], 'time')):
        trace = path('endless-trace.json')
        code, out, err = irscope('run', source, '--capture', 'all', '--trace', trace, '--json', *options)
        assert code != 0 and word in err, err
        found = json.loads(out)
        assert word in found['error'] and 'early' in [value['name'] for value in found['captured']]
        events = json.load(open(trace))['traceEvents']
        assert len([e for e in events if e['ph'] == 'X']) >= 1 and all('flops' in e['args'] for e in events if e['ph'] == 'X')
    code, _, err = irscope('run', DIGITS, '--time-limit', 'inf')
    assert code == 0, err


@test('proofs, bisection, what-if and values end by the limits of a run')
def _():
    source = as_text('doubles.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\n'
                     'g (float[4] x) => (float[m] y) <int64 n = {60}, bool go = {1}> {\n'
                     '  a = Identity (x)\n'
                     '  b = Loop (n, go, a) <body = b (int64 i, bool c, float[k] s) => (bool d, float[l] t) '
                     '{ d = Identity (c) t = Concat <axis = 0> (s, s) }>\n  e = Neg (b)\n  f = Neg (e)\n  y = Relu (f)\n}')
    for options, word in ((['--memory-limit', '20M'], 'limit'), (['--output-limit', '5M'], 'limit'),
                          (['--max-iterations', '5'], 'iterations'), (['--time-limit', '0.01'], 'time')):
        written = path('doubled.onnx')
        code, out, err = irscope('optimize', source, '--pass', 'eliminate-identity,cancel-transposes', '--prove', '--json', '-o', written, *options)
        assert code == 0 and json.loads(out)['proof']['broken'] == 0 and os.path.exists(written), (options, err)
        os.unlink(written)
        for command in (['bisect', source, '--pass', 'eliminate-identity', '--fail', 'has_nan(*)'], ['tensor', source, 'y'],
                        ['diff', source, source, '--values']):
            code, out, err = irscope(*command, *options)
            assert code != 0 and word in out + err, (command, options, code, out, err)
    code, _, err = irscope('optimize', DIGITS, '--prove', '--memory-limit', 'much')
    assert code != 0 and '--memory-limit much' in err, err


@test('an operator that cannot run stops only what needs it')
def _():
    source = as_text('foreign.onnxtxt', '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>\n'
                     'g (float[3,4] x) => (float[3,4] y, float[3,4] z) {\n  a = Identity (x)\n  b = Relu (a)\n'
                     '  e = com.microsoft.Tokenize (b)\n  f = Relu (e)\n  h = Relu (f)\n  y = Neg (h)\n'
                     '  i = Relu (b)\n  z = Exp (i)\n}')
    written = path('foreign.onnx')
    code, out, err = irscope('optimize', source, '--prove', '--json', '-o', written)
    found = json.loads(out)['proof']
    assert code == 0 and os.path.exists(written), err
    assert found['exact'] >= 2 and found['skipped'] >= 1 and found['broken'] == 0, (found, err)
    assert 'skipped: ' in err and err.count('no operator') == 1, err
    code, out, err = irscope('steps', source, '--prove', '--json')
    steps = json.loads(out)['steps']
    assert code == 0 and all('Tokenize' in s['finding'] for s in steps if s['verdict'] == 'skipped'), (out, err)


@test('a file without end is refused wherever one is named')
def _():
    for command in (['optimize', DIGITS, '-p', '/dev/zero'], ['schedule', DIGITS, '--costs', '/dev/zero'],
                    ['memory', '/dev/zero', '--capacity', '100'], ['info', '/dev/zero'],
                    ['run', DIGITS, '--input', 'image=/dev/zero']):
        code, _, err = irscope(*command)
        assert code != 0 and 'regular file' in err, (command, code, err)


@test('nothing but the result goes to standard output, and no display is needed')
def _():
    code, out, err = irscope('info', DIGITS, '--json', DISPLAY='', WAYLAND_DISPLAY='')
    assert code == 0 and json.loads(out) and err == '', err
    code, _, err = irscope('view', DIGITS, DISPLAY='', WAYLAND_DISPLAY='')
    assert code in (2, 3) and err, (code, err)


def npy(file, descr, shape, data):
    header = repr({'descr': descr, 'fortran_order': False, 'shape': shape}).ljust(117) + '\n'
    with open(path(file), 'wb') as out:
        out.write(b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header.encode() + data)
    return path(file)


def graph(file, text):
    with open(path(file), 'w') as out:
        out.write('<ir_version: 8, opset_import: ["" : 17]>\n' + text)
    return path(file)


@test('dims that an exporter had no name for are no symbol')
def _():
    two = graph('two.onnxtxt', 'g (float["?","?"] x, float["None",2] y) => (float["?",2] z) { z = Concat <axis = 0> (x, y) }')
    run = irscope('run', two, '--shape', 'x=3x2', '--shape', 'y=1x2')
    assert run[0] == 0, run
    one = npy('one.npy', '<f4', (5, 2), bytes(40))
    assert irscope('run', two, '--input', 'x=' + one)[0] == 0
    named = graph('named.onnxtxt', 'g (float[n,2] x, float[n,2] y) => (float[m,2] z) { z = Concat <axis = 0> (x, y) }')
    code, out, err = irscope('run', named, '--input', 'x=' + one)
    assert code == 0 and 'float[10,2]' in out, (out, err)
    other = npy('other.npy', '<f4', (3, 2), bytes(24))
    code, _, err = irscope('run', named, '--input', 'x=' + one, '--input', 'y=' + other)
    assert code == 2 and '--shape' in err, err
    both = ('--shape', 'x=5x2', '--shape', 'y=3x2')
    assert irscope('run', named, '--input', 'x=' + one, '--input', 'y=' + other, *both)[0] == 0


@test('contents that are given size the graph for the passes, as --shape does')
def _():
    source = graph('sized.onnxtxt', 'g (float[n,4] x) => (float[n,4] y) { s = Shape (x)  t = Mul (s, s)  u = Div (t, s)  y = Expand (x, u) }')
    given = npy('given.npy', '<f4', (3, 4), bytes(48))
    shaped = json_of('memory', source, '--pipeline', 'default', '--shape', 'x=3x4')
    by_input = json_of('run', source, '--pipeline', 'default', '--input', 'x=' + given, '--nodes')
    by_shape = json_of('run', source, '--pipeline', 'default', '--shape', 'x=3x4', '--nodes')
    assert len(by_input['nodes']) == len(by_shape['nodes']) == len(shaped['steps']), (by_input['nodes'], by_shape['nodes'])


@test('a scalar is spelled in --shape')
def _():
    source = graph('scalar.onnxtxt', 'g (float[n] x) => (float[n] y) { y = Exp (x) }')
    code, out, err = irscope('run', source, '--shape', 'x=scalar')
    assert code == 0 and 'float[]' in out, (out, err)
    assert irscope('run', source, '--shape', 'x=scalars')[0] == 2


@test('names of inputs and of files may have equals signs')
def _():
    source = graph('equals.onnxtxt', 'g (float[1] "a", float[1] "a=b") => (float[1] y) { y = Sub ("a", "a=b") }')
    seven = npy('b=c=.npy', '<f4', (1,), struct.pack('<f', 7))
    zero = npy('zero.npy', '<f4', (1,), bytes(4))
    code, out, err = irscope('run', source, '--input', 'a=' + seven, '--input', 'a=b=' + zero)
    assert code == 0 and '[7]' in out, (out, err)
    assert "no input 'q'" in irscope('run', source, '--input', 'q=' + seven)[2]


@test('a run that fails prints no times')
def _():
    source = graph('fails.onnxtxt', 'g (int64[1] x) => (int64[n] y) { t = Expand (x, x)  y = Neg (t) }')
    minus = npy('minus.npy', '<i8', (1,), struct.pack('<q', -5))
    code, out, err = irscope('run', source, '--input', 'x=' + minus)
    assert code != 0 and ' ms' not in out and err, (code, out, err)


@test('texts in a .npy file are refused with the format that has them')
def _():
    source = graph('text.onnxtxt', 'g (string[1] x) => (string[1] y) { y = Identity (x) }')
    for descr in ('<U3', '|S3', '|O'):
        code, _, err = irscope('run', source, '--input', 'x=' + npy('text.npy', descr, (1,), bytes(12)))
        assert code == 2 and '.pb' in err, (code, err)


@test('info says what it leaves out of the nodes')
def _():
    source = graph('constants.onnxtxt', 'g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1, 2}> ()  y = Add (x, c) }')
    info = json_of('info', source)
    assert (info['nodes'], info['constant_nodes']) == (1, 1)
    assert 'without 1 of Constant' in irscope('info', source)[1]


@test('tensors of attributes are written into the text, which has a location only for initializers')
def _():
    numbers = ','.join(str(i) for i in range(2000))
    source = graph('long.onnxtxt', f'g (float[2000] x) => (float[2000] y) {{ c = Constant <value = float[2000] {{{numbers}}}> ()  y = Add (x, c) }}')
    assert irscope('convert', source, path('again.onnxtxt'))[0] == 0
    with open(path('again.onnxtxt')) as file:
        text = file.read()
    assert 'location' not in text and '1999' in text
    assert irscope('diff', source, path('again.onnxtxt'))[0] == 0
    assert not [name for name in os.listdir(WORK) if name.startswith('again') and name.endswith('.data')]


@test('a mistake in a branch that only folding shows is told when the file is written')
def _():
    source = graph('hidden.onnxtxt',
                   'g (float[2,3] x, bool c) => (float[n,m] y) <float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float one = {1}, '
                   'int64[1] zero = {0}> { y = If (c) <then_branch = t () => (float[n,m] a) { a = Relu (x) }, '
                   'else_branch = e () => (float[n,m] b) { s = Exp (one)  q = Less (s, one)  r = If (q) '
                   '<then_branch = tt () => (float[i,j] ra) { ra = Identity (x) }, '
                   'else_branch = ee () => (float[i,j,k] rb) { rb = Unsqueeze (x, zero) }>  b = Gemm (r, w) }> }')
    code, _, err = irscope('check', source)
    assert code == 0, err
    code, _, err = irscope('optimize', source, '-o', path('hidden.onnx'))
    assert code == 0 and 'Gemm' in err and 'not seen before the passes ran' in err, err
    code, _, err = irscope('optimize', DIGITS, '-o', path('clean.onnx'))
    assert code == 0 and err == '', err


@test('names of any length are drawn')
def _():
    name = 'a' * 1000000
    source = graph('name.onnxtxt', f'g (float[2] x) => (float[2] y) {{ [{name}] t = {name} (x)  y = Neg (t) }}')
    assert irscope('render', source, '-o', path('name.svg'))[0] == 0
    with open(path('name.svg')) as file:
        assert '…' in file.read()


try:
    run_tests()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
