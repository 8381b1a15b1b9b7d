#!/usr/bin/python3
"""Graphs built in the window from nothing, by keys and by the pointer; what is saved is run by the command line.
Arguments and needs are those of end-to-end.py, from which the window comes; PART is one of

    building    the worked example by keys alone: palette, names, output, undo, copies, Save As; an If by the pointer;
                a text that is checked while it is typed
    digits      the trained digits network from an empty graph, with its weights from .npy files (long)"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

import window as driver
from window import check, key, type_text

PART = sys.argv[1]
GUI, CLI, _, _, DATA = map(os.path.abspath, sys.argv[2:7])
SHOTS = sys.argv[7] if len(sys.argv) > 7 else None
BORDER = 5  # px of the window's frame where there is no window manager


def label(window, pattern):
    return window.expect('label', pattern)


def at_step(window, n):
    label(window, f'Step {n} of {n}')
    window.wait('the picture', lambda: window.boxes())


def place(node):
    x, y, width, height = node.extents()
    return x + BORDER, y + BORDER, width, height


class Builder:
    """Counts the steps, and waits for each."""

    def __init__(self):
        self.window = driver.Window(GUI, shots=SHOTS)
        self.step = 0
        label(self.window, 'Look inside a computation graph')
        key('ctrl+n')
        self.window.expect('frame', 'New graph — irscope')
        self.window.expect_focus('push button', 'Add Input…')

    def did(self):
        self.step += 1
        at_step(self.window, self.step)

    def ask(self, title, *texts):
        """Types into the dialog that a key has opened."""
        self.window.sheet(title)
        for number, text in enumerate(texts):
            if number > 0:
                key('Tab')
            key('ctrl+a')
            type_text(text)
        key('Return')
        self.did()

    def input(self, name, type):
        key('n')
        self.ask('Add Input', name, type)

    def constant(self, name, contents):
        key('k')
        self.window.sheet('Add Constant')
        key('ctrl+a')
        type_text(name)
        key('Tab')
        key('ctrl+a')
        type_text(contents)
        key('Return')
        self.did()

    def add(self, words, opened=False):
        if not opened:
            key('a')
        label(self.window, '(Add|Insert) Node.*')
        type_text(words)
        key('Return')
        self.did()

    def save(self, path):
        key('ctrl+shift+s')
        self.window.file_dialog('Save the Graph As', path)
        self.window.expect('frame', re.escape(os.path.basename(path)) + ' — irscope')
        self.window.wait('the file', lambda: os.path.exists(path))

    def box(self, pattern):
        """Where the box whose name begins so lies, on the screen: left, top, width, height."""
        def find():
            return next((place(node) for node in self.window.canvas().children if re.match(pattern, node.name)), None)

        return self.window.wait(f'the box {pattern}', find)

    def stands_still(self):
        """Waits until the camera and the boxes have come to where they go; they are told of every 200 ms."""
        def moves():
            before = [place(node) for node in self.window.canvas().children]
            time.sleep(0.3)
            return before != [place(node) for node in self.window.canvas().children]

        self.window.wait('the picture to stand still', lambda: not moves())

    def drag(self, start, end):
        # A hand comes by several motions; by a single one the pointer may still be where a popover was.
        for words in (('mousemove', str(start[0] - 60), str(start[1] - 60)),
                      ('mousemove', str(start[0] - 6), str(start[1] - 6)),
                      ('mousemove', *map(str, start)), ('mousedown', '1'),
                      ('mousemove', str((start[0] + end[0]) // 2), str((start[1] + end[1]) // 2)),
                      ('mousemove', *map(str, end)), ('mouseup', '1')):
            subprocess.run(['xdotool', *words], check=True)
            time.sleep(0.05)

    def port(self, pattern):
        x, y, width, height = self.box(pattern)
        return x + width // 2, y + height

    def middles(self, start):
        """Of all boxes whose name begins so, from the left."""
        places = [place(node) for node in self.window.canvas().children if node.name.startswith(start)]
        return sorted((x + width // 2, y + height // 2) for x, y, width, height in places)


def output_of(path):
    return json.loads(subprocess.check_output([CLI, 'info', path, '--json']))['outputs'][0]['name']


def value_of(path, name, *options):
    done = subprocess.run([CLI, 'run', path, *options], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith(name + ' '):
            return line.split(None, 2)[2]
    return done.stderr


def draws_by_keys():
    """f = ln (x1) + x1 * x2 - sin (x2), which is 11.652 at (2, 5)."""
    folder = tempfile.mkdtemp(prefix='irscope-building-')
    builder = Builder()
    for name in ('x1', 'x2'):
        builder.input(name, 'float')
    for words in ('Log x1 name=ln', 'Mul x1 x2 name=product', 'Sin x2 name=sine', 'Add ln product name=sum',
                  'Sub sum sine name=difference'):
        builder.add(words)
    key('o')
    builder.did()
    key('F2')
    builder.ask('Rename Value', 'f')
    builder.window.shot('building-worked')
    builder.save(os.path.join(folder, 'worked.onnx'))
    found = value_of(os.path.join(folder, 'worked.onnx'), 'f', '--value', 'x1=2', '--value', 'x2=5')
    check('the worked example is drawn by keys, saved, and gives 11.652', found.startswith('11.652'), found)
    check('what was saved is not marked as changed', not any(t.startswith('•') for t in builder.window.labels()),
          builder.window.labels())

    key('ctrl+a', 'ctrl+c', 'ctrl+v')
    builder.did()
    check('all is copied and pasted', builder.window.find('label', '0 → 10 nodes') is not None, builder.window.labels())
    key('ctrl+z')
    label(builder.window, f'Step {builder.step - 1} of {builder.step - 1}')
    key('ctrl+shift+z')
    at_step(builder.window, builder.step)
    key('ctrl+a', 'Delete')
    builder.did()
    check('all that is selected is deleted', builder.window.find('label', '0 nodes') is not None, builder.window.labels())
    key('ctrl+z')
    label(builder.window, f'Step {builder.step - 1} of {builder.step - 1}')
    builder.window.end()


def draws_by_pointer():
    """If c: Relu (x), else x."""
    folder = tempfile.mkdtemp(prefix='irscope-building-')
    path = os.path.join(folder, 'if.onnx')
    builder = Builder()
    builder.input('x', 'float[2]')
    builder.input('c', 'bool')
    builder.stands_still()  # the camera brings the first boxes into sight
    left, bottom = builder.port('c .*')
    builder.drag((left, bottom), (left, bottom + 90))
    builder.add('If name=choice', opened=True)
    key('f')
    builder.stands_still()
    check('an If has a node in each of its branches', len(builder.middles('Identity')) == 2, builder.window.boxes())
    for number in range(2):
        builder.drag(builder.port('x .*'), builder.middles('Identity')[number])
        builder.did()
        builder.stands_still()
    subprocess.run(['xdotool', 'mousemove', *map(str, builder.middles('Identity')[0]), 'click', '3'], check=True)
    builder.window.click('menu item', 'Insert Node…')
    builder.add('Relu', opened=True)
    builder.stands_still()
    builder.window.shot('building-if')
    left, right = builder.middles('Identity')
    between = (left[0] + right[0]) // 2, left[1]  # in the frame of the If, beside its branches
    subprocess.run(['xdotool', 'mousemove', *map(str, between), 'click', '1'], check=True)
    builder.window.expect('label', 'If')
    key('o')
    builder.did()
    builder.save(path)
    name = output_of(path)
    found = {value_of(path, name, '--value', f'c={c}', '--value', 'x=-1,2') for c in (0, 1)}
    check('an If is drawn by the pointer, saved, and both of its branches run', found == {'[-1, 2]', '[0, 2]'}, found)
    builder.window.end()


def draws_the_digits():
    """The trained network as its optimization leaves it, with its weights from files."""
    folder = tempfile.mkdtemp(prefix='irscope-building-')
    basic, path = os.path.join(folder, 'basic.onnx'), os.path.join(folder, 'drawn.onnx')
    digits = os.path.join(DATA, 'examples', 'digits.onnx')
    subprocess.run([CLI, 'optimize', digits, '--pipeline', 'basic', '-o', basic], check=True, capture_output=True)
    builder = Builder()
    builder.input('image', 'float[batch,1,8,8]')
    for name, weights in (('w1', 'conv1.weight_1'), ('b1', 'bias_1'), ('w2', 'conv2.weight_1'), ('b2', 'bias_2'),
                          ('w3', 'block.conv1.weight_1'), ('b3', 'bias_3'), ('w4', 'block.conv2.weight_2'),
                          ('b4', 'bias_6'), ('wf', 'fc.weight'), ('bf', 'fc.bias')):
        file = os.path.join(folder, name + '.npy')
        subprocess.run([CLI, 'tensor', basic, weights, '-o', file], check=True, capture_output=True)
        builder.constant(name, file)
    builder.constant('shape', 'int64[2] {-1, 384}')
    for words in ('Conv image w1 b1 pads=1,1,1,1 name=c1', 'Relu c1 name=r1', 'Conv r1 w2 b2 pads=1,1,1,1 name=c2',
                  'Relu c2 name=r2', 'MaxPool r2 kernel_shape=2,2 strides=2,2 name=p',
                  'Conv p w3 b3 pads=1,1,1,1 name=c3', 'Relu c3 name=r3', 'Conv r3 w4 b4 pads=1,1,1,1 name=c4',
                  'Add c4 p name=sum', 'Relu sum name=r4', 'Reshape r4 shape name=flat',
                  'Gemm flat wf bf transB=1 name=fc', 'Softmax fc axis=1 name=probabilities'):
        builder.add(words)
    key('o')
    builder.did()
    builder.window.shot('building-digits')
    builder.save(path)
    name = output_of(path)
    for digit in (0, 7):
        image = 'image=' + os.path.join(DATA, 'examples', f'digits-input-{digit}.npy')
        found, wanted = ([float(n) for n in value_of(file, value, '--input', image).strip('[]').split(',')]
                         for file, value in ((path, name), (digits, 'probabilities')))
        check(f'the network that was drawn sees a {digit} as the trained one does',
              len(found) == 10 and all(abs(a - b) < 1e-4 for a, b in zip(found, wanted)), (found, wanted))
    builder.window.end()


def searches_the_text():
    """Ctrl+F has the focus at its first opening: what is typed at once goes into it, not into the text."""
    builder = Builder()
    key('alt+2')
    text = builder.window.expect_focus('text', 'Text of the graph')
    before = text.text_now()
    # one call: the keys come faster than the entry unfolds
    subprocess.run(['xdotool', 'key', '--delay', '0', 'ctrl+f', *'graph'], check=True)
    entry = builder.window.wait('the entry', lambda: next(
        (node for node in builder.window.walk() if node.role in ('text', 'entry') and node.has(driver.FOCUSED)
         and node.name != text.name), None))
    builder.window.comes_to('what is typed behind Ctrl+F is searched for', 'graph', entry.text_now)
    check('and is not written into the text', text.text_now() == before, text.text_now())
    builder.window.end()


def types_at_once():
    """What is typed behind the key that opens a window is for it, however long it takes to get the focus."""
    builder = Builder()
    # one call: the keys come before the display has given the focus
    subprocess.run(['xdotool', 'key', '--delay', '0', 'n', *'early', 'Return'], check=True)
    label(builder.window, 'Step 1 of 1')
    check('an input is named in the same breath', any(b.startswith('early (input)') for b in builder.window.boxes()),
          builder.window.boxes())
    subprocess.run(['xdotool', 'key', '--delay', '0', 'ctrl+shift+p', *'undo', 'Return'], check=True)
    builder.window.wait('the input to go', lambda: builder.window.find('label', 'Step 1 of 1') is None)
    check('and a command is chosen so', 'Commands' not in builder.window.titles(), builder.window.titles())
    builder.window.end()


def reads_while_one_types():
    """What is wrong is said in the pauses, and what is right can be applied; nothing is applied by itself."""
    builder = Builder()
    key('alt+2')
    builder.window.expect_focus('text', 'Text of the graph')
    key('ctrl+a')
    type_text('g (float[3] x, float[4] w) => (y) { y = Relu (x }')
    label(builder.window, 'Line 1, column .*')
    check('a bracket that lacks is said while one types', builder.window.find('label', 'Step 1 of 1') is None)
    key('BackSpace', 'BackSpace')
    type_text(') }')
    label(builder.window, 'Can be applied.*')
    check('the text need not repeat the operator sets of the graph', True)
    key('BackSpace', 'BackSpace')
    type_text(' z = Sigm')
    key('ctrl+space')
    type_text(' (y) u = Add (z, w) }')
    label(builder.window, '.*Add.*[34].*')
    check('a word is completed, and shapes that do not fit are said while one types', builder.window.find('label', 'Step 1 of 1') is None)
    key('ctrl+a')
    type_text('g (float[3] x) => (y) { y = ReduceM')
    key('ctrl+space')
    builder.window.expect('list', 'Completions')
    key('Down', 'Return')
    type_text(' (x) }')
    label(builder.window, 'Can be applied.*')
    check('a word that may be several is chosen from a list', True)
    key('ctrl+a')
    type_text('g (float[3] x) => (y) { y = ReduceM')
    key('ctrl+space')
    builder.window.expect('list', 'Completions')
    key('Down', 'Tab')
    type_text(' (x) }')
    label(builder.window, 'Can be applied.*')
    check('Tab takes a word, too', True)
    type_text(' # Red')
    key('ctrl+space')
    builder.window.expect('list', 'Completions')
    type_text('x')  # who types on does not want it
    builder.window.wait('no list', lambda: builder.window.find('list', 'Completions') is None)
    builder.window.end()


PARTS = {'building': [draws_by_keys, draws_by_pointer, searches_the_text, types_at_once, reads_while_one_types], 'digits': [draws_the_digits]}


if __name__ == '__main__':
    sys.exit(driver.run(PARTS[PART]))
