#!/usr/bin/env python3
"""Names come from files, and what commands print must not steer the terminal.

    test-terminal.py IRSCOPE

Every command prints a graph whose names, symbols, documentation and strings hold control characters:
none but the line breaks of the program itself may come out, and none of the names may end a line.
"""

import os
import re
import subprocess
import sys
import tempfile

IRSCOPE = os.path.abspath(sys.argv[1])
FOLDER = tempfile.TemporaryDirectory(prefix='irscope-terminal-')
FILL = b'_' * 16
MARK = 'MARK'
# The title of a terminal, a line of its own, DEL, CSI of Latin-1, and a reset; as UTF-8 and as bytes that are none.
EVILS = {'utf8': b'\x1b]0;o\x07\n\x7f\xc2\x9b2J\r\t\x1bc', 'bytes': b'\x1b]0;o\x07\n\xff\x9b2J\r\t\x1bc!'}
TEXT = '''<ir_version: 8, opset_import: ["" : 17, "local_FILL" : 1], producer_name: "tool_FILL", doc_string: "doc_FILL",
 metadata_props: ["key_FILL": "value_FILL"]>
graph_FILL (float[n_FILL,1,3,3] x_FILL) => (float[n_FILL,1,3,3] y_FILL, string[1] s_FILL)
<float[1,1,1,1] w_FILL = {2}, float[1] b_FILL = {1}, string[1] t_FILL = {"text_FILL"}> {
  [conv_FILL] c_FILL = Conv (x_FILL, w_FILL, b_FILL)
  [relu_FILL] r_FILL = Relu (c_FILL)
  [call_FILL] f_FILL = local_FILL.fun_FILL (r_FILL)
  [same_FILL] i_FILL = Identity (f_FILL)
  [add_FILL] a_FILL = Add (i_FILL, i_FILL)
  [neg_FILL] m_FILL = Neg (a_FILL)
  [neg2_FILL] y_FILL = Neg (m_FILL)
  [str_FILL] s_FILL = Identity (t_FILL)
}
<domain: "local_FILL", opset_import: ["" : 17]>
fun_FILL (p_FILL) => (q_FILL) { [sig_FILL] q_FILL = Sigmoid (p_FILL) }
'''.replace('FILL', MARK + FILL.decode())
BROKEN = TEXT.replace('Neg (m_', 'Nag (m_').replace('Relu (c_', 'Relu (none_')
COMMANDS = (
    'info FILE', 'check FILE', 'check BROKEN', 'run FILE', 'run FILE --nodes --runs 2', 'run FILE --capture all', 'run BROKEN',
    'run FILE --input NAME=/dev/null', 'run FILE --shape NAME=x', 'run FILE --capture EVIL', 'kernels FILE --runs 1', 'schedule FILE',
    'schedule FILE --workers 2 --policy EVIL', 'memory FILE --shape n=2', 'memory FILE --why NAME', 'memory FILE --csv', 'memory FILE --budget 50%',
    'memory FILE --budget 50% --csv', 'memory FILE --why NAME --json', 'info FILE --json',
    'steps FILE --json', 'steps FILE --json --break rule=*', 'check BROKEN --json', 'optimize FILE --prove --json',
    'memory FILE --why EVIL', 'steps FILE', 'steps FILE --prove', 'steps FILE --at 1', 'steps FILE --scoreboard', 'steps FILE --break EVIL',
    'optimize FILE --prove', 'optimize FILE --pipeline EVIL', 'optimize FILE --skip EVIL', 'optimize FILE -o EVIL/EVIL.onnx',
    'diff FILE OTHER', 'diff FILE OTHER --values', 'diff FILE BROKEN', 'why FILE fuse-relu NODE', 'why FILE eliminate-identity NODE',
    'why FILE EVIL EVIL', 'trace-node FILE NODE', 'trace-node FILE EVIL', 'tensor FILE NAME', 'tensor FILE EVIL', 'tensor FILE STRING',
    'bisect FILE --fail nodes<7', 'bisect FILE --fail EVIL', 'reproduce FILE --fail nodes<7 -o DIR', 'bench FILE --runs 1 --warmup 0',
    'render FILE -o EVIL.xyz', 'render FILE --view EVIL -o x.svg', 'render FILE --why EVIL:EVIL -o x.svg', 'convert FILE EVIL.xyz', 'convert BROKEN EVIL/EVIL.onnx',
    'ops EVIL', 'passes EVIL', 'rules EVIL', 'conformance EVIL', 'EVIL', 'help EVIL', 'info --EVIL', 'info EVIL', 'info FILE@EVIL', 'info FILE EVIL', 'view EVIL',
)
FEW = ('info FILE', 'check BROKEN', 'run FILE', 'steps FILE', 'tensor FILE EVIL', 'tensor FILE STRING', 'EVIL', 'info EVIL', 'info --EVIL')
count = 0
failed = 0


def path(name):
    return os.path.join(FOLDER.name, name)


def report(name, problems):
    global count, failed
    count += 1
    failed += bool(problems)
    print('ok' if not problems else 'not ok', count, '-', name)
    for problem in problems:
        print('#', problem)
    sys.stdout.flush()


def write_models(evil):
    """The names are of the same length before and after, so the file stays whole."""
    for name, text in (('FILE', TEXT), ('OTHER', TEXT.replace('Relu', 'Tanh')), ('BROKEN', BROKEN)):
        with open(path('clean.onnxtxt'), 'w') as file:
            file.write(text)
        subprocess.run([IRSCOPE, 'convert', path('clean.onnxtxt'), path('clean.onnx')], check=False, stderr=subprocess.DEVNULL)
        with open(path('clean.onnx'), 'rb') as file:
            data = file.read()
        with open(path(f'{name}.onnx'), 'wb') as file:
            file.write(data.replace(FILL, evil))
    return data.count(FILL)


def words_of(command, evil):
    places = {b'NAME': b'a_MARK' + evil, b'NODE': b'same_MARK' + evil, b'STRING': b's_MARK' + evil, b'DIR': path('bundle').encode()}
    words = []
    for word in command.encode().split():
        for name in ('FILE', 'OTHER', 'BROKEN'):
            word = word.replace(name.encode(), path(name + '.onnx').encode())
        for place, what in places.items():
            word = word.replace(place, what)
        words.append(word.replace(b'EVIL', b'MARK' + evil))
    return words


def judge(command, evil):
    """Control characters that came out, and names that ended a line before their end."""
    done = subprocess.run([IRSCOPE.encode(), *words_of(command, evil)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=120, cwd=FOLDER.name, env=dict(os.environ, OMP_NUM_THREADS='1', DISPLAY=''))
    problems = [] if done.returncode in (0, 1, 2, 3) else [f'{command}: status {done.returncode}']
    for stream, data in (('stdout', done.stdout), ('stderr', done.stderr)):
        text = data.decode('utf-8', 'surrogateescape')
        found = re.search(r'.{0,30}[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff].{0,10}', text, re.DOTALL)
        if found:
            problems.append(f'{command}: {stream} has {found.group(0)!r}')
        elif (o := re.search(r';o\\x07[\n].{0,20}', text)):
            problems.append(f'{command}: {stream} has a line break of a name: {o.group(0)!r}')
    return problems


for kind, evil in EVILS.items():
    assert len(evil) == len(FILL)
    report(f'the models have such names ({kind})', [] if write_models(evil) > 20 else ['too few'])
    for command in COMMANDS if kind == 'utf8' else FEW:
        report(f'{command} ({kind})', judge(command, evil))
print(f'1..{count}')
sys.exit(failed > 0)
