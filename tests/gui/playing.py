#!/usr/bin/python3
"""Control flow that is played, by keys and through AT-SPI alone: a loop as it is and as tokens. What the window says is
compared with what the command line says with --json. Arguments and needs are those of end-to-end.py; PART is

    playing     Newton's method: played, event by event and by iterations, written out; lowered, played as tokens with the
                same values, raised and compared with the file; then one of so many iterations that they are not all
                kept, as it is and as tokens"""

import json
import os
import re
import subprocess
import sys
import tempfile

import window as driver
from window import check, key, type_text

PART = sys.argv[1]
GUI, CLI, _, _, DATA = map(os.path.abspath, sys.argv[2:7])
SHOTS = sys.argv[7] if len(sys.argv) > 7 else None
NEWTON = os.path.join(DATA, 'examples', 'while-newton.onnxtxt')
GIVEN = {'a': '2', 'x': '1'}
NUMBERS = 'Numbers with commas between; one fills all of it'


def irscope(*arguments):
    values = [word for name, number in GIVEN.items() for word in ('--value', f'{name}={number}')]
    result = subprocess.run([CLI, *arguments, *values, '--json'], text=True, stdout=subprocess.PIPE)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


def opens(window, path):
    window.expect('label', 'Look inside a computation graph')
    key('ctrl+o')
    window.file_dialog('Open a Graph', path)
    window.expect('frame', re.escape(os.path.basename(path)) + ' — irscope')


def gives_numbers(window):
    key('ctrl+i')
    window.sheet('Inputs')
    for name, number in GIVEN.items():
        window.tab_to('combo box', f'{name}: what it is given')
        window.choose('End')
        window.expect('text', f'{name}: {NUMBERS}')
        window.tab_to('text', f'{name}: {NUMBERS}')
        key('ctrl+a')
        type_text(number)
    key('Escape')
    window.leaves('Inputs')


def series_of(path, name):
    """The mean of each iteration"""
    return [point['mean'] for point in irscope('tensor', path, name, '--series')['series']]


def press(window, role, name):
    window.tab_to(role, name)
    key('space')


def show_play(window):
    key('ctrl+shift+p')
    window.wait('the commands', lambda: len(window.titles()) > 1)
    type_text('show play')
    window.expect('list item', '.*Show Play.*')
    key('Return')


def page(window, name):
    """Tab goes through all rows of a table, so it begins at the top of the view."""
    show_play(window)
    window.expect_focus('push button', 'Play Again')
    press(window, 'push button', name)


def rows(window, table):
    """What a table says, row by row, as far as it is in sight."""
    found = window.find('tree table', table)
    return [node.name for node in found.walk() if node.role == 'table row' and node.name != 'Columns']


def tokens(window):
    """What lies before which box, as the canvas tells it."""
    return {box for box in window.boxes() if ', token' in box or ', iteration' in box}


def told(event):
    """An event as a row of the window."""
    place = f', {event["frame"]}, iteration {event["iteration"]}' if event['frame'] else ''
    slot = f', {event["slot"]}' if event['slot'] is not None else ''
    return f'{event["index"]}, {event["kind"]}, {event["node"]}{place}{slot}'


def plays_events(window):
    played = irscope('play', NEWTON)
    window.tab_to('push button', 'Play the Graph')
    key('space')
    window.expect('label', f'{played["n_events"]} of {played["n_events"]} events')
    wanted = [told(event) for event in played['events']]
    window.comes_to('the events are those of the command line', wanted[:20], lambda: rows(window, 'Events')[:20])
    follows_tokens(window, played['events'])


# A node of the body, what it gives, and the box that reads that.
CHAIN = (('add', 'sum', 'Mul halve'), ('miss', 'error', 'Abs size'))


