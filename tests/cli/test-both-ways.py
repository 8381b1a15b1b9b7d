#!/usr/bin/python3
"""The difference of two files is the same from either side: what is added in one direction is removed in
the other, and the rest is the same and changed in both. Over the examples and what is optimized from
them, and the graphs of tests/golden and what is expected of them; prints TAP.

    test-both-ways.py IRSCOPE SOURCE_ROOT"""

import glob
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
WORK = tempfile.mkdtemp(prefix='irscope-ways-')


def counts(a, b):
    done = subprocess.run([PROGRAM, 'diff', a, b, '--json'], capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)['counts'] if done.returncode in (0, 1) and done.stdout else None


def pairs():
    for path in sorted(glob.glob(os.path.join(ROOT, 'data/examples/*.onnx'))):
        made = os.path.join(WORK, os.path.basename(path))
        subprocess.run([PROGRAM, 'optimize', path, '-o', made], check=True, capture_output=True)
        yield path, made
    for path in sorted(glob.glob(os.path.join(ROOT, 'tests/golden/*/*.expect.onnxtxt'))):
        before = path.replace('.expect', '')
        if os.path.exists(before):
            yield before, path


wrong, n = [], 0
for a, b in pairs():
    there, back = counts(a, b), counts(b, a)
    if there is None or back is None:
        continue
    n += 1
    turned = {**back, 'added': back['removed'], 'removed': back['added']}
    if there != turned:
        wrong.append(f'{a} {b}: {there} and {back}')
print('1..1')
print('ok' if not wrong and n > 100 else 'not ok', f'1 - {n} differences are the same from either side')
for line in wrong:
    print('#', line)
sys.exit(bool(wrong))
