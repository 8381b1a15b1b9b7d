#!/usr/bin/python3
"""Graphs whose nodes wait for each other: what needs an order refuses them, names the nodes and writes
nothing; the rest shows where they are. Prints TAP.

    test-cycles.py IRSCOPE SOURCE_ROOT"""

import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
WORK = tempfile.mkdtemp(prefix='irscope-cycles-')
OUT = os.path.join(WORK, 'out.onnx')
BRANCHES = ('then_branch = th () => (float[4] u) { [a] p = Add (x, q)\n[d] q = Neg (p)\nu = Abs (q) }, '
            'else_branch = el () => (float[4] v) { v = Abs (x) }')
GRAPHS = {'of two nodes': 'y = Abs (c)\n[a] b = Add (x, c)\n[d] c = Neg (b)',
          'of one node': 'y = Abs (c)\n[a] c = Add (x, c)',
          'in a branch': 'k = Constant <value_int = 1> ()\nl = Cast <to = 9> (k)\n' + f'y = If (l) <{BRANCHES}>'}
NEED_ORDER = [['run'], ['bench'], ['schedule'], ['memory'], ['kernels'], ['tensor', 'y'], ['optimize', '-o', OUT],
              ['run', '--pipeline', 'basic'], ['steps'], ['grad'], ['gradcheck'], ['why', 'fuse-bias', 'a'],
              ['bisect', '--fail', 'nodes > 9']]


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr


def problem_with(file):
    for words in [*NEED_ORDER, ['diff', file, '--values']]:
        code, err = irscope(words[0], file, *words[1:])
        if code != 2 or 'a (Add) -' not in err or '→ a (Add)' not in err or 'cut one' not in err or os.path.exists(OUT):
            return f'{words}: exit {code}, {err[:300]}'
    if irscope('check', file)[0] != 1 or irscope('info', file)[0] != 0:
        return 'check or info'
    picture = os.path.join(WORK, 'cycle.svg')
    if irscope('render', file, '--cycle', '-o', picture)[0] != 0:
        return 'render --cycle'
    drawn = open(picture).read()
    return 'not the cycle alone is drawn' if '>Abs<' in drawn or '>Add<' not in drawn else None


results = []
for kind, body in GRAPHS.items():
    path = os.path.join(WORK, 'cycle.onnxtxt')
    with open(path, 'w') as file:
        file.write(f'<ir_version: 8, opset_import: ["" : 17]>\ng (float[4] x) => (float[4] y) {{\n{body}\n}}\n')
    results.append((f'a cycle {kind} is refused, named and drawn', problem_with(path)))
digits = os.path.join(ROOT, 'data/examples/digits.onnx')
code, err = irscope('render', digits, '--cycle', '-o', OUT)
results.append(('a graph without a cycle has none to draw', None if code == 2 and 'has none' in err else err))

print(f'1..{len(results)}')
for i, (name, problem) in enumerate(results, 1):
    print(f'{"ok" if problem is None else "not ok"} {i} - {name}')
    if problem is not None:
        print(f'# {problem}')
sys.exit(any(problem is not None for _, problem in results))
