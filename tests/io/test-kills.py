#!/usr/bin/env python3
"""A save that is killed, or whose disk is full, leaves the old model or the new one, whole.

    test-kills.py IRSCOPE [TRIALS]

The model has its large tensors in a file beside it. Two models, told apart by their names, are saved by
turns over the same path; each save is killed after a time by chance, or may write only so many bytes.
"""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

IRSCOPE = sys.argv[1]
TRIALS = int(sys.argv[2]) if len(sys.argv) > 2 else 24
ELEMENTS = 300_000
chance = random.Random(20)
folder = tempfile.TemporaryDirectory(prefix='irscope-kills-')
path = os.path.join(folder.name, 'saved', 'm.onnxtxt')
count = 0
failed = 0


def check(name, ok, note=''):
    global count, failed
    count += 1
    failed += not ok
    print('ok' if ok else 'not ok', count, '-', name)
    if note and not ok:
        print('#', note.replace('\n', ' '))
    sys.stdout.flush()


def write_source(name, number):
    """A model whose weights are all @number, at two places of its data."""
    source = os.path.join(folder.name, name + '.json')
    text = os.path.join(folder.name, name + '.onnxtxt')
    with open(text, 'w') as file:
        weights = ','.join([str(number)] * ELEMENTS)
        file.write(f'<ir_version: 8, opset_import: ["" : 17], producer_name: "{name}">\n'
                   f'g (float[{ELEMENTS}] x) => (float[{ELEMENTS}] y)\n'
                   f'<float[{ELEMENTS}] w = {{{weights}}}, float[{ELEMENTS}] v = {{{weights}}}> '
                   '{ t = Add (x, w)  y = Add (t, v) }\n')
    source = os.path.join(folder.name, name + '.onnx')
    subprocess.run([IRSCOPE, 'convert', text, source], check=True)
    return source


def what_is_there():
    """The name of the model at PATH, if each of its weights is that model's."""
    with open(path) as file:
        text = file.read()
    name = re.search(r'producer_name: "(\w+)"', text).group(1)
    places = re.findall(r'"location": ("(?:[^"\\]|\\.)*"), "offset": "(\d+)", "length": "(\d+)"', text)
    if len(places) != 2:
        return f'{len(places)} tensors'
    for location, offset, length in places:
        with open(os.path.join(os.path.dirname(path), json.loads(location)), 'rb') as file:
            file.seek(int(offset))
            if file.read(int(length)) != WEIGHTS[name] * ELEMENTS:
                return f'{name} with the weights of another'
    return name


def save(name, kill_after=None, limit=None):
    """The status of a save; negative if it was killed."""
    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    begun = time.monotonic()
    process = subprocess.Popen([IRSCOPE, 'convert', SOURCES[name], path], stderr=subprocess.DEVNULL, preexec_fn=limited)
    if kill_after is not None:
        time.sleep(kill_after)
        process.send_signal(signal.SIGKILL)
    return process.wait(), time.monotonic() - begun


SOURCES = {'one': write_source('one', 1), 'two': write_source('two', 2)}
WEIGHTS = {'one': b'\0\0\x80\x3f', 'two': b'\0\0\0\x40'}
os.mkdir(os.path.dirname(path))
status, takes = save('one')
takes = max(takes, save('one')[1])
check('a save is read back', status == 0 and what_is_there() == 'one')
there, n_killed, n_done, wrong = 'one', 0, 0, []
for trial in range(TRIALS):
    other = 'two' if there == 'one' else 'one'
    if trial % 3 == 2:
        status, _ = save(other, limit=chance.randrange(1, 2 * 4 * ELEMENTS + 2000))
    else:
        status, _ = save(other, kill_after=takes * chance.uniform(0.1, 1.1))
    found = what_is_there()
    n_killed += status != 0
    n_done += status == 0
    if found not in SOURCES or (status == 0 and found != other):
        wrong.append(f'trial {trial}, status {status}: {found}')
        save('one')
        found = 'one'
    there = found
check(f'of {TRIALS} saves {n_killed} did not end, and each left a whole model', not wrong, '; '.join(wrong))
check('some saves were cut short', n_killed > 0)
saves = os.path.dirname(path)
others = ['m.onnxtxt.irscope-note', 'm.onnxtxt2.irscope-abc123', 'n.irscope-abc123']  # neither is a temporary file of a save to m.onnxtxt
for name in ['m.onnxtxt.irscope-abc123', 'm.onnxtxt.0123456789abcdef.data.irscope-abc123'] + others:
    open(os.path.join(saves, name), 'w').close()
left = sorted(os.listdir(saves))
status, _ = save('one')
names = sorted(set(os.listdir(saves)) - set(others))
check('the next save removes what the others left, and nothing else', status == 0 and what_is_there() == 'one' and len(names) == 2 and
      all(os.path.exists(os.path.join(saves, name)) for name in others), f'{left} before, {names} after')

real, link = os.path.join(folder.name, 'real.onnx'), os.path.join(folder.name, 'link.onnx')
os.symlink('real.onnx', link)
done = subprocess.run([IRSCOPE, 'convert', SOURCES['one'], link])
check('a save goes through a link to a file that is not there yet',
      done.returncode == 0 and os.path.islink(link) and os.path.isfile(real) and not os.path.islink(real))
full = subprocess.run([IRSCOPE, 'convert', SOURCES['one'], path], stderr=subprocess.PIPE, text=True,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)))
check('a file that must not grow is said in words', full.returncode == 3 and 'cannot be written' in full.stderr,
      f'{full.returncode}: {full.stderr}')
print(f'1..{count}')
sys.exit(failed > 0)
