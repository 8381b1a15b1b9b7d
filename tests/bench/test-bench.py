#!/usr/bin/python3
"""The code that measures, quickly and without the peers: intervals, verdicts, tables, pairs, what is kept from run to
run, and that every program says what its readers take; no time is judged. Prints TAP.

    test-bench.py IRSCOPE SOURCE_ROOT BENCH_CAPTURE BENCH_PARALLEL BENCH_PROOF BENCH_STATS BENCH_HISTORY"""

import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from contextlib import redirect_stderr, redirect_stdout

IRSCOPE, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
PROGRAMS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[3:]}
MODEL = os.path.join(ROOT, 'data/examples/digits.onnx')
WORK = tempfile.mkdtemp(prefix='irscope-bench-')


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace('-', '_'), os.path.join(ROOT, 'tests/bench', name + '.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


peers, memory, stop, flow = load('bench-peers'), load('bench-memory'), load('bench-stop'), load('bench-flow')


def entry(pair, ours, theirs, **others):
    side = {'open_ms': 1, 'pipeline_ms': 2, 'prepare_ms': 3, 'rss': 5 << 20, 'first_ms': 1, 'version': 'V'}
    return {'build': 'b', 'name': 'N', 'threads': 1, 'pair': pair, 'load': 0.5, 'irscope': {**side, 'run_ms': ours},
            'peer': {**side, 'prepare_ms': 12, 'run_ms': theirs}, **others}


def options(**others):
    return types.SimpleNamespace(pipeline='default', threads=[1, 2], pairs=2, capture_pairs=1, budget=None, seconds=0.05,
                                 warmup=1, irscope=IRSCOPE, folder=WORK, **others)


# -- the peers' table --


def an_interval_holds_the_median_and_is_as_wide_as_the_ratios_say():
    assert peers.interval([0.9] * 15) == (0.9, 0.9, 0.9)
    ratios = [0.8 + 0.01 * i for i in range(21)]
    median, low, high = peers.interval(ratios)
    assert abs(median - 0.9) < 1e-9 and 0.8 < low < median < high < 1.0, (low, median, high)
    assert peers.interval(ratios) == (median, low, high), 'the draws are not the same in every run'
    # The binomial interval of a median of 21, exactly: the 6th and the 16th.
    assert abs(low - 0.85) < 0.015 and abs(high - 0.95) < 0.015, (low, high)
    wide = peers.interval([0.5] * 7 + [0.9] + [1.3] * 7)
    assert wide[1] == 0.5 and wide[2] == 1.3, wide


def a_target_is_met_by_median_and_upper_end_of_enough_pairs():
    assert peers.verdict([0.99] * 15) == 'met'
    assert peers.verdict([1.01] * 15) == 'missed'
    assert peers.verdict([0.99] * 14) == 'too few pairs'
    assert peers.verdict([0.95] * 8 + [1.2] * 7) == 'missed', 'its upper end is above 1.05'


def ratios_are_those_of_a_pair_and_leave_out_what_is_missing():
    entries = [entry(0, 1, 2), entry(1, 3, 4), {'irscope': {'run_ms': 1}}]
    ratios = peers.ratios_of(entries, peers.field('irscope', 'run_ms'), peers.field('peer', 'run_ms'))
    assert ratios == [0.5, 0.75], ratios
    assert peers.cell([]) == '' and peers.cell([0.5]) == '0.50 (0.50 to 0.50)'
    assert peers.ready_ms(entries[0]) == 6


def a_table_has_a_row_for_each_model_and_number_of_threads():
    captured = {'captured': {'captured_ms': 22, 'run_ms': 20, 'captured_rss': 30}, 'peer_captured': {'run_ms': 90, 'rss': 60},
                'original': {'captured_ms': 60}}
    results = {('N', 1): {i: entry(i, 30, 60, **captured) for i in range(2)}, ('N', 2): {0: entry(0, 9, 6)}}
    text = peers.table(results, ['N', 'M'], options())
    rows = [line for line in text.splitlines() if line.startswith('| N |')]
    assert rows[0] == '| N | 1 | 2 | 0.50 (0.50 to 0.50) | too few pairs | 30.000 | 60.000 |', rows[0]
    assert rows[1].startswith('| N | 2 | 1 | 1.50 (1.50 to 1.50) | too few pairs |'), rows[1]
    assert '| 0.25 (0.25 to 0.25) | 0.50 (0.50 to 0.50) | 1.0 |' in rows[2], rows[2]
    assert rows[4] == '| N | 1 | 1.10 (1.10 to 1.10) | 2.00 (2.00 to 2.00) | 1.50 (1.50 to 1.50) | 0.50 (0.50 to 0.50) |', rows[4]
    assert len(rows) == 5 and 'M |' not in text
    assert peers.table({}, ['N'], options()) == 'Nothing is measured.\n'


def the_table_takes_its_place_and_nothing_else_changes():
    os.makedirs(os.path.join(WORK, 'docs'))
    path = os.path.join(WORK, 'docs/BENCHMARKS.md')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'before\n{peers.BEGIN}\nold\n{peers.END}\nafter\n')
    root, peers.ROOT = peers.ROOT, WORK
    try:
        peers.write_table('new\n')
        peers.write_table('newer\n')
    finally:
        peers.ROOT = root
    with open(path, encoding='utf-8') as file:
        assert file.read() == f'before\n{peers.BEGIN}\n\nnewer\n\n{peers.END}\nafter\n'


