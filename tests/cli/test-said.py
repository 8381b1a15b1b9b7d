#!/usr/bin/python3
"""What commands say of the examples in JSON, what they write of them and how they refuse: a hash for each part of it is in
tests/cli/said.txt. Measured times are left out, and of fractions all but four digits. Prints TAP.

    test-said.py IRSCOPE SOURCE_ROOT [--only COMMAND]..
    test-said.py IRSCOPE SOURCE_ROOT --bless          writes said.txt anew; read why before committing it
    test-said.py IRSCOPE SOURCE_ROOT --show COMMAND   what is hashed, to compare with another build's
    test-said.py IRSCOPE SOURCE_ROOT --list           the commands"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

from tap import run_tests, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
KEPT = os.path.join(ROOT, 'tests/cli/said.txt')
WORK = tempfile.mkdtemp(prefix='irscope-said-')
PLAN = '--threads 1 --random 1 --device ref'  # the same on every machine
TIMED = re.compile(r'(^|_)(ms|ns|us|s|seconds|duration|gflops|gbps|rss)$|time|measured')
EXAMPLES = {name.split('.')[0]: name for name in sorted(os.listdir(os.path.join(ROOT, 'data/examples')), reverse=True)
            if name.endswith(('.onnx', '.onnxtxt'))}

# Of each the words; a name of an example stands for its file, OUT for a file whose contents are held, too.
COMMANDS = [
    *(f'info {name}' for name in sorted(EXAMPLES)),
    *(f'summary {name}' for name in ('digits', 'transformer-block', 'nested-loops', 'if-branch')),
    'summary digits -p default',
    *(f'check {name}' for name in ('digits', 'beam-search', 'mindspore-while')),
    *(f'run {name} --capture all {PLAN}' for name in ('digits', 'transformer-block', 'if-branch', 'while-newton', 'nested-loops')),
    f'run digits --capture all --capture-budget 20K {PLAN}',
    f'run digits --check all {PLAN}',
    f'play while-newton {PLAN}',
    f'play nested-loops {PLAN}',
    *(f'optimize {name} -p default -o OUT.onnxtxt' for name in ('digits', 'transformer-block', 'if-branch', 'nested-loops', 'while-newton')),
    f'optimize digits -p default --prove {PLAN}',
    'steps digits -p default',
    'steps transformer-block -p default',
    'steps nested-loops -p default',
    'diff digits@0 digits@9 -p default',
    'diff digits transformer-block',
    f'bisect digits -p default --fail nodes<30 {PLAN}',
    f'bisect transformer-block -p default --fail flops<17000 --prove {PLAN}',
    f'reproduce digits --pass fuse-activation --fail nodes<40 -o OUT {PLAN}',
    f'steps transformer-block -p default --prove {PLAN}',
    'diff transformer-block@0 transformer-block@3 -p default', 'diff nested-loops while-newton',
    *(f'why digits {rule} {node}' for rule, node in (
        ('fuse-conv-relu', '/conv1/Conv'), ('fold-conv-bn', '/bn1/BatchNormalization'), ('fold-constants', '/Identity'),
        ('cancel-transposes', '/Transpose'), ('merge-nodes', '/relu1/Relu'))),
    'trace-node digits /conv1/Conv -p default', 'trace-node digits /bn1/BatchNormalization -p default',
    'trace-node digits /Identity -p default',
    'find digits op:Conv', 'find transformer-block op:MatMul', 'find digits --reached-by /conv2/Conv --within 2',
    'find digits --reaches /conv2/Conv', 'find digits --between /conv1/Conv,/conv2/Conv', 'find nested-loops op:Add',
    'tensor digits conv1.weight', 'tensor digits bn1.bias', f'tensor digits /conv1/Conv_output_0 {PLAN}',
    f'tensor while-newton loop@3/better {PLAN}',
    'extract digits --from /relu1/Relu_output_0 --to /relu2/Relu_output_0 -o OUT.onnxtxt',
    *(f'schedule transformer-block --policy {policy}' for policy in ('list', 'ios', 'memory')),
    'schedule digits', 'schedule transformer-block --workers 3', 'schedule nested-loops', 'schedule digits --parallel on',
    'memory digits', 'memory digits --budget 80%', 'memory digits --at-peak --order memory', 'memory digits --separate', 'memory digits --parallel on',
    'memory digits --why /relu1/Relu_output_0', 'memory transformer-block', 'memory nested-loops',
    'memory if-branch', 'memory while-newton',
    *(f'grad worked-example --wrt all {how} {PLAN}' for how in (
        '', '--mode forward', '--mode symbolic --simplify', '--mode tape', '--mode numeric --sweep', '--order 2', '--jacobian')),
    f'grad digits --of probabilities --wrt params --layers {PLAN}',
    f'grad digits --of probabilities --wrt params --budget 95% {PLAN}',
    f'gradcheck worked-example {PLAN}',
    *(f'bisect digits --fail {expression}' for expression in ('nodes!3', 'nodes<x', 'nodes<3;', '(nodes<3')),
    'find digits op:', 'find digits flops>x', 'tensor digits nothing', 'memory digits --budget 3x', 'memory digits --why nothing',
    'why digits nothing /conv1/Conv', 'why digits fold-conv-bn nothing', 'trace-node digits nothing', 'run digits --fill image=odd',
    'run digits --shape image=3x', 'run digits --value image=1,2', 'schedule digits --policy nothing', 'diff digits@99 digits',
    'grad digits --of nothing', 'grad worked-example --wrt nothing', 'optimize digits --pass nothing', 'optimize digits --set x.y=1',
    'extract digits --from nothing --to probabilities -o OUT.onnx',
    *(f'convert {name} OUT.{kind}' for name in ('digits', 'nested-loops') for kind in ('onnxtxt', 'json', 'dot')),
    # all that a pass, a derivative, a training, a run and a plan say of themselves
    *(f'steps {name} -p default --{what}' for name in ('digits', 'transformer-block') for what in ('summary', 'scoreboard', 'at 2')),
    *(f'grad {name} --explain {value} {PLAN}' for name, value in (
        ('digits', 'conv1.weight --of probabilities'), ('worked-example', 'x1'), ('while-newton', 'x --value x=2'))),
    f'grad worked-example --hvp x1=1 --wrt inputs {PLAN}', f'grad worked-example --mode numeric --method complex {PLAN}',
    f'grad while-newton --wrt inputs --mode tape {PLAN}', f'grad transformer-block --wrt all --layers -o OUT.onnxtxt {PLAN}',
    f'gradcheck digits --of probabilities --op Conv {PLAN}', f'gradcheck worked-example --order 2 {PLAN}',
    f'diff digits@0 digits@9 -p default --values {PLAN}', f'diff worked-example@0 worked-example --gradients --wrt inputs {PLAN}',
    f'diff digits@0 digits@9 -p default --values --table OUT.csv --sort abs {PLAN}', f'diff while-newton --iterations 1:3 {PLAN}',
    *(f'play {name} --summary {PLAN}' for name in ('while-newton', 'nested-loops', 'if-branch', 'beam-search')),
    f'run while-newton --watch max>1 {PLAN}', f'run digits --watch zeros {PLAN}', f'run digits --break dead>25% {PLAN}',
    f'run digits --budget 80% --nodes {PLAN}', f'run nested-loops --capture all --iterations last:2 {PLAN}', f'run digits --check plan --parallel on {PLAN}',
    'memory digits --events', 'memory transformer-block --budget 60%', 'memory digits --capacity 20000', 'memory transformer-block --at-peak --parallel on',
    'schedule digits --policy ios --max-group 2', 'schedule digits --policy list --workers 2',
    'summary digits --sort bytes --tensors 3', 'summary transformer-block --sort intensity --depth 2', 'find transformer-block flops>100',
    *(f'tensor digits conv1.weight --{what}' for what in ('find >0.5', 'histogram log', 'histogram symmetric', 'values 7 --format bits', 'out OUT.csv')),
    f'bisect digits -p default --fail max_abs(probabilities)>2 --over kernels {PLAN}',
]


def masked(said, is_timed):
    """What is the same wherever and whenever the command runs."""
    if isinstance(said, dict):
        return {key: 'time' if is_timed and TIMED.search(key) else masked(value, is_timed) for key, value in said.items()}
    if isinstance(said, list):
        return [masked(value, is_timed) for value in said]
    if isinstance(said, float):
        return f'{said:.4g}'
    if isinstance(said, str):
        return said.replace(WORK, 'WORK').replace(ROOT, 'ROOT')
    return said


def parts_of(command):
    """{key of the command's answer, or a file: text}"""
    words = []
    for word in command.split():
        name, at, step = word.partition('@')
        words.append(os.path.join(ROOT, 'data/examples', EXAMPLES[name]) + at + step if name in EXAMPLES else
                     word.replace('OUT', os.path.join(WORK, 'out')))
    takes_json = words[0] != 'convert'
    done = subprocess.run([PROGRAM, *words, *(['--json'] if takes_json else [])], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={**os.environ, 'ONEDNN_MAX_CPU_ISA': 'SSE41'})
    said = json.loads(done.stdout) if takes_json and done.stdout and done.returncode < 2 else {}
    said = said if isinstance(said, dict) else {'all': said}
    is_timed = words[0] not in ('schedule', 'memory') or 'search_ms' in said
    found = {key: json.dumps(value, indent=1, ensure_ascii=False) for key, value in masked(said, is_timed).items()}
    for name in os.listdir(WORK):
        with open(os.path.join(WORK, name), encoding='latin-1') as file:
            found[name] = file.read()
        os.remove(os.path.join(WORK, name))
    found['status'] = str(done.returncode)
    if done.returncode not in (0, 1):
        found['error'] = masked(done.stderr, False)
    return found


def hashes(command):
    return {key: hashlib.sha1(text.encode()).hexdigest()[:8] for key, text in parts_of(command).items()}


def kept():
    lines = {}
    if os.path.exists(KEPT):
        with open(KEPT, encoding='utf-8') as file:
            for line in file:
                command, found = line.rstrip('\n').split(': ', 1)
                lines[command] = dict(word.rsplit('=', 1) for word in found.split())
    return lines


def add(command):
    @test(command)
    def _said():
        wanted, found = kept().get(command), hashes(command)
        assert wanted is not None, 'said.txt does not have it; --bless writes it'
        other = sorted(key for key in {*wanted, *found} if wanted.get(key) != found.get(key))
        assert not other, f'it says something else of {", ".join(other)}; --show says what'


def main():
    options = sys.argv[3:]
    if options[:1] == ['--bless']:
        with open(KEPT, 'w', encoding='utf-8') as file:
            for command in COMMANDS:
                file.write(f'{command}: {" ".join(f"{key}={value}" for key, value in hashes(command).items())}\n')
    elif options[:1] == ['--show']:
        for key, text in parts_of(options[1]).items():
            print(f'{key}: {text}')
    elif options == ['--list']:
        print(*COMMANDS, sep='\n')
    else:
        chosen = options[1::2] or COMMANDS
        for command in chosen:
            add(command)
        run_tests()


main()
