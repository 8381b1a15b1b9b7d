#!/usr/bin/python3
"""What `irscope diff --values` says is the same value in two graphs, and whether it calls what differs
rounding; prints TAP.

    test-values.py IRSCOPE SOURCE_ROOT"""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-values-')
failures = 0
NET = ('<ir_version: 8, opset_import: ["" : 17]>\n'
       'g (float[2,4] x) => (float[2,3] y) <float[4,3] w = {{1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0,12.0}}, '
       'float[3] b = {{{0},{0},{0}}}> {{ [fc] h = Gemm ({1}) [act] y = Relu (h) }}')


def check(number, what, ok, detail):
    global failures
    failures += not ok
    print('ok' if ok else 'not ok', number, '-', what)
    if not ok:
        print('#', json.dumps(detail)[:2000])


def numbers_of(a, b):
    done = subprocess.run([PROGRAM, 'diff', '--values', a, b, '--json'], capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)['numbers']


def net(name, bias, inputs):
    path = os.path.join(WORK, name)
    with open(path, 'w') as f:
        f.write(NET.format(bias, inputs))
    return path


def is_rounding(numbers):
    """All values are paired by their names, which passes keep, and each has a bound that it is within."""
    return (numbers['compared'] > 5 and numbers['diverge'] == 0 and
            all(v['a'] == v['b'] and v['judged_by'] in ('inherited', 'rows', 'float64') and
                ('bound' not in v or v['alone'] <= v['bound']) for v in numbers['values']))


optimized = os.path.join(WORK, 'optimized.onnx')
subprocess.run([PROGRAM, 'optimize', DIGITS, '-o', optimized], check=True, capture_output=True)
without, biased, wrong = net('a.onnxtxt', 0.002, 'x, w'), net('b.onnxtxt', 0.002, 'x, w, b'), net(
    'c.onnxtxt', 0.0021, 'x, w, b')
print('1..6')
for number, (a, b) in enumerate(((optimized, DIGITS), (DIGITS, optimized), (DIGITS, DIGITS + '@20')), 1):
    found = numbers_of(a, b)
    check(number, f'{os.path.basename(a)} and {os.path.basename(b)} agree up to rounding', is_rounding(found), found)
for number, (a, b) in enumerate(((without, biased), (biased, without), (wrong, biased)), 4):
    found = numbers_of(a, b)
    h = next((v for v in found['values'] if v['b'] == 'h'), {'diverges': False})
    check(number, f'{os.path.basename(a)} and {os.path.basename(b)}: a bias is no rounding',
          h['diverges'] and h['alone'] > h['bound'] > 0 and found['diverge'] == 2, found)
sys.exit(failures > 0)