def who_comes_first_changes_and_capture_is_measured_in_some_pairs():
    calls = []
    before = peers.run_irscope, peers.run_peer
    peers.run_irscope = lambda job, pipeline, captured, _: calls.append(('ours', pipeline, captured)) or {'run_ms': 1}
    peers.run_peer = lambda job, captured, _: calls.append(('theirs', captured)) or {'run_ms': 1}
    try:
        first = peers.measure_pair({}, 0, options())
        n_first = len(calls)
        second = peers.measure_pair({}, 1, options())
    finally:
        peers.run_irscope, peers.run_peer = before
    assert sorted(first) == ['captured', 'irscope', 'original', 'peer', 'peer_captured'], first
    assert calls[:2] == [('ours', 'default', False), ('theirs', False)] and ('ours', None, True) in calls[:n_first]
    assert sorted(second) == ['irscope', 'peer'] and calls[n_first:] == [('theirs', False), ('ours', 'default', False)]


def a_call_that_was_stopped_goes_on_and_another_binary_begins_anew():
    path, asked = os.path.join(WORK, 'results.jsonl'), []
    names = ('make_model', 'describe', 'make_captured', 'measure_pair')
    before = {name: getattr(peers, name) for name in names}
    peers.make_model, peers.make_captured = lambda *_: True, lambda *_: None
    peers.describe = lambda _: {'model': 'm'}
    peers.measure_pair = lambda job, index, _: asked.append((job['threads'], index)) or {
        'irscope': {'run_ms': 1}, 'peer': {'run_ms': 2}}
    try:
        with redirect_stderr(io.StringIO()):
            peers.measure(options(), ['N'], 'one', path)
            assert asked == [(1, 0), (2, 0), (1, 1), (2, 1)], asked
            asked.clear()
            more = options()
            more.pairs = 3
            peers.measure(more, ['N'], 'one', path)
            assert asked == [(1, 2), (2, 2)], asked
            peers.measure(options(), ['N'], 'two', path)
    finally:
        for name in names:
            setattr(peers, name, before[name])
    assert len(asked) == 6 and sorted(peers.read_results(path, 'one')['N', 2]) == [0, 1, 2]
    assert sorted(peers.read_results(path, 'two')['N', 2]) == [0, 1]


def a_process_of_irscope_tells_what_the_table_needs():
    for pipeline, captured in (('default', False), (None, True)):
        found = peers.run_irscope({'model': MODEL, 'threads': 1, 'inputs': {}, 'dims': {}}, pipeline, captured, options())
        needed = ['open_ms', 'pipeline_ms', 'prepare_ms', 'first_ms', 'run_ms', 'rss']
        needed += ['captured_ms', 'captured_first_ms', 'captured_rss'] if captured else []
        for key in needed:
            assert found[key] > 0 or (key == 'pipeline_ms' and pipeline is None), (key, found)


