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
WHILE = """<ir_version: 10, opset_import: ["" : 21, "irscope.flow" : 1]>
g (int64 n) => (int64 y) {
zero = Constant <value_int = 0> ()
one = Constant <value_int = 1> ()
i0 = irscope.flow.Enter <frame_name = "while"> (zero)
n1 = irscope.flow.Enter <frame_name = "while", is_constant = 1> (n)
i = irscope.flow.Merge (i0, i3)
c = Less (i, n1)
p = irscope.flow.LoopCond (c)
i1, ib = irscope.flow.Switch (i, p)
i2 = Add (ib, one)
i3 = irscope.flow.NextIteration (i2)
y = irscope.flow.Exit (i1)
}
"""
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
path = os.path.join(WORK, 'while.onnxtxt')
with open(path, 'w') as file:
    file.write(WHILE)


def ways_of_a_loop():
    """What closes a loop is no cycle: it is checked, ordered, optimized, written, run and drawn."""
    if irscope('check', path)[0] != 0 or irscope('render', path, '--cycle', '-o', OUT)[0] != 2:
        return 'check, or render --cycle'
    for name in ['while.json', 'while.onnx', 'again.onnxtxt']:
        other = os.path.join(WORK, name)
        raised = name.endswith('.onnx')  # ONNX has no tokens
        for words, status in [(['convert', path, other], 0), (['diff', path, other], raised), (['run', other, '--value', 'n=5'], 0)]:
            if irscope(*words)[0] != status:
                return f'{words}: {irscope(*words)[1]}'
    if irscope('optimize', path, '-o', os.path.join(WORK, 'while.onnx'))[0] != 0:
        return 'optimize'
    drawn = subprocess.run([PROGRAM, 'render', path, '-o', os.path.join(WORK, 'while.svg')], capture_output=True)
    return None if drawn.returncode == 0 else 'render'


results.append(('NextIteration to Merge closes a loop', ways_of_a_loop()))
digits = os.path.join(ROOT, 'data/examples/digits.onnx')
code, err = irscope('render', digits, '--cycle', '-o', OUT)
results.append(('a graph without a cycle has none to draw', None if code == 2 and 'has none' in err else err))

print(f'1..{len(results)}')
for i, (name, problem) in enumerate(results, 1):
    print(f'{"ok" if problem is None else "not ok"} {i} - {name}')
    if problem is not None:
        print(f'# {problem}')
sys.exit(any(problem is not None for _, problem in results))
