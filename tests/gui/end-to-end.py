#!/usr/bin/python3
"""What a user does, by keys and through AT-SPI alone, in parts that stand alone and can run beside each
other. What the window says is compared with what the command line says with --json. Prints TAP.

    steps       opens the digits model, runs the pipeline, steps, reads the diff, runs the graph, opens a tensor;
                another kernel, asked for as a step; undo, redo and a branch
    debugging   breakpoints, scores, why not, lineage, what if, bisection, a comparison with another file, DOT;
                a window with wrong rules in it finds one of them; spikes; the proof of one step
    runs        a graph that runs in part, and the check of its execution; a graph with a function; options of runs:
                all by the keyboard, and kept for the next window; which values are kept
    memory      every view and sheet, empty and full; plans of memory: under a budget, in another order;
                derivations

    end-to-end.py PART IRSCOPE_GTK IRSCOPE IRSCOPE_GTK_PLANTED IRSCOPE_PLANTED DATADIR [FOLDER_FOR_SCREENSHOTS]

Needs a display and a session bus of its own, as on-its-own.sh gives it: xvfb-run on-its-own.sh end-to-end.py ..."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import window as driver
from window import PATIENCE_S, SENSITIVE, check, key, type_text

PART = sys.argv[1]
GUI, CLI, WRONG_GUI, WRONG_CLI, DATA = map(os.path.abspath, sys.argv[2:7])
SHOTS = sys.argv[7] if len(sys.argv) > 7 else None
DIGITS = os.path.join(DATA, 'examples', 'digits.onnx')
STATES = {'added': 'new', 'removed': 'removed', 'changed': 'changed'}


def irscope(*arguments, program=CLI):
    result = subprocess.run([program, *arguments, '--json'], text=True, stdout=subprocess.PIPE)
    assert result.returncode in (0, 1), result  # 1: the answer is no, as of a diff that found some
    return json.loads(result.stdout)


def Window(program=GUI, **more):
    return driver.Window(program, shots=SHOTS, **more)


def opens_the_model(window):
    window.expect('label', 'Look inside a computation graph')
    window.shot('1-welcome')
    key('ctrl+o')
    window.file_dialog('Open a Graph', DIGITS)
    window.expect('frame', 'digits.onnx — irscope')
    info = irscope('info', DIGITS)
    title = window.expect('label', r'\d+ nodes').name
    check('the title counts the nodes', title == f'{info["nodes"]} nodes', title)
    check('there are no buttons for steps where there are none', window.find('label', r'Original · .*') is None)
    check('the model is on the canvas', any(b.startswith('image (input)') for b in window.boxes()),
          window.boxes())
    window.shot('2-opened')


def runs_the_pipeline(window):
    summary = irscope('optimize', DIGITS)
    n = summary['steps']
    key('F5')
    window.expect('label', f'Step {n} of {n}')
    check('the pipeline makes as many steps as on the command line', True)
    title = f'{summary["nodes_before"]} → {summary["nodes_after"]} nodes'
    check('the title says what the nodes became', window.find('label', re.escape(title)) is not None,
          window.labels())
    window.shot('3-optimized')
    return n


def caption_of(step):
    return step['pass'] if step['pass'] == step['rule'] else f'{step["pass"]} · {step["rule"]}'


def steps_and_reads_the_diff(window, n):
    steps = irscope('steps', DIGITS, '--pipeline', 'default')['steps']
    key('Home')
    where = window.expect('label', f'Original · {n} steps')
    key('F8')
    caption = window.expect('label', re.escape(caption_of(steps[0])))
    for step in steps:
        if step['index'] > 1:
            key('F8')
        window.expect_name(where, f'Step {step["index"]} of {n}')
        window.expect_name(caption, caption_of(step))
    check('every step says its pass and rule', True)
    fold = next(s for s in steps if s['pass'] == 'fold-conv-bn')
    for index in range(n - 1, fold['index'] - 1, -1):
        key('shift+F8')
        window.expect_name(where, f'Step {index} of {n}')
    window.expect_name(caption, caption_of(fold))
    key('f')
    diff = irscope('diff', f'{DIGITS}@{fold["index"] - 1}', f'{DIGITS}@{fold["index"]}')
    expected = {f'{node["op"]} {node["node"]}, {STATES[node["kind"]]}'
                for node in diff['nodes'] if node['op'] != 'Constant'}
    window.comes_to('the canvas shows what changed', expected,
                    lambda: {b for b in window.boxes() if b.rsplit(', ', 1)[-1] in STATES.values()})
    window.shot('4-diff')
    counts = {STATES[k]: sum(n['kind'] == k and n['op'] != 'Constant' for n in diff['nodes'])
              for k in STATES}
    legend = [f'{counts[s]} {s}' for s in counts]
    labels = window.labels()
    check('the legend counts it', all(text in labels for text in legend), f'{legend}\n{labels}')


def sees_the_graph_before(window, n):
    """While Space is held, wherever the focus is that has no use of its own for it."""
    def is_new():
        return any(name.endswith(', new') or name.endswith(', changed') for name in window.boxes())

    def is_removed():
        return any(name.endswith(', removed') for name in window.boxes())

    steps = irscope('steps', DIGITS, '--pipeline', 'default')['steps']
    for _ in range(n - next(s['index'] for s in steps if s['pass'] == 'fold-conv-bn')):
        key('shift+F8')
    window.wait('both graphs', lambda: is_new() and is_removed())
    for pane in ('alt+1', 'alt+3'):
        key(pane)
        subprocess.run(['xdotool', 'keydown', 'space'], check=True)
        try:
            window.wait('the graph before', lambda: is_removed() and not any(
                name.endswith(', new') for name in window.boxes()))
        finally:
            subprocess.run(['xdotool', 'keyup', 'space'], check=True)
        window.wait('both graphs', lambda: is_new() and is_removed())
    check('the graph before is seen while Space is held, from the graph and from the steps', True)
    key('v')
    window.expect('label', 'After: step .*')
    key('v')
    window.wait('one graph', lambda: window.find('label', 'After: step .*') is None)
    check('V shows both sides from the steps, too', True)
    key('ctrl+f')
    window.expect_focus('entry|text', '.*')
    key('Tab')
    window.wait('a button of the search', lambda: window.focus().role == 'push button')
    key('Escape')
    window.expect_focus('list', 'Graph')


def runs_the_graph(window):
    key('End')
    runs_for_the_first_time(window)
    window.expect('label', 'Tensors compared')
    check('the graph runs, and agrees with the original',
          window.find('label', 'none: all agree up to rounding') is not None, window.labels())


def opens_a_tensor(window):
    key('ctrl+f')
    window.expect_focus('entry', 'Find a node')
    type_text('softmax')
    window.expect('label', '1 of 1')
    key('Return')  # to the canvas
    window.expect_focus('list', 'Graph')
    key('Return')  # opens the value
    tensor = irscope('tensor', DIGITS, 'probabilities')
    text = window.wait('the tensor', lambda: window.text_with('mean '))
    numbers = {name: float(value) for name, value in
               re.findall(r'\b(min|max|mean|std) +([-+0-9.e]+)', text)}
    near = all(abs(numbers.get(k, 9e9) - tensor[k]) <= 1e-3 * abs(tensor[k]) + 1e-6
               for k in ('max', 'mean', 'std'))
    check('its statistics are those of the command line', near, f'{numbers}\n{tensor}')
    shape = ','.join(str(d) for d in tensor['shape'])
    check('and so is its type', f'[{shape}]' in text, text)
    window.shot('5-tensor')


def looks_into_a_fused_kernel(window):
    """A value of the original graph that the graph that ran has not got."""
    key('alt+1', 'Home')
    window.expect('label', r'Original · \d+ steps')
    find_node(window, 'block/conv1')
    key('alt+6')
    text = window.wait('where it lies', lambda: window.text_with('It lies inside '))
    check('a value inside a fused kernel says so, and how it was had',
          re.search(r'It lies inside .*\(ConvRelu\) of the graph that ran: it was recomputed from .* by \d+ nodes?',
                    text) is not None, text)
    window.shot('5-fused')
    key('alt+1', 'End')


def exports_dot(window):
    key('Escape', 'Home')
    window.expect('label', r'Original · \d+ steps')
    folder = tempfile.mkdtemp(prefix='irscope-out-')
    path = os.path.join(folder, 'graph.dot')
    window.click('push button', 'Export')
    item = window.wait('the menu', lambda: next(
        (n for n in window.walk() if n.name.startswith('Graphviz DOT')
         and n.role in ('menu item', 'push button')), None))
    item.do()
    window.file_dialog('Export', path)
    window.wait('the file', lambda: os.path.exists(path))
    reference = os.path.join(folder, 'reference.dot')
    subprocess.run([CLI, 'convert', DIGITS, reference], check=True, stdout=subprocess.DEVNULL)
    written, wanted = open(path).read(), open(reference).read()
    check('the DOT file is that of the command line', written == wanted,
          f'{len(written)} and {len(wanted)} characters')


def find_node(window, words):
    key('alt+1', 'ctrl+f')
    window.expect_focus('entry', 'Find a node')
    key('ctrl+a')
    type_text(words)
    key('Return')  # selects the first hit, in the frame that is on its way too, and goes to the canvas


def where(window, step, n):
    window.expect('label', f'Step {step} of {n}')


def stops_at_breakpoints(window, n):
    folds = [s['index'] for s in irscope('steps', DIGITS, '--pipeline', 'default')['steps']
             if s['rule'] == 'fold-conv-bn']
    key('alt+8')
    window.expect_focus('text', 'New breakpoint')
    type_text('rule=fold-conv-bn')
    key('Return')
    key('alt+1', 'Home')
    for step in folds:
        key('F9')
        where(window, step, n)
    key('F8')
    where(window, folds[-1] + 1, n)
    check('a step goes on from a breakpoint', True)
    key('shift+F9')
    where(window, folds[-1], n)
    key('shift+F9')
    where(window, folds[-2], n)
    check('F9 and Shift+F9 run to breakpoints, forth and back', True)
    key('F9')
    where(window, folds[-1], n)
    key('F9')  # there is none behind the last
    where(window, n, n)
    check('and to the end, where there is none', True)
    key('alt+8')
    window.tab_to('check box', 'Stop at rule=fold-conv-bn')
    key('space', 'alt+1', 'Home', 'F9')
    where(window, n, n)
    key('alt+8')
    window.tab_to('push button', 'Remove rule=fold-conv-bn')
    key('space')
    window.expect('label', 'No breakpoints yet.*')
    check('one is left out, and removed, by keys', True)
    window.expect_focus('text', 'New breakpoint')
    type_text('rule=fold-conv-bn')
    key('Return')


def proves_a_step():
    """In a window that does not check every step by itself."""
    steps = irscope('steps', DIGITS, '--pipeline', 'default', '--prove')['steps']
    fold = next(s for s in steps if s['rule'] == 'fold-conv-bn')
    window = Window(settings='prove=false')
    try:
        opens(window, DIGITS)
        key('F5')
        where(window, len(steps), len(steps))
        check('steps have no verdict before they are proved', not any(
            text in ('✓ exact', '≈ rounding', 'bit-exact', 'rounding') for text in window.labels()),
            window.labels())
        key('alt+8')
        window.expect_focus('text', 'New breakpoint')
        type_text(f'rule={fold["rule"]}')
        key('Return')
        key('alt+1', 'Home', 'F9')
        where(window, fold['index'], len(steps))
        window.act('steps.prove')
        shows_sizes(window)
        window.expect('label', rf'[✓≈✗] {fold["verdict"]}')  # in the row; a message would go again
        check('a step that is proved gets the verdict of the command line', True)
        window.shot('13-proved')
    finally:
        window.end()


def scores_the_steps(window, n):
    score = irscope('steps', DIGITS, '--pipeline', 'default', '--scoreboard')['steps'][-1]
    key('alt+1', 'End', 'alt+7')
    label = window.wait('the scoreboard', lambda: next(
        (node.name for node in window.walk()
         if re.fullmatch(rf'Nodes: .* after step {n}', node.name)), None))
    check('the scoreboard counts the nodes', label == f'Nodes: {score["nodes"]} after step {n}', label)
    window.shot('6-scoreboard')


def follows_a_spike():
    """The default pipeline has a step that needs more memory, in a window of its own."""
    model = os.path.join(DATA, 'examples', 'transformer-block.onnx')
    steps = irscope('steps', model, '--pipeline', 'default', '--scoreboard')['steps']
    dearer = [s['index'] for s in steps if s['spikes']]
    assert dearer, steps
    window = Window()
    try:
        opens(window, model)
        key('F5')
        where(window, len(steps), len(steps))
        key('Home', 'alt+7')
        window.wait('the scoreboard', lambda: window.text_with('made the graph dearer'))
        window.tab_to('push button', 'Next Rise')
        for step in dearer:
            key('space')
            where(window, step, len(steps))
        check('rises of the scoreboard lead to their steps', True)
        window.shot('6-spike')
    finally:
        window.end()


def shows_sizes(window):
    """Of a model of which sizes are open, before the first command that runs it."""
    window.sheet('Inputs')
    key('Return')
    window.leaves('Inputs')


def runs_for_the_first_time(window):
    key('ctrl+r')
    shows_sizes(window)


def opens(window, path):
    window.expect('label', 'Look inside a computation graph')
    key('ctrl+o')
    window.file_dialog('Open a Graph', path)
    window.expect('frame', re.escape(os.path.basename(path)) + ' — irscope')


def names_all(where, window, root):
    nameless = window.nameless(root)
    check(f'all that can have the focus has a name: {where}', not nameless, '\n'.join(nameless))


def walks_through_views(window):
    views = ['alt+2', 'alt+3', 'alt+4', 'alt+5', 'alt+m', 'alt+g', 'alt+6', 'alt+7', 'alt+8', 'alt+n', 'alt+9', 'alt+0']
    for name in views + views[::-1]:  # what is in front before and after matters to the toolkit
        key(name)
        time.sleep(0.05)  # some frames are drawn


def looks_at_every_view():
    """With nothing in it, after a run, while a run stands; and the sheets: nothing warns, all has a name."""
    window = Window()
    try:
        opens(window, DIGITS)
        walks_through_views(window)
        key('F5')
        window.expect('label', r'Step (\d+) of \1')
        runs_for_the_first_time(window)
        window.expect('label', 'Ran in .*')
        key('alt+1', 'Down', 'Down')
        walks_through_views(window)
        for sheet in ('shift+F5', 'ctrl+i', 'ctrl+shift+r', 'ctrl+shift+p', 'ctrl+b'):
            key(sheet)
            window.wait(f'the sheet of {sheet}', lambda: len(window.titles()) > 1)
            names_all(f'the sheet of {sheet}', window, window.windows()[-1])
            key('Escape')
            window.wait(f'the end of the sheet of {sheet}', lambda: len(window.titles()) == 1)
        key('F7', 'F7')
        window.expect('label', 'Stands before .*')
        names_all('the window, after a run, while another stands', window, window.root())
    finally:
        window.end()


def tells_why_not(window):
    answer = irscope('why', DIGITS, 'fuse-conv-relu', '/block/relu2/Relu')
    key('alt+1', 'Home')
    find_node(window, 'block/relu2')
    key('alt+0')
    row = window.expect('list item', r'fuse-conv-relu: .*')
    check('the reason is that of the command line',
          row.name == f'fuse-conv-relu: {answer["reason"]}', row.name)
    rows = row.parent
    names = [child.name for child in rows.children]
    key(*['Down'] * max(1, names.index(row.name)))
    window.expect('label', 'Why not fuse-conv-relu')
    boxes = window.wait('the ghost', lambda: (lambda b: b if any(x.endswith('missing') for x in b)
                                              else None)(window.boxes()))
    matched = [m['node'] for m in answer['match'] if m['node'] is not None]
    expected = {f'{m["op"]} {m["name"]}, matched' for m in matched}
    check('the graph shows what fits', expected == {b for b in boxes if b.endswith(', matched')}, boxes)
    check('what does not', sum(b.endswith(', unfit') for b in boxes) == 1, boxes)
    missing = [m['needed'] for m in answer['match'] if m['node'] is None]
    check('and what is missing', {f'{m}, missing' for m in missing} ==
          {b for b in boxes if b.endswith(', missing')}, f'{missing} {boxes}')
    check('as render --why does', all(f'class="node {state}"' in render_why() for state in
                                      ('matched', 'unfit', 'missing')))
    window.shot('7-why-not')
    window.click('push button', 'Back to the steps')
    window.wait('the end of the answer', lambda: not any(b.endswith('missing') for b in window.boxes()))


def render_why():
    path = os.path.join(tempfile.mkdtemp(prefix='irscope-why-'), 'why.svg')
    subprocess.run([CLI, 'render', DIGITS, '--why', 'fuse-conv-relu:/block/relu2/Relu', '-o', path],
                   check=True)
    return open(path).read()


def traces_the_lineage(window):
    trace = irscope('trace-node', DIGITS, '/block/relu2/Relu')
    node = trace['to'][0]
    key('alt+1', 'End')
    find_node(window, 'ConvAddRelu')
    key('alt+4')
    window.expect('label', 'Comes from')
    labels = window.labels()
    origins = [o if isinstance(o, str) else o['name']
               for o in irscope('trace-node', DIGITS, node if isinstance(node, str) else node['name'])['from']]
    check('the fused node names the nodes that it was made of',
          len(origins) > 1 and all(name in labels for name in origins), f'{origins}\n{labels}')
    key('alt+1', 'Home')
    find_node(window, 'block/relu2')
    key('alt+4')
    window.expect('label', 'Ends up in')
    labels = window.labels()
    now = [o if isinstance(o, str) else o['name'] for o in trace['to']]
    check('the original node names what it became', now and all(name in labels for name in now),
          f'{now}\n{labels}')


def asks_what_if(window, n):
    steps = irscope('steps', DIGITS, '--pipeline', 'default')['steps']
    fold = next(s['index'] for s in steps if s['rule'] == 'fold-conv-bn')
    without = irscope('optimize', DIGITS, '--skip', str(fold))
    key('alt+1', 'Home', 'F9')
    where(window, fold, n)
    key('alt+3', 'ctrl+Delete')
    window.expect('label', 'Without one fold-conv-bn')
    title = f'{without["nodes_before"]} → {without["nodes_after"]} nodes'
    window.expect('label', re.escape(title))
    check('the result without a step is that of the command line', True)
    window.shot('8-what-if')
    window.click('toggle button|push button', 'Show the difference')
    window.expect('label', 'Compared with the original result')
    check('the two results are drawn as one difference', True)
    window.click('toggle button|push button', 'Without')
    window.expect('label', 'Compared with the what-if')
    window.click('toggle button|push button', 'Without')
    window.expect('label', 'Compared with the original result')
    check('the results can be swapped', True)
    key('ctrl+BackSpace')
    where(window, fold, n)
    check('the original result comes back', True)


def finds_the_culprit(window, n):
    found = irscope('bisect', DIGITS, '--fail', 'max_abs(*) > 1e-9')
    key('ctrl+b')
    window.expect_focus('text', 'Condition')
    type_text('max_abs(*) > 1e-9')
    key('Return')
    where(window, found['step'], n)
    text = window.wait('the culprit', lambda: window.text_with(f'Step {found["step"]}, {found["rule"]}'))
    check('bisection finds the step of the command line', True)
    check('and names the first tensor to differ', 'First tensor to differ' in text, text)
    window.shot('9-bisection')
    key('Escape')
    window.wait('no dialog', lambda: window.find('text', 'Condition') is None)


def compares_files(window):
    other = os.path.join(tempfile.mkdtemp(prefix='irscope-other-'), 'other.onnx')
    irscope('optimize', DIGITS, '-o', other)
    diff = irscope('diff', other, DIGITS)
    key('alt+1', 'Home')
    window.expect('label', r'Original · \d+ steps')
    key('ctrl+d')
    window.file_dialog('Compare With…', other)
    window.expect('label', 'Compared with other.onnx')
    wanted = {f'{g["kind"]} {g["op"]}, {g["count"]}' for g in diff['groups'] if g['of'] == 'nodes' and 'op' in g}
    rows = window.wait('the groups', lambda: (lambda r: r if wanted <= r else None)(
        {node.name for node in window.walk() if node.role == 'list item'}))
    check('the same changes are one row, as on the command line', wanted <= rows, wanted)
    window.shot('10-comparison')
    compares_values(window, other)
    window.click('push button', 'Back to the steps')


def compares_values(window, other):
    numbers = irscope('diff', '--values', other, DIGITS)['numbers']
    differ = [v for v in numbers['values'] if not v['same']]
    assert differ, numbers

    def compared():
        found = window.text_with(' compared: ')
        if found is None:  # a button of a page that is just coming into sight does nothing yet
            window.click('radio button|toggle button|page tab', 'Values')
            window.click('push button', 'Compare Values')
            time.sleep(1)
        return found

    text = window.wait('the values', compared)
    check('as many values are compared, and differ, as on the command line',
          f'{numbers["compared"]} compared: {numbers["differ"]} differ' in text, f'{text}\n{numbers}')

    def rows():
        """Badge, name and numbers of each row, as they stand."""
        return [n.name.split(', ') for n in window.walk() if re.match(r'[≈≠], ', n.name)]

    found = window.wait('the rows', rows)
    check('they are listed in the order of execution', [row[1] for row in found] == [v['b'] for v in differ],
          f'{found}\n{differ}')
    window.tab_to('combo box', 'Order of the values')
    window.choose('Home', 'Down')
    largest = sorted(differ, key=lambda v: -v['max_abs'])
    window.wait('the largest first', lambda: [row[1] for row in rows()] == [v['b'] for v in largest])
    check('they can be sorted by their difference', [float(row[2]) for row in rows()] ==
          [float(f'{v["max_abs"]:.3g}') for v in largest], f'{rows()}\n{largest}')
    window.click('push button', 'First D.*')
    key('alt+6')  # another view may be in front
    labels = window.wait('the contents on both sides', lambda: (lambda l: l if any(
        re.match(r'[≈≠] .* differ, most by', t) for t in l) else None)(window.labels()))
    check('the first is selected, and its contents on both sides are shown', differ[0]['b'] in labels, labels)
    window.shot('10-values')
    window.click('radio button|toggle button|page tab', 'Structure')


def writes_a_reproducer(window, found):
    folder = os.path.join(tempfile.mkdtemp(prefix='irscope-reproducer-'), 'bundle')
    window.click('push button', 'Write a Reproducer…')
    window.file_dialog('Write a Reproducer', folder)
    window.wait('the reproducer', lambda: os.path.exists(os.path.join(folder, 'README.md')))
    readme = open(os.path.join(folder, 'README.md')).read()
    command = next(line.strip() for line in readme.splitlines() if line.startswith('    irscope '))
    again = subprocess.run([WRONG_CLI, *shlex.split(command)[1:], '--json'], cwd=folder, text=True,
                           stdout=subprocess.PIPE)
    answer = json.loads(again.stdout)
    check('the reproducer that the window writes finds the rule again',
          answer.get('rule') == found['rule'], f'{command}\n{answer}')


def planted_pipeline():
    """A folder of data whose default pipeline has a wrong rule in the middle."""
    data = os.path.join(tempfile.mkdtemp(prefix='irscope-planted-'), 'data')
    shutil.copytree(DATA, data)
    path = os.path.join(data, 'pipelines', 'default.json')
    with open(path, 'w') as f:
        json.dump({'name': 'default', 'title': 'With a mistake', 'doc': 'For a test.', 'max_iterations': 1,
                   'passes': ['eliminate-identity', 'fold-constants', 'plant-sign', 'fold-conv-bn']}, f)
    return data, path


def finds_a_planted_rule():
    data, pipeline = planted_pipeline()
    plan = ['--pipeline', pipeline]
    n = irscope('optimize', DIGITS, *plan, program=WRONG_CLI)['steps']
    found = irscope('bisect', DIGITS, *plan, '--fail', 'max_abs(*) > 1e-3', program=WRONG_CLI)
    assert found['rule'] == 'wrong-sign', found
    window = Window(WRONG_GUI, IRSCOPE_DATADIR=data)
    try:
        opens(window, DIGITS)
        key('ctrl+b')
        check('a key says why it does nothing yet',
              window.wait('the reason', lambda: window.text_with('There are no steps yet')) is not None)
        key('F5')
        where(window, n, n)
        check('the steps are said to be broken',
              window.wait('the message', lambda: window.text_with(' broken')) is not None)
        window.click('button|push button', 'Show the next step that is broken')
        window.wait('the broken step', lambda: window.text_with('broken: largest difference'))
        labels = window.labels()
        where(window, labels[labels.index('✗ broken') - 3], n)
        check('a button leads to the first of them', True)
        key('ctrl+b')
        window.expect_focus('text', 'Condition')
        type_text('max_abs(*) > 1e-3')
        key('Return')
        shows_sizes(window)
        where(window, found['step'], n)
        text = window.wait('the culprit', lambda: window.text_with(f'Step {found["step"]}, wrong-sign'))
        check('a planted rule is found, as on the command line',
              'First tensor to differ' in text and found['diverges']['name'] in text, text)
        changed = window.wait('the diff', lambda: [b for b in window.boxes()
                                                   if b.rsplit(', ', 1)[-1] in STATES.values()])
        check('its diff is on screen', any(b.startswith('Sub ') for b in changed) and
              any(b.startswith('Add ') for b in changed), changed)
        window.shot('11-planted')
        writes_a_reproducer(window, found)
        key('Escape')
        window.shot('12-planted-diff')
    finally:
        window.end()


def chooses_a_kernel():
    """In a window of its own, at step 0, where nodes are called as in the file."""
    node = '/conv1/Conv'
    kernels = next(n for n in irscope('kernels', DIGITS, '--runs', '1')['nodes']
                   if n['node'] == node)['candidates']
    taken = next(k for k in kernels if k['taken'])
    window = Window()
    try:
        opens(window, DIGITS)
        runs_for_the_first_time(window)
        window.expect('label', 'Last run')
        find_node(window, node)
        window.expect('label', 'Kernel')
        check('the kernel of a node is that of the command line',
              window.find('label', re.escape(taken['kernel'])) is not None, f'{taken}\n{window.labels()}')
        key('ctrl+k')
        window.wait('the times', lambda: window.text_with(', 7 runs)'))
        labels = window.labels()
        check('all its kernels are measured', all(k['kernel'] in labels for k in kernels),
              f'{kernels}\n{labels}')
        check('with their spread and their difference',
              sum(bool(re.fullmatch(r'.*–.*, 7 runs\)(\n.*)?', t)) for t in labels) == len(kernels) and
              sum('off by ' in t or t.endswith('the same numbers') for t in labels) == len(kernels) - 1,
              labels)
        window.shot('14-kernels')
        key('alt+4')
        window.tab_to('combo box', 'Kernel')
        window.choose('End')  # the reference kernel is the last
        where(window, 1, 1)
        window.expect('label', 'a property of the node asks for the reference kernel')
        check('another kernel is asked for by the keyboard, as a step', True)
        key('ctrl+r')
        window.expect('label', 'Since the run before')
        labels = window.labels()
        check('the next run says how long the node took in both, and how far its values are apart',
              any(re.fullmatch(r'\S+ \S+ → \S+ \S+ \([−+]\d+\s%\)\n(off by .*|the same numbers)', t)
                  for t in labels), labels)
        key('alt+5')
        window.wait('the kernel', lambda: window.find('label', r'Kernel: ref\n.* \(one run\)'))
        check('so does the schedule', True)
        window.shot('14-other-kernel')
        key('alt+1', 'shift+F8')
        window.expect('label', r'Original · 1 step.*')
        check('a step back takes it away',
              window.find('label', 'a property of the node asks for the reference kernel') is None)
    finally:
        window.end()


def menu_has(window, label):
    key('F10')
    window.expect_focus('menu item')
    found = window.wait(label, lambda: next(
        (n for n in window.walk() if n.role in ('menu item', 'push button')
         and n.name.startswith(label)), None))
    window.shot('15-menu')
    enabled = found.has(SENSITIVE)
    key('Escape')
    window.wait('the focus outside of the menu', lambda: window.focus().role != 'menu item')
    return enabled


def takes_back_what_was_done():
    """An edit in the middle of what a pipeline made: undone, done again, and left for what followed there."""
    n = irscope('optimize', DIGITS)['steps']
    window = Window()
    try:
        opens(window, DIGITS)
        check('nothing can be undone at first', not menu_has(window, 'Undo'))
        key('F5')
        where(window, n, n)
        key('Home')
        window.expect('label', f'Original · {n} steps')
        key('F8', 'F8', 'F8')
        where(window, 3, n)
        key('alt+2')
        window.expect_focus('text', 'Text of the graph')
        type_text('words')
        window.wait('what was typed', lambda: window.find('push button', 'Apply').has(SENSITIVE))
        key('ctrl+z', 'ctrl+z', 'ctrl+z')
        window.wait('nothing to apply', lambda: not window.find('push button', 'Apply').has(SENSITIVE))
        where(window, 3, n)
        check('the text takes back its typing, and no more than that', True)
        find_node(window, '/conv1/Conv')
        window.expect('label', 'Kernel')
        key('alt+4')
        window.tab_to('combo box', 'Kernel')
        window.choose('End')
        where(window, 4, 4)
        check('the menu names what can be undone', menu_has(window, 'Undo Choose Kernel'))
        window.shot('15-branch')
        key('ctrl+z')
        where(window, 3, n)
        check('and what can be done again', menu_has(window, 'Redo Choose Kernel'))
        key('ctrl+shift+z')
        where(window, 4, 4)
        check('an edit is taken back and done again by keys', True)
        key('alt+3')
        window.click('toggle button|push button', '1 other branch')
        window.expect_focus('list item', 'Run Pipeline default: .*')
        window.shot('15-branches')
        key('Return')
        where(window, n, n)
        window.expect('toggle button|push button', '1 other branch')
        check('what followed the step that was edited is there again', True)
        said = rf'{n} steps: .*'
        window.wait('the end of what was said before', lambda: window.find('label', said) is None)
        key('F5')
        window.expect('label', said)
        key('ctrl+z')
        window.expect('label', 'Undid Run Pipeline default')
        where(window, n, n)
        key('ctrl+z')
        window.wait('no steps', lambda: window.find('label', r'(Original ·|Step) .*steps?') is None
                    and window.find('label', r'Step \d+ of \d+') is None)
        check('a run of a pipeline is taken back at once', True)
    finally:
        window.end()


RUN_SETTINGS = {'runs': '5', 'threads': '1', 'parallel': 'on', 'deterministic': 'true', 'capture': 'statistics',
                'capture-budget': '64M', 'memory-limit': '50%', 'time-limit': '30'}


def sets_how_graphs_run():
    """Each row of the run options by the keyboard; they hold for the next run, and for the next window."""
    window = Window()
    wanted = RUN_SETTINGS
    try:
        opens(window, DIGITS)
        key('ctrl+shift+r')
        window.sheet('Run Options')
        for role, name, value in (('spin button', 'Runs that count', wanted['runs']),
                                  ('spin button', 'Threads', wanted['threads'])):
            window.tab_to(role, name)
            key('ctrl+a')
            type_text(value)
        window.tab_to('combo box', 'Concurrent Nodes')
        window.choose('Down')
        window.tab_to('check box', 'Deterministic')
        key('space')
        window.tab_to('combo box', 'Keep')
        window.choose('Home', 'Down', 'Down', 'Down', 'Down')
        window.tab_to('text', 'Memory for kept values')
        type_text(wanted['capture-budget'])
        window.tab_to('text', 'File for the others')
        type_text('much')  # is no size, and not kept
        window.tab_to('text', 'Memory of all values')
        type_text(wanted['memory-limit'])
        window.tab_to('spin button', 'Seconds of one run')
        key('ctrl+a')
        type_text(wanted['time-limit'])
        key('Tab')
        window.shot('15-run-options')
        window.wait('the settings', lambda: kept_settings(window).get('time-limit') == wanted['time-limit'])
        kept = kept_settings(window)
        check('run options are set by the keyboard and kept',
              all(kept.get(k) == v for k, v in wanted.items()), kept)
        check('what is no size is not', kept.get('spill-limit', '') == '', kept)
        key('Escape')
        window.leaves('Run Options')
        runs_as_set(window, 'the next run is made so, and says it')
    finally:
        window.end()


def keeps_how_graphs_run():
    window = Window(settings='\n'.join(f'{k}={v}' for k, v in RUN_SETTINGS.items()))
    try:
        opens(window, DIGITS)
        runs_as_set(window, 'another window runs graphs in the same way')
    finally:
        window.end()


def opens_run_options(window):
    key('ctrl+shift+r')
    window.sheet('Run Options')


def keeps(window, place, setting):
    """Chooses what runs keep, by its place in the list, in the dialog that is open."""
    window.tab_to('combo box', 'Keep')
    window.choose('Home', *['Down'] * place)
    window.wait('the setting', lambda: kept_settings(window).get('capture') == setting)


def without_time(text):
    return re.sub(r' in \S+ ms', '', text)


def chooses_what_is_kept():
    """What is selected is kept alone, and all of the original graph in one run of the optimized one."""
    node, value = '/conv2/Conv', '/conv2/Conv_output_0'
    window = Window()
    try:
        opens(window, DIGITS)
        key('ctrl+j')
        find_node(window, node)
        window.wait('the tensor', lambda: window.text_with('Run the graph to see this value'))
        opens_run_options(window)
        keeps(window, 2, 'chosen')
        names = window.tab_to('push button', 'Add what is selected')
        key('space')
        window.wait('the name', lambda: kept_settings(window).get('chosen-values') == value)
        check('what is selected is chosen by the keyboard', 'Chosen values' in names, names)
        window.shot('17-chosen')
        key('Escape')
        window.leaves('Run Options')
        runs_for_the_first_time(window)
        window.expect('label', 'Ran in .* · chosen values kept')
        window.wait('its statistics', lambda: window.text_with('mean '))
        check('a run keeps what was chosen', window.text_with('did not keep') is None, window.labels())
        find_node(window, '/conv1/Conv')
        window.wait('the other value', lambda: window.text_with('The run did not keep this value: it was recomputed'))
        check('and computes other values again', True)
        opens_run_options(window)
        keeps(window, 1, 'original')
        names = window.tab_to('text', 'Memory for kept values')
        check('the names mean nothing then', 'Chosen values' not in names, names)
        key('Escape')
        window.leaves('Run Options')
        key('F5')
        window.expect('label', r'Step \d+ of \d+')
        key('ctrl+r')
        window.expect('label', 'Ran in .* · all values of the original graph in one run')
        key('Home')
        window.expect('label', r'Original · \d+ steps')
        find_node(window, node)
        run = irscope('run', DIGITS, '--pipeline', 'default', '--capture', 'original')
        origin = next(v for v in run['captured'] if v['name'] == value)['origin']['text']
        wanted = without_time(f'The original graph did not run: this was {origin}.')
        text = window.wait('how it was had', lambda: window.text_with('The original graph did not run'))
        check('one run says what the original graph computed, and how that was had, as the command line does',
              wanted in without_time(text), f'{wanted}\n{text}')
        window.shot('17-original')
    finally:
        window.end()


def drives_a_run():
    """Node by node and to breakpoints, by keys and by what assistive technology is told."""
    stop, = irscope('run', DIGITS, '--break', 'zeros>10% op:relu', '--capture', 'all')['stops']
    window = Window()
    try:
        opens(window, DIGITS)
        key('F7')
        shows_sizes(window)
        first = window.expect('label', 'Stands before .*').name
        key('F7')
        window.wait('the second node', lambda: window.find('label', 'Stands before .*') is not None
                    and window.find('label', re.escape(first)) is None)
        check('a run goes on from node to node', True)
        for name in ('Step', 'Over', 'Continue', 'End'):
            window.tab_to('push button', name)
        check('its buttons are reached by the keyboard', True)
        window.tab_to('text', 'New breakpoint of runs')
        type_text('op:frob')
        key('Return')
        window.expect('label', '.*op:frob.*no such node.*')
        key('ctrl+a')
        type_text('zeros>10% op:relu')
        key('Return')
        window.expect('label', re.escape('zeros>10% op:relu'))
        key('ctrl+shift+F7')
        window.expect('label', re.escape(f'Stands {stop["text"]}'))
        check('it stops where the command line does, and says the same', True)
        check('the breakpoint is marked', window.find('label', re.escape('● zeros>10% op:relu')) is not None, window.labels())
        window.shot('21-run')
        window.tab_to('push button', 'Remove zeros>10% op:relu')
        key('space')
        window.wait('no breakpoint', lambda: window.find('label', '(● )?zeros>10% op:relu') is None)
        check('it is removed by the keyboard', True)
        window.click('push button', 'End')
        window.wait('the end', lambda: window.find('label', 'Stands .*') is None)
        check('the run ends where it stands', True)
    finally:
        window.end()


CALLS = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
calls (float[16,64] x) => (float[16,64] y) { [one] a = local.twice (x) [two] y = local.twice (a) }
<domain: "local", opset_import: ["" : 17]>
twice (p) => (q) { half = Neg (p) q = Sub (p, half) }
"""


