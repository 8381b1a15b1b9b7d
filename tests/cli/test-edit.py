#!/usr/bin/python3
"""What `irscope edit` and `irscope extract` do to graphs, and what they say where they cannot; prints TAP.

    test-edit.py IRSCOPE SOURCE_ROOT"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
DIGITS = os.path.join(ROOT, 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-edit-')
failures = n_checks = 0


def check(what, ok, detail=''):
    global failures, n_checks
    n_checks += 1
    failures += not ok
    print('ok' if ok else 'not ok', n_checks, '-', what)
    if not ok:
        print('#', str(detail)[:2000].replace('\n', '\n# '))


def irscope(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def path(name):
    return os.path.join(WORK, name)


def edit(file, *acts, out=None):
    """(exit status, JSON or None, what stderr says)"""
    words = ['edit'] + ([file] if file else [])
    for act in acts:
        words += ['--do', act]
    status, text, complaint = irscope(*words, '--json', *(['-o', out] if out else []))
    return status, json.loads(text) if text else None, complaint


def done(file, *acts, out='out.onnx'):
    """Edits, and says where the graph is; it is to have no errors."""
    status, answer, complaint = edit(file, *acts, out=path(out))
    errors = [p for p in (answer or {}).get('problems', []) if p['severity'] == 'error']
    if status != 0 or errors:
        print('#', acts, status, complaint, errors)
        return path('missing.onnx')
    return path(out)


def outputs(file, *options):
    """What the outputs hold, as it is printed."""
    status, text, complaint = irscope('run', file, *options)
    found = {}
    for line in text.splitlines() if status == 0 else ():
        words = line.split(None, 2)
        if len(words) == 3 and '[' in words[1]:
            found[words[0]] = words[2]
    return found or {'failed': complaint}


def info(file):
    status, text, complaint = irscope('info', file, '--json')
    return json.loads(text) if status == 0 else {'failed': complaint}


def refused(what, file, *acts, says, because=2):
    target = path('refused.onnx')
    status, _, complaint = edit(file, *acts, out=target)
    check(f'refuses {what}', status == because and not os.path.exists(target) and all(s in complaint for s in says),
          (status, complaint))


def same(a, b, *options):
    return irscope('diff', a, b, '--values', *options)[1]


def npy(name, dtype, shape, numbers, code):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += ' ' * ((-len(header) - 11) % 64) + '\n'
    with open(path(name), 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() +
                struct.pack(f'<{len(numbers)}{code}', *numbers))
    return path(name)


# -- from nothing --

worked = done(None, 'input x1 float', 'input x2 float', 'add Log x1 name=ln', 'add Mul x1 x2 name=product',
              'add Sin x2 name=sine', 'add Add ln product name=sum', 'add Sub sum sine name=difference',
              'output difference f', out='worked.onnx')
f = outputs(worked, '--value', 'x1=2', '--value', 'x2=5').get('f', '')
check('the worked example is drawn from nothing', f.startswith('11.652'), f)

branches = done(None, 'input x float[2]', 'input c bool', 'add If c x name=choice',
                'add Relu x in=choice:then_branch name=r', 'connect r then_value 0',
                'add Neg x in=choice:else_branch name=n', 'connect n else_value 0', 'output choice y', out='if.onnx')
for c, wanted in ((1, [0, 2]), (0, [1, -2])):
    y = outputs(branches, '--value', f'c={c}', '--value', 'x=-1,2').get('y', '')
    check(f'an If is drawn from nothing, and gives {wanted}', y == str(wanted), y)

loop = done(None, 'input x float[2]', 'add-constant times 3', 'add-constant yes "bool {1}"', 'add Loop times yes x name=again',
            'add-constant two 2.0 in=again:body', 'insert Mul v_in two at=v_out:0', 'output again y', out='loop.onnx')
y = outputs(loop, '--value', 'x=1,2').get('y', '')
check('a Loop is drawn from nothing', y == '[8, 16]', y)

check('what was drawn from nothing stands for nothing else', 'lineage' not in open(done(
    None, 'input x float', 'add Relu x name=r', 'output r y', out='plain.onnxtxt')).read())

# -- each act on the digits network --

steps = edit(DIGITS, 'rename /fc/Gemm head', 'rename-value probabilities p')[1]['steps']
check('each act is a step that says what it did',
      [s['act'] for s in steps] == ['rename', 'rename-value'] and steps[0]['nodes'][0]['name'] == 'head', steps)
renamed = info(done(DIGITS, 'rename-value probabilities p'))
check('an output is renamed', [o['name'] for o in renamed['outputs']] == ['p'], renamed)
middle = done(DIGITS, 'output /fc/Gemm_output_0 logits')
check('any value becomes an output', set(outputs(middle)) == {'probabilities', 'logits'}, outputs(middle))
fixed = info(done(DIGITS, 'dim batch 4'))
check('a free size is fixed, in outputs too', fixed['inputs'][0]['shape'] == [4, 1, 8, 8] and
      fixed['outputs'][0]['shape'] == [4, 10], fixed['outputs'])
half = info(done(DIGITS, 'convert float float16', out='half.onnx'))
check('the model is converted to float16', half['inputs'][0]['dtype'] == half['outputs'][0]['dtype'] == 'float16', half['inputs'])
check('and it runs', 'probabilities' in outputs(path('half.onnx')), '')
wrapped = done(DIGITS, 'wrap Head /fc/Gemm /fc/Add', out='wrapped.onnx')
check('wrapped nodes are a call that gives the same bits', 'the same, bit for bit' in same(DIGITS, wrapped), same(DIGITS, wrapped))
twice = done(DIGITS, 'duplicate /fc/Gemm /fc/Add', 'output /fc/Add_2 twin', 'output /fc/Add once')
found = outputs(twice)
check('duplicates read what the originals read', 'twin' in found and found['twin'] == found['once'] and
      len(found) == 3, found)
bypassed = done(DIGITS, 'bypass /block/relu2/Relu')
check('a node is bypassed', info(bypassed)['ops']['Relu'] == info(DIGITS)['ops']['Relu'] - 1, '')
check('bypass what was inserted, and the graph is what it was', 'the same, bit for bit' in same(DIGITS, done(
    DIGITS, 'insert Relu /fc/Gemm_output_0 name=extra', 'bypass extra')), '')
weights = npy('bias.npy', '<f4', '(10,)', [100.0 if i == 3 else 0.0 for i in range(10)], 'f')
biased = outputs(done(DIGITS, f'constant fc.bias {weights}')).get('probabilities', '')
check('a constant is replaced from .npy', [float(v) > 0.99 for v in biased.strip('[]').split(',')] ==
      [i == 3 for i in range(10)], biased)
status, opened, _ = edit(DIGITS, 'delete /fc/Gemm')
check('what read a deleted node is left open, and said', status == 0 and any(p['node'] == '/fc/Add' for p in opened['problems']), opened)
check('an opset is changed', info(done(worked, 'opset 16'))['opsets'] == {'ai.onnx': 16}, '')
written = path('attr.onnxtxt')
done(DIGITS, 'set /fc/Gemm alpha=0.5 transB=1', out='attr.onnxtxt')
text = open(written).read()
check('attributes are set by name', 'alpha: float = 0.5' in text or 'alpha = 0.5' in text, re.findall('Gemm.*', text))

BRANCHY = os.path.join(ROOT, 'data/examples/if-branch.onnx')
for nodes in ('/warm/Relu /warm/Add', '/If', '/cold/Neg /cold/Mul'):
    wrapped = done(BRANCHY, f'wrap Part {nodes}', out='part-of-if.onnx')
    check(f'{nodes} wrapped, in a branch or with its branches', 'the same, bit for bit' in same(BRANCHY, wrapped),
          same(BRANCHY, wrapped))
twin = outputs(done(BRANCHY, 'duplicate /If', 'output /If_2 z', 'output /If'))
check('an If is duplicated with its branches', twin.get('z') == twin.get('chosen') is not None, twin)

# -- paste: what another graph says, in text --

text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
pasted = done(None, f"paste '{text}'", f"paste '{text}'", 'output y_1 z')
check('a text is pasted twice over', [i['name'] for i in info(pasted)['inputs']] == ['x'] and
      [o['name'] for o in info(pasted)['outputs']] == ['y', 'z'], info(pasted))

# -- extract --

status, answer, complaint = irscope('extract', DIGITS, '--from', '/conv1/Conv_output_0', '--to', '/fc/Gemm_output_0',
                                    '-o', path('part.onnx'), '--json')
part = json.loads(answer) if answer else {}
check('the nodes between two values are a model', status == 0 and part['inputs'][0]['name'] == '/conv1/Conv_output_0' and
      part['outputs'][0]['name'] == '/fc/Gemm_output_0', complaint)
check('and it runs', '/fc/Gemm_output_0' in outputs(path('part.onnx')), outputs(path('part.onnx')))
for ends, says in ((('--from', 'probabilities', '--to', '/conv1/Conv_output_0'), 'is computed from it'),
                   (('--to', 'image'), 'computed by no node'), (('--to', 'nothing'), "no value 'nothing'")):
    status, _, complaint = irscope('extract', DIGITS, *ends, '-o', path('none.onnx'))
    check(f'extract {" ".join(ends)} says why not', status == 2 and says in complaint, complaint)
status, _, complaint = irscope('extract', branches, '--to', 'then_value', '-o', path('none.onnx'))
check('a part does not begin in a branch', status == 2 and 'main graph' in complaint, complaint)

# -- what is refused, with what was found and what to do --

masked = path('masked.onnxtxt')
with open(masked, 'w') as f:
    f.write('<ir_version: 8, opset_import: ["" : 17]>\n'
            'g (float[2,4] x) => (float[2,4] y, bool[2,4] z) { [drop] d, m = Dropout (x)  y = Neg (d)  z = Not (m) }\n')
refused('to bypass a node whose other output is read', masked, 'bypass drop', says=['its output m is read'])
done(masked, 'delete z', 'bypass drop', out='unmasked.onnx')
refused('an unknown operator', worked, 'add Rleu x1', says=["'Rleu'", 'is it Relu?'])
logic = path('logic.onnxtxt')
with open(logic, 'w') as f:
    f.write('<ir_version: 8, opset_import: ["" : 20]>\ng (float[3] x, bool[3] p, int64[3] i, string[3] s) => (a, n, w)\n'
            '{ [and] a = And (p, p) [not] n = Not (p) [where] w = Where (p, x, x) }')
for act, says in (('connect x and 1', 'input 1 is float, and needs to be bool'), ('connect i not 0', 'needs to be bool'),
                  ('connect x where 0', 'input 0 is float, and needs to be bool'), ('add BitwiseNot x', 'needs to be integers'),
                  ('add Gather x x', 'input 1 is float, and needs to be int32 or int64'), ('add Exp s', 'needs to be floating-point numbers'),
                  ('add IsNaN i', 'needs to be floating-point numbers'), ('add StringConcat x s', 'needs to be string')):
    refused(f'{act}, by the element types that the operator takes', logic, act, says=[says])
refused('an unknown value', worked, 'add Relu x9', says=["no value 'x9'", '#N'])
refused('an unknown act', worked, 'frobnicate x', says=["'frobnicate'", '--acts'])
refused('an input with its type in the name', worked, 'input "extra bool[2]" float[1]', says=["'extra bool[2]'", "name it 'extra'", 'type bool[2]'])
refused('too few words', worked, 'rename ln', says=['has 1 words', 'NODE NAME'])
refused('types that do not fit', branches, 'add And x c', says=['bool', 'float'])
refused('elements that do not fit', branches, 'add Sin c', says=['Sin', 'bool', 'floating-point'])
refused('shapes that do not fit', DIGITS, 'connect image /fc/Add 0', says=['/fc/Add'])
refused('a circle', worked, 'connect difference ln 0', says=['cycle'])
refused('a negative size', worked, 'type x1 float[-3]', says=['no size'])
refused('a size beyond 64 bits', worked, 'type x1 float[99999999999999999999]', says=['no size'])
refused('a circle through a branch', branches, 'connect y r 0', says=['a branch or body of it'])
refused('a value of another branch', branches, 'connect r n 0', says=['then_branch', 'else_branch'])
refused('an operator of a later opset', worked, 'add Gelu x1', says=['opset 20', '17'])
refused('a name that is taken', worked, 'rename ln sum', says=["'sum'", 'already'])
refused('a value name that is taken', worked, 'rename-value f x1', says=["'x1'", 'already'])
refused('an attribute that there is not', DIGITS, 'set /fc/Gemm alhpa=1', says=["'alhpa'", 'alpha'])
refused('an attribute of another kind', DIGITS, 'set /fc/Gemm transB=yes', says=["'yes'", 'transB'])
refused('a file of other elements', DIGITS, f'constant fc.bias {npy("d.npy", "<f8", "(10,)", [0.0] * 10, "d")}',
        says=['float', 'double'])
refused('a file of another shape', DIGITS, f'constant fc.bias {npy("s.npy", "<f4", "(7,)", [0.0] * 7, "f")}', says=['/fc/Add'])
refused('a file that is not there', DIGITS, 'constant fc.bias nowhere.npy', says=['nowhere.npy'], because=3)
refused('a free size that there is not', DIGITS, 'dim seq 4', says=["'seq'", 'batch'])
refused('too few numbers', worked, "add-constant w 'float[8,8] {0.5}'", says=['64 elements are needed', 'there are 1\n'])
refused('numbers of no type', worked, "add-constant w 'flot[2] {1,2}'", says=["'flot[2]' is no type"])
refused('what is no number', worked, "add-constant w 'float[2] {1,a}'", says=['a number is needed, found "a}"\n'])
refused('a function that would be left and come back to', DIGITS, 'wrap Both /conv1/Conv /fc/Add', says=['choose it too'])
refused('nodes of several graphs', branches, 'duplicate choice r', says=['one graph'])
refused('an opset of other forms', DIGITS, 'opset 6', says=['opset 6'])
refused('a text that is none', worked, "paste 'y = Relu (x'", says=['cannot be pasted'])
refused('to delete what a branch gives', branches, 'delete then_value', says=['has to give as much'])

print(f'1..{n_checks}')
sys.exit(failures > 0)
