#!/usr/bin/env python3
"""Small files that ask for much: irscope must say so in words, within its limits, and not be killed.

    test-bombs.py IRSCOPE

Every command runs with an address space of 16 GiB, and is given up after two minutes, which counts as
a failure; how long it really takes is not looked at.
"""

import os
import resource
import subprocess
import sys
import tempfile

IRSCOPE = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory(prefix='irscope-bombs-')
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
HUGE = 1 << 40
count = 0
failed = 0


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def irscope(*arguments):
    done = subprocess.run([IRSCOPE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace',
                          preexec_fn=limited, timeout=120, env=dict(os.environ, OMP_NUM_THREADS='2'))
    return done.returncode, done.stdout, done.stderr


def bomb(name, text, *commands, status=(1, 2, 3), words=()):
    """Every command must end by itself with one of @status and, if it fails, with a message with one of @words."""
    global count, failed
    path = os.path.join(FOLDER.name, 'bomb.onnxtxt')
    with open(path, 'w') as file:
        file.write(text if text.startswith('<') else HEAD + text)
    for command in commands or (('run',),):
        count += 1
        try:
            code, _, err = irscope(command[0], path, *command[1:])
            ok = code in status and (code == 0 or (err.strip() != '' and 'irscope: pipeline' not in err
                                                 and (not words or any(w in err for w in words))))
            note = f'{code}: {err.strip()[:300]}'
        except subprocess.TimeoutExpired:
            ok, note = False, 'did not end'
        failed += not ok
        print('ok' if ok else 'not ok', count, '-', name, 'by', ' '.join(command))
        print('#', note.replace('\n', ' '))
        sys.stdout.flush()


ALL = (('run',), ('optimize', '--pipeline', 'default'), ('info',), ('schedule',), ('memory',))
READ = (0, 1, 2, 3)
LIMIT = ('limit', 'memory', 'too large', 'need', 'known', 'large', 'many')
big = '{' + f'{HUGE}' + '}'

for op, call in {
    'ConstantOfShape': 'y = ConstantOfShape (s)',
    'Expand': 'y = Expand (x, s)',
    'Tile': 'y = Tile (x, s)',
    'RandomNormal': f'y = RandomNormal <shape: ints = [{HUGE}]> ()',
    'Range': 'y = Range (zero, many, one)',
    'EyeLike': 'z = ConstantOfShape (two) y = EyeLike (z)',
}.items():
    bomb(f'a huge {op}', f'g (float[1] x) => (float[n] y) <int64[1] s = {big}, float zero = {{0}}, float one = {{1}}, '
         f'float many = {{1e12}}, int64[2] two = {{1048576, 1048576}}> {{ {call} }}'
         .replace('float[n] y', 'float[n] y' if op != 'EyeLike' else 'float[n, m] y'), *ALL, status=READ, words=LIMIT)
bomb('a huge Pad', f'g (float[1] x) => (float[n] y) <int64[2] p = {{0, {HUGE}}}> {{ y = Pad (x, p) }}', *ALL, status=READ, words=LIMIT)
bomb('a huge OneHot', f'g (int64[4] x) => (float[n, m] y) <int64 d = {{{HUGE}}}, float[2] v = {{0, 1}}> {{ y = OneHot (x, d, v) }}', *ALL,
     status=READ, words=LIMIT)
bomb('a huge Resize', 'g (float[1,1,4,4] x) => (float[a,b,c,d] y) <float[4] s = {1, 1, 1e6, 1e6}> { y = Resize (x, , s) }', *ALL, status=READ,
     words=LIMIT)
bomb('a huge input', f'g (float[{HUGE}] x) => (float[{HUGE}] y) {{ y = Neg (x) }}', *ALL, status=READ, words=LIMIT)
bomb('an outer product of long vectors', f'g (float[1048576,1] x) => (float[1048576,1048576] y) {{ t = Transpose (x) y = MatMul (x, t) }}', *ALL,
     status=READ, words=LIMIT)
bomb('sizes whose product overflows', 'g (float[4294967296,4294967296] x) => (float[n, m] y) { y = Neg (x) }', *ALL, status=READ, words=LIMIT)
bomb('doubling, sixty times', 'g (float[1] x0) => (float[n] x60) { ' + ' '.join(f'x{i + 1} = Concat <axis = 0> (x{i}, x{i})' for i in range(60)) + ' }',
     *ALL, status=READ, words=LIMIT)
bomb('constants that double, sixty times', 'g (float[1] x) => (float[n] y) <float[1] c0 = {1}> { '
     + ' '.join(f'c{i + 1} = Concat <axis = 0> (c{i}, c{i})' for i in range(60)) + ' y = Add (x, c60) }', *ALL, status=READ, words=LIMIT)
bomb('strings that double', '<ir_version: 8, opset_import: ["" : 20]>\ng () => (string y) <string c0 = {"abcdefgh"}> { '
     + ' '.join(f'c{i + 1} = StringConcat (c{i}, c{i})' for i in range(60)) + ' y = Identity (c60) }',
     ('run',), ('optimize', '--pipeline', 'default'), status=READ)

LOOP = '''g (float[1] x) => (float[1] y) <int64 n = {%d}, bool go = {1}> {
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[1] a) => (bool d, float[1] e) { d = Identity (c) e = Add (a, a) }>
}'''
bomb('a loop of 2^63 - 1 iterations', LOOP % (2**63 - 1), ('run',), status=(1, 3), words=('iterations',))
bomb('a loop of 2^63 - 1 iterations', LOOP % (2**63 - 1), ('optimize', '--pipeline', 'default'), ('info',), ('schedule',), ('memory',), status=READ)
SCAN = '''g (float[1000000] x) => (float[n, m] y) <int64 n = {%d}, bool go = {1}> {
  y = Loop (n, go) <body = b (int64 i, bool c) => (bool d, float[1000000] e) { d = Identity (c) e = Neg (x) }>
}'''
bomb('a loop that collects without end', SCAN % (2**63 - 1), ('run', '--memory-limit', '200M'), status=(1, 3), words=('limit', 'memory'))

nested, close = '', ''
for depth in range(3000):
    nested += f'v{depth} = If (c) <then_branch = t{depth} () => (float[1] r{depth}) {{ '
    close = f' r{depth} = Identity (v{depth + 1}) }}, else_branch = e{depth} () => (float[1] s{depth}) {{ s{depth} = Neg (x) }}> ' + close
bomb('three thousand branches in each other', 'g (float[1] x, bool c) => (float[1] v0) { ' + nested + 'v3000 = Neg (x)' + close + ' }',
     *ALL, status=READ)
FUNCTIONS = '<ir_version: 8, opset_import: ["" : 17, "f" : 1]>\ng (float[1] x) => (float[1] y) { y = f.f0 (x) }\n'
bomb('functions that call the next one twice, forty deep', FUNCTIONS
     + '\n'.join(f'<domain: "f", opset_import: ["" : 17, "f" : 1]>\nf{i} (x) => (y) {{ a = f.f{i + 1} (x) y = f.f{i + 1} (a) }}' for i in range(40))
     + '\n<domain: "f", opset_import: ["" : 17]>\nf40 (x) => (y) { y = Neg (x) }', *ALL, status=READ)
bomb('a function that calls itself', FUNCTIONS
     + '<domain: "f", opset_import: ["" : 17, "f" : 1]>\nf0 (x) => (y) { y = f.f0 (x) }', *ALL, status=READ)
bomb('brackets without end', 'g (float[1] x) => (float[1] y) { y = If (' + '(' * 100000 + ' }', *ALL, status=READ)
bomb('a time limit holds', LOOP % (2**63 - 1), ('run', '--time-limit', '0.05', '--max-iterations', '9000000000000000000'), status=(1, 3),
     words=('time',))

print(f'1..{count}')
sys.exit(failed != 0)
