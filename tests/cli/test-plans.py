#!/usr/bin/python3
"""What `irscope schedule` says of a run on one axis of time, what `irscope memory` compares, and what commands write beside
the model that they read; prints TAP.

    test-plans.py IRSCOPE SOURCE_ROOT"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from schema import violations
from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-plans-')


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def json_of(command, *arguments, status=0):
    code, out, err = irscope(command, *arguments, '--json')
    assert code == status, f'exit status {code}, needs {status}: {err.strip()[:300]}'
    answer = json.loads(out)
    found = list(violations(answer, json.load(open(os.path.join(ROOT, 'data/schema', command + '.schema.json')))))
    assert not found, '; '.join(found[:5])
    return answer


def path(name):
    return os.path.join(WORK, name)


def as_text(name, text):
    with open(path(name), 'w') as file:
        file.write(text)
    return path(name)


@test('schedule says what lies in a range of time, what nodes began behind and why workers stood idle')
def _():
    plan = json_of('schedule', DIGITS)
    whole = json_of('schedule', DIGITS, '--from', '0')['timeline']
    assert not whole['measured'] and whole['duration_ms'] == whole['to_ms'] == plan['makespan_ms'] and whole['from_ms'] == 0
    assert abs(whole['critical_path_ms'] - plan['critical_path_ms']) <= 1e-9 + 1e-6 * plan['critical_path_ms']
    assert abs(sum(i['end_ms'] - i['start_ms'] for i in whole['items'] if i['critical']) - whole['critical_path_ms']) < 1e-9
    assert abs(sum(row['ms'] for row in whole['operators']) - plan['work_ms']) < 1e-9 and len(whole['items']) == len(plan['items'])
    ends = {}
    for item in whole['items']:  # behind is what ended last of its inputs and of its worker
        assert item['start_ms'] >= ends.get(item.get('behind'), 0) - 1e-12, item
        ends[item['node']] = item['end_ms']
    middle = whole['items'][len(whole['items']) // 2]
    low, high = middle['start_ms'], middle['end_ms']
    half = json_of('schedule', DIGITS, '--from', f'{low:.17g}', '--to', f'{(low + high) / 2:.17g}')['timeline']
    assert middle['node'] in [i['node'] for i in half['items']] and len(half['items']) < len(whole['items'])
    assert half['busy_ms'] + half['idle_ms'] <= (half['to_ms'] - half['from_ms']) * plan['workers'] * (1 + 1e-9)
    for parallel in ([], ['--parallel', 'on']):
        ran = json_of('schedule', DIGITS, '--run', '--threads', '2', *parallel)['timeline']
        assert ran['measured'] and ran['items'] and 0 < ran['critical_path_ms'] <= ran['duration_ms']
        assert all((item['idle_ms'] > 0) == ('why_idle' in item) for item in ran['items'])
    one = json_of('schedule', DIGITS, '--run', '--node', middle['node'])['timeline']['items']
    assert [item['node'] for item in one] == [middle['node']]
    text = irscope('schedule', DIGITS, '--run', '--to', '1e9')[1]
    assert 'measured: ' in text and 'critical path (*)' in text and ' * ' in text, text
    for options in (['--from', 'x'], ['--from', '-1'], ['--to', 'nan'], ['--from', '2', '--to', '1'], ['--node', 'absent'],
                    ['--run', '--policy', 'list'], ['--from', '']):
        code, out, err = irscope('schedule', DIGITS, *options)
        assert code == 2 and not out and err, (options, code, out[:99], err)


@test('what a command writes beside its model never replaces it, and long names fit into those of files')
def _():
    kept = path('kept.onnx')
    shutil.copy(DIGITS, kept)
    linked = path('linked.onnx')
    os.link(kept, linked)
    as_json = path('kept.json')
    assert irscope('convert', DIGITS, as_json)[0] == 0
    for command in (['run', kept, '--trace', kept], ['run', kept, '--trace', linked], ['run', kept + '@0', '--trace', kept],
                    ['tensor', kept, 'fc.bias', '--picture', kept], ['tensor', kept, 'fc.bias', '-o', linked],
                    ['diff', '--values', DIGITS, as_json, '--table', as_json]):
        before = open(command[-1], 'rb').read()
        code, out, err = irscope(*command)
        assert code == 2 and not out and 'is the model itself' in err and open(command[-1], 'rb').read() == before, (command, code, err)
    names = ['n' * 5000, 'n' * 5000 + '2', 'é' * 150, 'n' * 200]
    source = as_text('long-names.onnxtxt', '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] x) => (' +
                     ', '.join(f'float[2] "{name}"' for name in names) + ') {\n' +
                     ''.join(f'  "{name}" = Relu (x)\n' for name in names) + '}')
    files = [v['file'] for v in json_of('run', source, '--capture', 'all', '-o', path('long'))['outputs']]
    assert len(set(files)) == len(names) and all(os.path.exists(file) for file in files), files
    for option in (['--dim', 'N=3'], ['--pipeline', 'basic'], ['--set', 'a.b=1']):
        code, out, err = irscope('info', '--devices', *option)
        assert code == 2 and not out and option[0] in err, (option, code, err)


@test('memory lists what an allocator would be asked for, and what differs from another plan')
def _():
    plan = json_of('memory', DIGITS, '--events')
    live, held = {}, 0
    for event in plan['events']:
        at = (int(event['offset']), int(event['offset']) + int(event['size']))
        if event['what'] == 'allocate':
            assert all(at[1] <= low or high <= at[0] for low, high in live.values()), event  # nothing lies there
            live[event['value']] = at
        else:
            assert live.pop(event['value']) == at, event
        held += int(event['size']) * (1 if event['what'] == 'allocate' else -1)
        assert int(event['held_bytes']) == held and max([high for _, high in live.values()] or [0]) <= plan['peak_bytes'], event
    assert not live and not held and [e['step'] for e in plan['events']] == sorted(e['step'] for e in plan['events'])
    assert max(int(e['held_bytes']) for e in plan['events']) >= plan['at_peak']['bytes']
    same = json_of('memory', DIGITS, '--against', DIGITS)['against']
    assert same['values'] == [] and same['peak_bytes'] == plan['peak_bytes'] and same['model'] == DIGITS
    for options in ([], ['--pipeline', 'basic']):
        against = json_of('memory', DIGITS + '@5', *options, '--against', '@0')['against']
        assert against['peak_bytes'] == plan['peak_bytes'] and against['values'], against
        here = {v['name']: v for v in json_of('memory', DIGITS + '@5', *options)['values']}
        there = {v['name']: v for v in plan['values']}
        for value in against['values']:
            assert value['after_bytes'] == here.get(value['value'], {'size': 0})['size'], value
            assert value['before_bytes'] == there.get(value['value'], {'size': 0})['size'], value
    text = irscope('memory', DIGITS + '@5', '--against', '@0')[1]
    text_of_same = irscope('memory', DIGITS, '--against', DIGITS)[1]
    assert 'each value takes the same bytes' in text_of_same and 'value (bytes' not in text_of_same, text_of_same
    assert 'against @0:' in text and '->' in text and 'value (bytes' in text, text
    assert 'allocate' in irscope('memory', DIGITS, '--events')[1]
    with open(path('buffers.csv'), 'w') as file:
        file.write('id,lower,upper,size\na,0,3,4\n')
    for options in (['--events', '--csv'], ['--events', '--budget', '50%'], ['--events', '--against', '@0'], ['--against', 'absent.onnx'],
                    ['--against', '@100000'], ['--events', '--why', 'x'], ['--against', '']):
        code, out, err = irscope('memory', DIGITS, *options)
        assert code in (2, 3) and not out and err, (options, code, out[:99], err)
    assert irscope('memory', path('buffers.csv'), '--events')[0] == 2


try:
    run_tests()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
