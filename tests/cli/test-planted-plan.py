#!/usr/bin/python3
"""Plans that are wrong on purpose: bisection names the decision and the values; and plans that are right,
without decisions and with checks; prints TAP.

    test-planted-plan.py IRSCOPE_PLANTED_PLAN SOURCE_ROOT

IRSCOPE_PLANTED_PLAN is irscope with the faults of tests/cli/planted-plan.c."""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
DIGITS = os.path.join(sys.argv[2], 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-planted-plan-')
FILE = os.path.join(WORK, 'graph.txt')
OTHER = os.path.join(WORK, 'integers.txt')
FAIL = ('--fail', 'max_abs(*) > 0.01')
GRAPH = '''<ir_version: 8, opset_import: ["" : 17]>
g (float[1,8,12,12] x, float[512,600] z, float[16,64] q, float[1,8,10,10] k)
  => (float[1,8,12,12] y, float[1,8,12,12] c2, float[512,600] e, float[64,16] r, float[16,256] n)
<float[8,8,3,3] w = {%s}, float[64,256] b = {%s}> {
  c1 = Conv <pads = [1,1,1,1]> (x, w)
  c2 = Conv <pads = [1,1,1,1]> (c1, w)
  y = Transpose <perm = [0,1,3,2]> (c1)
  e1 = Neg (z)
  e2 = Relu (e1)
  e = Abs (e2)
  t0 = Sin (q)
  t1 = Transpose <perm = [1,0]> (t0)
  r = Neg (t1)
  n = MatMul (q, b)
}
'''
# Of each a zero point of the whole constant, none, and one for each channel, which is not packed.
PACKED = {'MatMulInteger': 'y = MatMulInteger (x, w, , z)', 'ConvInteger': 'y = ConvInteger (x4, w4)',
          'QLinearMatMul': 'y = QLinearMatMul (x, s, u, w, s, z, big, u)'}
INTEGERS = '''<ir_version: 8, opset_import: ["" : 17]>
g (uint8[3,40] x, uint8[1,2,6,6] x4) => (y)
<int8[40,5] w = {%s}, int8[4,2,3,3] w4 = {%s}, int8 z = {3}, int8[5] each = {1,2,3,4,5}, uint8 u = {9}, float s = {1}, float big = {50}> {
  %s
}
'''


def run(plant, *arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                          env={**os.environ, 'IRSCOPE_PLANT': plant})
    return done.returncode, done.stdout, done.stderr


def bisect(plant, *arguments, status=0, fail=FAIL):
    code, out, err = run(plant, 'bisect', FILE, '--over', 'plan', *fail, '--json', '--threads', '1', *arguments)
    assert code == status, (plant, code, out, err)
    return json.loads(out)


def check(plant, decision, values, **others):
    found = bisect(plant, **others)
    assert found['answer'] == 'found' and found['decisions'] == [decision] and found['over'] == 'plan', found
    assert found['step'] is None and found['steps'] == 0 and found['value'] > 0.01, found
    assert [v['name'] for v in found['values']] == values, found
    assert all(v['decision'] == decision and v['node'] for v in found['values']), found
    assert found['checks'] <= 7 + 2 * 6, found
    return found


def sharing():
    found = check('sharing', 'sharing', ['t1'])
    assert found['values'][0]['how'] == 'written over t0', found
    code, out, _ = run('sharing', 'bisect', FILE, '--over', 'plan', *FAIL)
    assert code == 0 and out.startswith('sharing: ') and '  sharing: t1, which ' in out and ': written over t0\n' in out, out


def blocks():
    code, out, _ = run('', 'schedule', FILE, '--json')
    if not any('writes NC' in (item.get('layout') or '') for item in json.loads(out)['items']):
        return 'no kernels over blocks for this machine'
    found = check('blocks', 'blocks', ['c1'])
    assert found['values'][0]['how'].startswith('in NCHW'), found


def chains():
    found = bisect('chains')
    assert found['decisions'] == ['chains'] and 1 <= len(found['values']) <= 3, found
    assert {v['name'] for v in found['values']} <= {'e1', 'e2', 'e'}, found


def prepack():
    check('prepack', 'prepack', [])


def integers():
    for op, line in {**PACKED, 'alone': 'y = MatMulInteger (x, w, , each)'}.items():
        with open(OTHER, 'w') as f:
            f.write(INTEGERS % (', '.join(str(i * 7 % 23 - 9) for i in range(200)), ', '.join(str(i % 11 - 3) for i in range(72)), line))
        code, out, err = run('prepack', 'bisect', OTHER, '--over', 'plan', *FAIL, '--json', '--fill', 'x=ones', '--fill', 'x4=ones')
        found = json.loads(out)
        if op == 'alone':
            assert code == 1 and found['answer'] == 'nothing-fails', (op, found, err)
        else:
            assert code == 0 and found['decisions'] == ['prepack'], (op, found, err)
    os.unlink(OTHER)


def diverges():
    stopped, = json.loads(run('prepack', 'run', FILE, '--break', 'diverges', '--json')[1])['stops']
    assert (stopped['op'], stopped['when'], stopped['break']) == ('MatMul', 'after', 'diverges'), stopped
    assert stopped['found'].startswith('n is off from what ref gives by '), stopped
    code, out, err = run('', 'run', FILE, '--break', 'diverges', '--json')
    assert code == 0 and json.loads(out)['stops'] == [], (code, out, err)


def nothing():
    found = bisect('', status=1)
    assert found['answer'] == 'nothing-fails' and found['checks'] == 2 and found['decisions'] == found['values'] == [], found
    always = bisect('', status=1, fail=('--fail', 'max_abs(*) > -1'))
    assert always['answer'] == 'original-fails' and always['checks'] == 1, always


def refused():
    for arguments in (['--over', 'plan', '--fail', 'nodes > 3'], ['--over', 'plan', '--prove', *FAIL],
                      ['--parallel', 'on', *FAIL], ['--over', 'plan', '--parallel', 'perhaps', *FAIL],
                      ['--over', 'plan', '--fail', 'max_abs(nobody) > 1']):
        code, out, err = run('', 'bisect', FILE, *arguments)
        assert code == 2 and not out and err, (arguments, code, out, err)


def answer(command, *arguments):
    code, out, err = run('', command, DIGITS, '--json', *arguments)
    assert code == 0, (command, arguments, code, err)
    return json.loads(out)


def without():
    whole = answer('run', '--check', 'all')['check']
    assert set(whole) == {'plan', 'ref'} and whole['plan']['kernels'] > 0, whole
    for decisions in ('blocks', 'sharing', 'chains', 'spans', 'prepack', 'blocks,sharing', 'all'):
        found = answer('run', '--without', decisions, '--check', 'plan,ref', '--parallel', 'on', '--threads', '2')['check']
        assert found['plan']['contradictions'] == [] and found['plan']['kernels'] > 0, (decisions, found)
        assert found['ref']['beyond'] == found['ref']['overwritten'] == 0, (decisions, found)
    assert set(answer('run', '--check', 'plan', '--without', 'blocks', '--without', 'sharing')['check']) == {'plan'}
    out = run('', 'run', DIGITS, '--check', 'plan')[1]
    assert f'plan checked at {whole["plan"]["kernels"]} kernels: 0 contradictions' in out, out
    peaks = [answer('run', *left_out)['peak_bytes'] for left_out in ([], ['--without', 'sharing'])]
    assert peaks[0] < peaks[1], peaks
    assert answer('bench', '--runs', '1', '--warmup', '0', '--without', 'all')
    for command, *arguments in (['run', '--without', 'nothing'], ['run', '--without', 'blocks,'],
                                ['run', '--check', 'plan,nothing'], ['bench', '--without', 'nothing']):
        code, out, err = run('', command, DIGITS, *arguments)
        assert code == 2 and not out and 'needs one of' in err and 'all' in err, (arguments, code, err)


with open(FILE, 'w') as f:
    f.write(GRAPH % (', '.join(str((i * 7 % 11 - 5) / 20) for i in range(576)),
                     ', '.join(str((i * 5 % 13 - 6) / 10) for i in range(64 * 256))))
tests = [sharing, blocks, chains, prepack, integers, diverges, nothing, refused, without]
n_failed = 0
print(f'1..{len(tests)}')
for number, test in enumerate(tests, 1):
    try:
        skipped = test()
        print(f'ok {number} {test.__name__}' + (f' # SKIP {skipped}' if skipped else ''))
    except Exception as problem:
        n_failed += 1
        print(f'not ok {number} {test.__name__}: {problem!r}')
os.unlink(FILE)
os.rmdir(WORK)
sys.exit(n_failed > 0)
