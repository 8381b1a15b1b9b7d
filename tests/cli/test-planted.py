#!/usr/bin/python3
"""Wrong rules in the middle of a pipeline, found from the command line: by proof, by bisection, and by
a reproducer whose one command finds them again; prints TAP.

    test-planted.py IRSCOPE_PLANTED SOURCE_ROOT [MODEL..]

IRSCOPE_PLANTED is irscope with the passes of tests/cli/planted.c. Without models: the digits."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
MODELS = sys.argv[3:] or [os.path.join(ROOT, 'data/examples/digits.onnx')]
PLANTED = {'plant-leak': 'Relu', 'plant-relu': 'Relu', 'plant-nan': 'Softmax',
           'plant-sign': 'Add', 'plant-softmax': 'Softmax'}
WORK = tempfile.mkdtemp(prefix='irscope-planted-')
n_tests = n_failed = 0


def irscope(*arguments, cwd=None):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=250,
                          stdin=subprocess.DEVNULL, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def answer(*arguments, status=(0,), cwd=None):
    code, out, err = irscope(*arguments, '--json', cwd=cwd)
    assert code in status, (arguments, code, err)
    return json.loads(out)


def pipeline(name):
    """Right passes before and after the wrong one, which runs once."""
    right = ['eliminate-identity', 'fold-constants', 'eliminate-dead-code']
    path = os.path.join(WORK, name + '.json')
    with open(path, 'w') as f:
        json.dump({'name': name, 'title': name, 'doc': 'With a mistake.', 'max_iterations': 1,
                   'passes': [*right, name, 'fold-conv-bn', 'merge-common-subexpressions']}, f)
    return path


def check(model, name):
    plan = ['--pipeline', pipeline(name), '--random', '3', '--threads', '1']
    steps = answer('steps', model, *plan, '--prove')['steps']
    wrong = [s for s in steps if s['pass'] == name]
    assert wrong, 'the rule was not applied'
    # Dropping a Relu of positive numbers is no mistake on these inputs, and is not called one.
    broken = [s['index'] for s in steps if s['verdict'] == 'broken']
    assert broken and set(broken) <= {s['index'] for s in wrong}, (broken, wrong)
    for s in steps:
        if s['verdict'] == 'broken':
            assert isinstance(s['max_abs'], (int, float, str)) and 'max_ulp' in s and s['finding'], s
    fail = 'has_nan(*)' if name == 'plant-nan' else 'max_abs(*) > 1e-6'
    found = answer('bisect', model, *plan, '--fail', fail)
    assert found['answer'] == 'found' and found['pass'] == name and found['changes'], found
    assert found['checks'] <= (len(steps) - 1).bit_length() + 2, found
    assert found['step'] in broken and [b['step'] for b in found['broken']] == broken, (found, broken)
    assert found['diverges']['name'], found
    # What it says shows the value: there, and before the step.
    said = irscope('bisect', model, *plan, '--fail', fail)[1]
    command = shlex.split(re.search(r'irscope (tensor .*) shows it', said).group(1))
    shown = answer(*command, *plan, status=(1,))
    assert shown['difference']['different'] > 0 and command[2] == found['diverges']['name'], (command, shown)
    assert len(broken) < 5 or re.search(rf'broken: {len(broken)} steps from .* {name}, ', said), said
    stopped = answer('run', model, *plan, '--break', 'diverges:original', status=(1,))['stops']
    assert len(stopped) == 1 and stopped[0]['value'] and 'original graph' in stopped[0]['found'], stopped
    # Before the wrong pass there is nothing to stop at.
    assert answer('run', model, '--pass', 'eliminate-identity', '--break', 'diverges:original')['stops'] == []
    folder = os.path.join(WORK, 'bundle')
    made = answer('reproduce', model, *plan, '--fail', fail, '-o', folder)
    assert made['reproduced'] and made['nodes'] < made['nodes_whole'], made
    text = open(os.path.join(folder, 'README.md')).read()
    command = shlex.split(re.search(r'^    (irscope .*)$', text, re.M).group(1))
    again = answer(*command[1:], cwd=folder)
    assert again['answer'] == 'found' and again['pass'] == name, again
    assert open(os.path.join(folder, 'diff.svg')).read(5) in ('<?xml', '<svg '), 'diff.svg'
    for left in ('expected_0.npy', 'actual_0.npy', 'model.onnx', 'pipeline.json'):
        assert os.path.getsize(os.path.join(folder, left)) > 0, left
    for file in os.listdir(folder):
        os.unlink(os.path.join(folder, file))
    return f'{len(wrong)} planted, {len(broken)} broken, {made["nodes"]} of {made["nodes_whole"]} nodes'


def check_tour():
    """The commands of README's tour, word for word but for where the program and the bundle lie."""
    text = open(os.path.join(ROOT, 'README.md'), encoding='utf-8').read()
    commands = re.search(r'```sh\nninja [^\n]*irscope-planted[^\n]*\n(.*?)```', text, re.S).group(1)
    commands = commands.replace('/tmp/', WORK + '/').replace('build/tests/cli/irscope-planted', shlex.quote(PROGRAM))
    done = subprocess.run(['sh', '-e', '-c', re.sub(r'^(\$IRSCOPE (run|tensor|diff) [^#\n]*)', r'\1 || [ $? = 1 ] ', commands, flags=re.M)],
                          capture_output=True, text=True, cwd=ROOT, timeout=200)
    assert done.returncode == 0 and not done.stderr, (commands, done.stderr)
    name = '/relu1/Relu_output_0'
    for said in (f'diverges {name}: ', f'diverges:original: {name}: ', 'step 2: plant-leak, wrong-leak at /relu1/Relu', f'+ "{name}" = LeakyRelu',
                 f'against @1:{name}: ', 'step 2: plant-leak, wrong-leak\n1 of ', 'behind step 0, 1 step'):
        assert said in done.stdout, (said, done.stdout)
    return f'{commands.count("$IRSCOPE ")} commands'


n_tests += 1
try:
    print(f"ok {n_tests} README's tour leads from the wrong answer to the bundle # {check_tour()}", flush=True)
except (AssertionError, subprocess.TimeoutExpired) as error:
    n_failed += 1
    print(f"not ok {n_tests} README's tour leads from the wrong answer to the bundle\n# {error}", flush=True)
for model in MODELS:
    ops = answer('info', model)['ops']
    for name, op in PLANTED.items():
        n_tests += 1
        title = f'{n_tests} {name} is found in {os.path.basename(os.path.dirname(model))}'
        if op not in ops:
            print(f'ok {title} # SKIP no {op} there')
            continue
        try:
            print(f'ok {title} # {check(model, name)}', flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            n_failed += 1
            print(f'not ok {title}\n# {error}', flush=True)
print(f'1..{n_tests}')
sys.exit(n_failed > 0)