# -- memory --


def placements_are_checked_in_every_form():
    folder = os.path.join(WORK, 'instances')
    os.makedirs(folder)
    rows = 'id,lower,upper,size\n0,0,2,4\n1,1,3,4\n2,2,4,4\n'
    for name in ('fits.8.csv', 'tight.7.csv', 'no-instance.csv'):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(rows)
    argv, sys.argv = sys.argv, ['bench-memory.py', IRSCOPE, folder, '--time-limit', '1', '--seeds', '2']
    out = io.StringIO()
    try:
        with redirect_stdout(out):
            memory.main()
    finally:
        sys.argv = argv
    lines = out.getvalue().splitlines()
    assert lines[0] == '| instance | buffers | as is | ids shuffled | time reversed | sizes tripled | 2 seeds |', lines
    assert re.fullmatch(r'\| fits \| 3 (\| \d+\.\d\d ){4}\| \d.*\|', lines[2]), lines[2]
    assert lines[3].count('missed after') == 4 and 'missed 2' in lines[3], lines[3]
    assert len(lines) == 5, lines


# -- the programs --


def run(name, *arguments):
    done = subprocess.run([PROGRAMS[name], *arguments], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, (name, done.returncode, done.stderr)
    return done.stdout


def one(answer):
    answer = json.loads(answer)
    return answer[0] if isinstance(answer, list) else answer


def capture_is_compared_round_by_round():
    found = one(run('bench-capture', '--rounds', '3', '--runs', '2', MODEL))
    for key in ('wall_ratio', 'cpu_ratio'):
        assert found[key]['runs'] == 3 and 0 < found[key]['min'] <= found[key]['median'] <= found[key]['max'], found
    assert found['captured']['value_bytes'] > found['plain']['value_bytes'] > 0, found
    found = one(run('bench-capture', '--step', '--rounds', '3', '--runs', '2', MODEL))
    assert found['stops_per_run'] > 5 and found['wall_ratio']['runs'] == 3 and 'captured' not in found, found


def nodes_beside_each_other_are_compared_in_pairs():
    found = one(run('bench-parallel', '--threads', '2', '--pairs', '3', MODEL))
    assert found['ratio_low'] <= found['ratio'] <= found['ratio_high'] and found['apart_ms']['runs'] == 3, found


def proofs_are_compared_to_their_parts():
    found = one(run('bench-proof', '--runs', '1', MODEL))
    assert found['steps'] > 0 and found['proof']['broken'] == 0 and found['captured_run_ms']['median'] > 0, found


def pipelines_are_compared_to_the_model_as_it_is():
    rows = run('bench-pipelines', '--pairs', '3', '--pipelines', 'basic,deploy', MODEL, MODEL).splitlines()
    assert len(rows) == 4 and all(re.search(r'[\d.]+ \([\d.]+ to [\d.]+\)', row) for row in rows), rows
    assert 'basic' in rows[0] and 'deploy' in rows[1], rows
    few, all_of_them = (re.search(r'(\d+) -> +(\d+) nodes', row).groups() for row in rows[:2])
    assert few[0] == all_of_them[0] and int(all_of_them[1]) <= int(few[1]) < int(few[0]), rows
    image = os.path.join(ROOT, 'data/examples/digits-input-7.npy')
    rows = run('bench-pipelines', '--pairs', '3', '--processor', '--input', f'image={image}', MODEL).splitlines()
    assert len(rows) == 2 and 'default' in rows[1], rows


def rewrites_are_compared_on_a_grid_of_shapes():
    done = subprocess.run([sys.executable, os.path.join(ROOT, 'tests/bench/bench-rewrites.py'), PROGRAMS['bench-pipelines'],
                           '--pairs', '3', '--only', 'bias.scores.heads'], capture_output=True, text=True, timeout=250, check=False)
    rows = done.stdout.splitlines()
    assert done.returncode == 0 and len(rows) == 7 and rows[-1].startswith('6 cases, '), done.stdout + done.stderr
    for row in rows[:-1]:
        assert re.match(r'bias\.scores\.heads +[\dx]+ +2 -> +1 +[\d.]+ -> +[\d.]+ us +[\d.]+ \(', row), row


def statistics_are_rated_for_every_type():
    text = run('bench-stats', '--elements', '4096', '--rounds', '3')
    assert 'float' in text and 'int8' in text and len(text.splitlines()) >= 4, text


def first_views_of_what_is_inside_are_timed():
    text = run('bench-inside', '--megabytes', '5', '--nodes', '50', '--rounds', '3')
    assert len(re.findall(r'^(?:tensor, |summary).*\d\.\d\d ', text, re.M)) == 3, text


def jumps_in_a_history_are_timed():
    assert re.search(r'\d', run('bench-history', '100', '50')), 'bench-history'


def what_goes_on_after_an_interrupt_is_timed():
    ends = ['sh', '-c', 'trap "sleep 0.2; echo no >&2; sleep 0.2; exit 3" INT; while :; do sleep 0.01; done']
    message, end = stop.interrupt(ends, 0.2)
    assert message >= 200 and end >= message + 150, (message, end)
    assert stop.interrupt(['true'], 0.2) is None, 'it had ended before'
    assert stop.interrupt(['sh', '-c', 'trap "exit 0" INT; while :; do sleep 0.01; done'], 0.2) is None, 'it ended well'
    whole, taken = stop.measure([IRSCOPE, 'run', '-q', MODEL], 2)
    assert whole > 0 and len(taken) <= 2, (whole, taken)
    assert stop.row('nodes', 1.5, [(1, 10), (7, 30), (2, 20)]) == '| 50,000 tiny nodes | 1.50 | 3 | 2, 7 | 20, 30 |'
    assert stop.row('nodes', 1.5, []) == '| 50,000 tiny nodes | 1.50 | 0 | | |'


def graphs_to_interrupt_are_read():
    small = {'nodes': stop.tiny_nodes(3), 'joined': stop.joined(3), 'chain': stop.chain('2,2', ['Exp (@)', 'MatMul (@, v0)'])}
    for name, text in small.items():
        path = os.path.join(WORK, name + '.onnxtxt')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        subprocess.run([IRSCOPE, 'run', '-q', path], check=True, stdout=subprocess.DEVNULL)


def iterations_are_had_again():
    text = run('bench-parts', '--times', '3', os.path.join(ROOT, 'data/examples/while-newton.onnxtxt'), 'loop', 'better', '2', '1')
    assert '5 iterations, 46 events' in text and 'a value: ' in text, text


def loops_that_are_measured_run():
    for case in flow.CASES:
        for who, command in flow.of_case(IRSCOPE, None, WORK, case).items():
            seconds, kib = flow.measured([word.replace('@', '3') for word in command])
            assert 0 <= seconds < 60 and kib > 1000, (case[0], who, seconds, kib)
    assert flow.text([1e-6, 3e-6, 2e-6]) == '2 (1 to 3)'


TESTS = [value for value in list(globals().values()) if isinstance(value, types.FunctionType) and
         value.__module__ == '__main__' and value.__name__ not in ('load', 'entry', 'options', 'run', 'one')]
failed = 0
for number, test in enumerate(TESTS, 1):
    try:
        test()
        print(f'ok {number} {test.__name__.replace("_", " ")}', flush=True)
    except (AssertionError, KeyError, IndexError, OSError, ValueError, subprocess.SubprocessError) as error:
        failed += 1
        print(f'not ok {number} {test.__name__.replace("_", " ")}', flush=True)
        print(''.join(f'# {line}\n' for line in repr(error)[:1500].splitlines()), end='', flush=True)
print(f'1..{len(TESTS)}')
sys.exit(failed > 0)