def follows_tokens(window, events):
    """Event by event, on and back again: what a node gives lies before the one that reads it, until that has run."""
    at = {event['node'].split(' ')[0]: event['index'] for event in events if event['iteration'] == 0 and event['frame']}
    first = {value: irscope('tensor', NEWTON, f'loop@0/{value}')['mean'] for _, value, _ in CHAIN}

    def lies(value, box):
        return any(text.startswith(box) and f'token @0 {first[value]:.6g}' in text for text in window.boxes())

    press(window, 'push button', 'Next event (.)')
    now = 0
    for node, value, reader in CHAIN:
        key(*['period'] * (at[node] - now))
        now = at[node]
        window.comes_to(f'behind {node} its value lies before {reader}', True, lambda: lies(value, reader))
    key('comma')
    now -= 1
    window.comes_to('an event back it does not yet', False, lambda: lies('error', 'Abs size'))
    for node, value, reader in CHAIN[-2::-1]:
        key(*['comma'] * (now - at[node]))
        now = at[node]
        window.comes_to(f'back behind {node} its value lies before {reader} again', True, lambda: lies(value, reader))


def by_iterations(window):
    series = {name: series_of(NEWTON, f'loop/{name}')
              for name in ('guess', 'better', 'distance')}
    page(window, 'Iterations')
    window.expect('label', '1 of 5')
    for name, means in series.items():
        wanted = ', '.join([name] + [f'{mean:.6g}' for mean in means])
        window.comes_to(f'{name} holds in each iteration what the command line says', True,
                        lambda: wanted in rows(window, 'Values by iterations'))
    window.wait('tokens at once', lambda: tokens(window))
    check('tokens lie at the end of the iteration before the scrubber moves', True)
    first = tokens(window)
    window.tab_to('slider', 'Iteration')
    key('Right')
    window.expect('label', '2 of 5')
    window.comes_to('they move with it', True, lambda: tokens(window) not in (first, set()))
    key('End')
    window.expect('label', '5 of 5')
    done = [row for row in rows(window, 'Values by iterations') if row.startswith('more, ')]
    check('iteration 4 is the first whose condition is false', done == ['more, true, true, true, true, false'], done)
    return series


def written_out(window):
    page(window, 'Unrolled')
    window.tab_to('spin button', 'First iteration that is written out, from 0')
    key('ctrl+a')
    type_text('1')
    key('Return')
    chart = window.wait('the loop beside its iterations', lambda: next(
        (node for node in window.walk() if node.name.startswith('The loop, and iterations written out')), None))
    check('the loop is drawn beside iterations written out', chart is not None)


def adds_pass(window, name, all_passes):
    """Behind those that were chosen before, and runs them all."""
    steps = len(irscope('steps', NEWTON, '--pass', all_passes)['steps'])
    key('shift+F5')
    window.sheet('Choose Passes')
    type_text(name)
    window.expect('push button', f'Add: {name}')
    press(window, 'push button', f'Add: {name}')
    press(window, 'push button', 'Run')
    window.leaves('Choose Passes')
    window.expect('label', f'Step {steps} of {steps}')


def plays_as_tokens(window, series):
    """The same values move through Switch and Merge."""
    window.wait('that the events are of another step', lambda: window.text_with('play again'))
    show_play(window)
    window.expect_focus('push button', 'Play Again')
    key('space')
    window.wait('that they are not', lambda: not window.text_with('play again'))
    page(window, 'Iterations')
    window.expect('label', '1 of 6')  # the last one only finds that it is over
    for name in ('better', 'distance'):
        wanted = ', '.join([name] + [f'{mean:.6g}' for mean in series[name]])
        window.comes_to(f'{name} holds the same as a token', True,
                        lambda: any(row.startswith(wanted) for row in rows(window, 'Values by iterations')))


def saves(window, path):
    key('ctrl+shift+s')
    window.file_dialog('Save the Graph As', path)
    window.wait('the file', lambda: os.path.exists(path))


def is_back(window):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'raised.onnxtxt')
        saves(window, path)
        found = json.loads(subprocess.run([CLI, 'diff', NEWTON, path, '--json'], text=True, stdout=subprocess.PIPE).stdout)
        check('raised it is the file again', found['nodes'] == [], found)