def looks_into_a_call():
    """What the body of a function computes in one call of it."""
    path = os.path.join(tempfile.mkdtemp(prefix='irscope-calls-'), 'calls.onnxtxt')
    with open(path, 'w') as f:
        f.write(CALLS)
    tensor = irscope('tensor', path, 'two/half')
    window = Window()
    try:
        opens(window, path)
        key('ctrl+r')
        window.expect('label', 'Ran in .*')
        find_node(window, 'two')
        window.expect('label', 'In its body')
        key('alt+4')
        names = window.tab_to('list item', 'two/half')
        check('what a call reads and gives is called as in the function', {'p', 'q'} <= names, names)
        key('Return')
        text = window.wait('the value', lambda: window.text_with(f'max {tensor["max"]:.6g}'))
        check('a value in the body of a function is found at its call, with the contents of the command line',
              f'min {tensor["min"]:.6g}' in text and f'mean {tensor["mean"]:.6g}' in text, f'{text}\n{tensor}')
        window.shot('19-body')
    finally:
        window.end()


HALF = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
part (float[2,4] x) => (float[2,4] good, float[2,4] bad, gem)
{ a = Exp (x) good = Relu (a) [odd] b = my.Frobnicate (a) bad = Neg (b) [brk] gem = Gemm (x) }
"""


def runs_in_part():
    """An operator that nobody knows and a node with too few inputs stop only what waits for them."""
    path = os.path.join(tempfile.mkdtemp(prefix='irscope-part-'), 'part.onnxtxt')
    with open(path, 'w') as f:
        f.write(HALF)
    run = irscope('run', path)
    window = Window()
    try:
        opens(window, path)
        key('ctrl+r')
        line = window.expect('label', r'\d of \d outputs were not computed: .* · Ran in .*').name
        missing = [m['name'] for m in run['missing']]
        check('outputs that cannot be had are named with what stops them, as on the command line',
              all(f'{name} (stopped by ' in line for name in missing) and len(missing) == 2, f'{line}\n{run}')
        boxes = window.boxes()
        check('the nodes that stop them have a badge', {b.split(',')[0] for b in boxes if 'has problems' in b} ==
              {'Frobnicate odd', 'Gemm brk'}, boxes)
        window.wait('why', lambda: window.text_with('This value was not computed: odd (Frobnicate)'))
        window.shot('20-part')
        find_node(window, 'relu')
        window.wait('the output', lambda: window.text_with('mean '))
        check('the others are there', True)
        key('ctrl+shift+e')
        window.expect('label', 'Execution is right at the 2 nodes that can run')
        rows = window.wait('the list', lambda: (lambda r: r if len(r) == 2 else None)(
            [n.name for n in window.walk() if n.name.startswith(('odd (', 'brk ('))
             and n.role == 'list item']))
        check('what runs is checked, and what does not is listed', True, rows)
        window.tab_to('list item', 'odd (Frobnicate)')
        window.shot('20-checked')
        key('Return')
        window.expect('label', 'Frobnicate · my')
        check('a row leads to its node', True)
    finally:
        window.end()


def kept_settings(window):
    if not os.path.exists(window.settings_file):
        return {}
    return dict(line.strip().split('=', 1) for line in open(window.settings_file) if '=' in line)


def runs_as_set(window, what):
    runs_for_the_first_time(window)
    line = window.expect('label', 'Ran in .*').name
    check(what, re.fullmatch(r'Ran in \S+ \S+ \(.*, 5 runs\) · 1 thread · (no|\d+) concurrent nodes · '
                             r'deterministic · statistics kept', line), line)


WIDE = """<ir_version: 8, opset_import: ["" : 17]>
wide (float[64,16] x) => (float[64,16] y)
{
  kept = Exp (x)
  turned = Transpose <perm = [1, 0]> (kept)
  square = MatMul (kept, turned)
  again = Transpose <perm = [1, 0]> (square)
  both = MatMul (square, again)
  low = ReduceMax <axes = [1], keepdims = 1> (both)
  y = Add (kept, low)
}
"""


def plans_memory():
    """A graph in which one value is worth computing again, as it runs and under a budget."""
    path = os.path.join(tempfile.mkdtemp(prefix='irscope-wide-'), 'wide.onnxtxt')
    with open(path, 'w') as f:
        f.write(WIDE)
    plan = irscope('memory', path, '--budget', '95%')
    session = os.path.join(os.path.dirname(path), 'wide.json')
    irscope('session', path, '-o', session)
    window = Window(arguments=['--session', session])
    try:
        window.expect('label', 'Restored the session')
        key('alt+m')
        window.expect('label', 'The plan that a run would follow')
        key('ctrl+r')
        window.expect('label', 'The plan that the last run followed')
        check('the memory plan is the one that the last run followed', True)
        key('alt+m', 'Home')
        first = plan['values'][0]['name']
        why = subprocess.run([CLI, 'memory', path, '--why', first], text=True,
                             stdout=subprocess.PIPE).stdout.strip()
        window.wait('the reason', lambda: why in window.labels())
        check('keys select a value, and it says why it lies there, as the command line does', True)
        window.shot('16-memory')
        window.tab_to('push button', 'Under a budget')
        key('space')
        window.tab_to('text', 'Budget')
        key('ctrl+a')
        type_text('95%')
        key('Return')
        again = plan['recompute']
        text = window.expect('label', 'The budget holds: .*').name
        n = sum(r['again'] for r in again['runs'])
        extra = f'(+{100 * again["extra_flops"] / again["flops"]:.1f}\u00a0%)'
        check('a plan under a budget says what it costs, as the command line does',
              text.startswith(f'The budget holds: {n} node') and extra in text and again['method'] in text, f'{text}\n{again}')
        dropped = again['evicted'][0]
        labels = window.labels()
        check('and what is dropped and computed again', dropped['value'] in labels and
              f'dropped after run {dropped["after"]}, again in run {dropped["again"]}' in labels,
              f'{dropped}\n{labels}')
        window.shot('16-budget')
        window.tab_to('text', 'Budget')
        key('ctrl+a')
        type_text('much')
        key('Return')
        window.wait('the refusal', lambda: window.text_with('“much” is no budget'))
        check('what is no budget is refused in words', True)
    finally:
        window.end()


TURNS = """<ir_version: 8, opset_import: ["" : 17]>
turns (float[64,64] x) => (float[64,1] y)
{
  one = Exp (x)
  two = Tanh (x)
  over = Neg (one)
  low = ReduceMax <axes = [1], keepdims = 1> (over)
  high = ReduceMax <axes = [1], keepdims = 1> (two)
  y = Add (low, high)
}
"""


def sets_how_plans_are_made():
    """A graph whose nodes need less memory in another order, and whose values can share bytes."""
    path = os.path.join(tempfile.mkdtemp(prefix='irscope-turns-'), 'turns.onnxtxt')
    with open(path, 'w') as f:
        f.write(TURNS)
    peaks = [irscope('memory', path, *options)['peak_bytes'] for options in ((), ('--order', 'memory'), ('--separate',))]
    check('order and sharing make a difference', len(set(peaks)) == 3, peaks)
    window = Window()

    def why(*options):
        return subprocess.run([CLI, 'memory', path, '--why', 'two', *options], text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def toggle(name):
        window.tab_to('check box', name)
        key('space')

    try:
        opens(window, path)
        find_node(window, 'two')
        key('alt+m')
        window.expect('label', 'The plan that a run would follow')
        window.wait('the reason', lambda: why() in window.labels())
        check('where lies what the selected node gives is said as on the command line', True)
        key('Home', 'Right')
        window.wait('the reason', lambda: why() in window.labels())
        window.click('toggle button|push button', 'How the plan is made')
        toggle('Memory order')
        window.expect('label', 'A plan in memory order')
        window.wait('the reason in memory order', lambda: why('--order', 'memory') in window.labels())
        check('a plan in memory order is that of the command line', why('--order', 'memory') != why())
        toggle('Every value by itself')
        window.expect('label', 'A plan in memory order, every value by itself')
        toggle('Memory order')
        window.expect('label', 'A plan with every value by itself')
        window.wait('the reason with values apart', lambda: why('--separate') in window.labels())
        check('so is one in which values share nothing', why('--separate') != why())
        window.shot('18-separate')
        toggle('Every value by itself')
        window.expect('label', 'The plan that a run would follow')
    finally:
        window.end()


def derives_in_all_ways():
    """The worked example, where all ways can be taken, and a loop, which only differences get through."""
    def says(*texts):
        return lambda: next((label for label in window.labels() if all(text in label for text in texts)), None)

    window = Window()
    try:
        opens(window, os.path.join(DATA, 'examples', 'worked-example.onnx'))
        find_node(window, 'product')
        key('alt+d')
        label = window.wait('what is said of the product', says('v2: tangent', 'adjoint 1', 'slope by x1'))
        check('of a value its tangents, adjoint and slopes are said', bool(label), label)
        window.click('push button', 'Next Event of the Tape')
        window.wait('the first event of the tape', says('Tape 1 of 13: push ln (Log), 4 bytes held. v1: tangent 0.5, 0; adjoint 1'))
        for event in range(2, 7):
            window.click('push button', 'Next Event of the Tape')
            label = window.wait('the next event', says(f'Tape {event} of 13: '))
        check('the tape is played forwards', label.startswith('Tape 6 of 13: seed difference'), label)
        window.click('push button', 'Previous Event of the Tape')
        check('and back', bool(window.wait('the last that is pushed', says('Tape 5 of 13: push difference'))))
        key('alt+d')
        key('Home')
        label = window.wait('what is said of x1', says('x1: tangent 1, 0', 'Numeric', 'Complex step', 'Symbolic 1 / x1 + x2'))
        check('what it is derived by is said in all ways', bool(label), label)
        key('Right')
        check('the keys go from value to value', bool(window.wait('what is said of x2', says('x2: tangent 0, 1'))))
        window.shot('19-derivation')
        key('alt+g')
        window.click('push button', 'Derive the Graph')
        label = window.wait('the reason of the selected value', says('x2: plain. Nothing is remarkable: norm'))
        check('a gradient of what is selected is followed back', bool(label), label)
        window.click('push button', 'Elements')
        window.expect('label', 'x2: choose an element to check it by differences.')
        window.tab_to('tree table', 'Elements of a derivative')
        key('Down')
        label = window.wait('what differences say of x2', says('x2 passed: ', 'by differences', 'Both in double'))
        check('an element that is chosen is checked by differences', bool(label), label)
        find_node(window, 'product')
        key('alt+g')
        label = window.wait('what came back to the product', says('product (Mul): norm 1 came back to v2', 'went on', 'nodes derive it'))
        check('so is what came back to a selected node', bool(label), label)
        window.shot('20-gradients')
    finally:
        window.end()
    window = Window()
    try:
        opens(window, os.path.join(DATA, 'examples', 'while-newton.onnxtxt'))
        key('alt+d')
        label = window.wait('what cannot be', says('Symbolic: loop (Loop) stops it first', 'use differences'))
        check('a way that cannot be taken names the node that stops it', bool(label), label)
    finally:
        window.end()


def reads_the_steps():
    window = Window()
    try:
        opens_the_model(window)
        n = runs_the_pipeline(window)
        steps_and_reads_the_diff(window, n)
        runs_the_graph(window)
        opens_a_tensor(window)
        looks_into_a_fused_kernel(window)
        sees_the_graph_before(window, n)
        closes(window)
    finally:
        if window.process.poll() is None:
            window.process.kill()


def debugs_the_steps():
    """After a run, whose values a comparison shows."""
    n = irscope('optimize', DIGITS)['steps']
    window = Window()
    try:
        opens(window, DIGITS)
        key('F5')
        where(window, n, n)
        runs_for_the_first_time(window)
        window.expect('label', 'Tensors compared')
        stops_at_breakpoints(window, n)
        scores_the_steps(window, n)
        tells_why_not(window)
        traces_the_lineage(window)
        asks_what_if(window, n)
        finds_the_culprit(window, n)
        compares_files(window)
        exports_dot(window)
    finally:
        window.end()


def closes(window):
    key('ctrl+q')
    window.process.wait(PATIENCE_S)
    check('the window closes', window.process.returncode == 0, window.process.returncode)
    window.is_quiet()


def sums_up():
    """The bars of the summary by keys, each said by what it stands for, through all its lists to the end."""
    rows = irscope('summary', DIGITS)
    window = Window()
    try:
        opens(window, DIGITS)
        key('ctrl+shift+p')
        window.wait('the commands', lambda: len(window.titles()) > 1)
        type_text('show summary')
        window.expect('list item', '.*Show Summary.*')
        key('Return')
        chart = window.expect_focus('filler', 'Summary')

        def said():
            return window.about(chart.path)['Description']

        key('Home')
        window.comes_to('the first bar is said', rows['operators'][0]['name'], lambda: said().split('\n')[0])
        key(*['Down'] * (len(rows['operators']) + len(rows['scopes']) + len(rows['tensors'])))
        window.comes_to('keys lead through operators, scopes and tensors', rows['places'][-1]['where'], said)
        key('Up')
        window.comes_to('and back', rows['tensors'][-1]['name'], lambda: said().split('\n')[0])
    finally:
        window.end()


def trains():
    """A step of training from the form, by keys."""
    examples = os.path.join(DATA, 'examples')
    window = Window()
    try:
        opens(window, os.path.join(examples, 'digits-untrained.onnx'))
        key('alt+t')
        window.expect_focus('text', 'Samples of image')
        type_text(os.path.join(examples, 'digits-images.npy'))
        window.tab_to('text', 'Targets')
        type_text(os.path.join(examples, 'digits-labels.npy'))
        window.tab_to('push button', 'Step')
        key('space')
        window.expect('label', 'Standing: step 1 of .*')
        check('a step of training is done and said', True)
        window.tab_to('push button', 'Stop')
        key('space')
        window.shot('22-training')
    finally:
        window.end()


PARTS = {
    'steps': [reads_the_steps, chooses_a_kernel, takes_back_what_was_done],
    'debugging': [debugs_the_steps, finds_a_planted_rule, follows_a_spike, proves_a_step],
    'runs': [runs_in_part, drives_a_run, looks_into_a_call, sets_how_graphs_run, keeps_how_graphs_run, chooses_what_is_kept],
    'memory': [looks_at_every_view, sums_up, trains, plans_memory, sets_how_plans_are_made, derives_in_all_ways],
}


if __name__ == '__main__':
    sys.exit(driver.run(PARTS[PART]))
