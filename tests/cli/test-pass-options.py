#!/usr/bin/python3
"""Options of passes on the command line and in pipeline files; prints TAP.

    test-pass-options.py IRSCOPE SOURCE_ROOT"""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-options-')


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def json_of(*arguments):
    code, out, err = irscope(*arguments, '--json')
    assert code == 0, (arguments, code, err)
    return json.loads(out)


def path(name):
    return os.path.join(WORK, name)


open(path('old.onnxtxt'), 'w').write('<ir_version: 4, opset_import: ["" : 9]>\n'
                                     'g (float[2,1,3] x) => (float[2,3] y) { y = Squeeze <axes: ints = [1]> (x) }')
ASKED = ['--pass', 'upgrade-opset', '--set', 'upgrade-opset.opset=12']
WRONG = [('fold-constants.size=3', 'it has limit'), ('fuse-gelu.limit=3', 'it has none'),
         ('fold.limit=3', 'no pass "fold"'), ('upgrade-opset.opset=12', 'in the pipeline'),
         ('fold-constants.limit=many', 'needs a whole number'), ('limit', 'PASS.OPTION=VALUE')]


def listed():
    passes = {p['name']: p for p in json_of('passes')['passes']}
    option = passes['fold-constants']['options'][0]
    assert (option['name'], option['kind'], option['default']) == ('limit', 'bytes', '64M'), option
    assert passes['fuse-gelu']['options'] == [] and passes['fuse-gelu']['once'] is False


def part_of_keys():
    step = json_of('steps', path('old.onnxtxt'), *ASKED, '--at', '1')['steps'][0]
    assert step['key'].startswith('upgrade-opset{opset=12}/'), step
    assert json_of('optimize', path('old.onnxtxt'), *ASKED, '--skip', step['key'])['steps'] == 0
    open(path('limit.json'), 'w').write('{"passes": [{"pass": "upgrade-opset", "opset": 12}]}')
    assert json_of('steps', path('old.onnxtxt'), '--pipeline', path('limit.json'), '--at', '1')['steps'][0] == step
    printed = irscope('passes', '-p', path('limit.json'))[1]
    assert json.loads(printed)['passes'] == [{'pass': 'upgrade-opset', 'opset': '12'}], printed


def refused():
    for wrong, why in WRONG:
        code, out, err = irscope('optimize', DIGITS, '--set', wrong)
        assert code == 2 and out == '' and why in err and wrong in err, (wrong, code, err)
    code, _, err = irscope('run', DIGITS, '--set', 'fold-constants.limit=3')
    assert code == 2 and 'no passes run' in err, (code, err)


for number, (test, sentence) in enumerate([(listed, 'options are listed'), (refused, 'what is none is said'),
                                           (part_of_keys, 'options are part of the keys of steps')], 1):
    try:
        test()
        print(f'ok {number} - {sentence}')
    except AssertionError as error:
        print(f'not ok {number} - {sentence}\n# {error}')
print('1..3')