def plays_a_loop():
    window = driver.Window(GUI, shots=SHOTS)
    opens(window, NEWTON)
    gives_numbers(window)
    show_play(window)
    plays_events(window)
    window.shot('play-events')
    series = by_iterations(window)
    window.shot('play-iterations')
    written_out(window)
    window.shot('play-unrolled')
    adds_pass(window, 'lower-control-flow', 'lower-control-flow')
    plays_as_tokens(window, series)
    window.shot('play-tokens')
    adds_pass(window, 'raise-control-flow', 'lower-control-flow,raise-control-flow')
    is_back(window)
    window.end()


MANY = 60000


def many_iterations(folder):
    """The same, as a loop that never finds that it is near enough."""
    path = os.path.join(folder, 'many.onnxtxt')
    with open(NEWTON) as text, open(path, 'w') as many:
        many.write(text.read().replace('int64 {100}', f'int64 {{{MANY}}}').replace('double {1e-12}', 'double {-1.0}'))
    return path


def opens_many(window, path, n_rounds):
    """Plays it, and goes to its last iteration but @n_rounds."""
    opens(window, path)
    gives_numbers(window)
    show_play(window)
    window.tab_to('push button', 'Play the Graph')
    key('space')
    window.wait('events', lambda: window.text_with(' events'))
    page(window, 'Iterations')
    window.expect('label', f'1 of {n_rounds:,}')
    window.tab_to('slider', 'Iteration')
    key('End')
    window.expect('label', f'{n_rounds:,} of {n_rounds:,}')


def holds(window, name, values):
    wanted = ', '.join([name] + values)
    window.comes_to(f'{name} holds in the last iterations what the command line says', True,
                    lambda: wanted in rows(window, 'Values by iterations'))


def has_events(window, path, iteration):
    """Where it stands events are those of the command line by their numbers, and some of them of @iteration."""
    page(window, 'Events')
    window.comes_to('events of that iteration are there', True,
                    lambda: any(f', iteration {iteration}' in row for row in rows(window, 'Events')))
    seen = rows(window, 'Events')
    first = int(seen[0].split(',')[0])
    played = irscope('play', path, '--events', f'{first}:{first + len(seen)}')
    check('they are those of the command line', [told(event) for event in played['events']] == seen, seen)


def plays_many():
    """What is not kept is played again where the scrubber stands, with the same events and values."""
    with tempfile.TemporaryDirectory() as folder:
        path = many_iterations(folder)
        window = driver.Window(GUI, shots=SHOTS)
        opens_many(window, path, MANY)
        guess = irscope('tensor', path, f'loop@{MANY - 1}/guess')['mean']  # it was found long before
        holds(window, 'i', [f'{value:.6g}' for value in range(MANY - 5, MANY)])
        holds(window, 'guess', 5 * [f'{guess:.6g}'])
        window.comes_to('tokens lie there as they were', True,
                        lambda: any(f'@{MANY - 1}' in text for text in tokens(window)))
        window.shot('play-many')
        has_events(window, path, MANY - 5)
        window.end()


def plays_many_as_tokens():
    """The same lowered: of tokens, of which several iterations are in flight; of the last the condition alone was computed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'tokens.onnxtxt')
        subprocess.run([CLI, 'optimize', many_iterations(folder), '--pass', 'lower-control-flow', '-o', path], check=True,
                       stdout=subprocess.DEVNULL)
        window = driver.Window(GUI, shots=SHOTS)
        opens_many(window, path, MANY + 1)
        holds(window, 'Merge_1', [f'{value:.6g}' for value in range(MANY - 4, MANY + 1)])
        key('Left', 'Left')
        window.comes_to('tokens lie there as they were', True,
                        lambda: any(f'@{MANY - 2}' in text for text in tokens(window)))
        window.shot('play-many-tokens')
        has_events(window, path, MANY - 5)
        window.end()


PARTS = {'playing': [plays_a_loop, plays_many, plays_many_as_tokens]}


if __name__ == '__main__':
    sys.exit(driver.run(PARTS[PART]))
