#!/usr/bin/python3
"""What loops cost: processor time of an iteration of Loop and Scan, as they are, as tokens, and beside ONNX Runtime; of a
million iterations; and of a run whose events are looked at. All kinds take turns, so that what else happens on the machine
meets all of them; medians and ranges of the rounds. What a program takes to begin is measured with no iteration, and taken off.

    bench-flow.py IRSCOPE [--rounds N] [--peer PYTHON] [--only WORD]

PYTHON has onnxruntime and onnx: it runs this file with --peer-run, with all optimizations and one thread."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ITERATIONS = 20000
HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


def adds(n, first):
    names = [first] + [f'v{i}' for i in range(1, n)] + ['t']
    return ' '.join(f'{names[i + 1]} = Add ({names[i]}, one)' for i in range(n))


def loop(n, stacked):
    """A Loop of n Adds, 256 wide; its number of iterations is an input."""
    return (HEADER + f'g (int64 n, float[256] x) => (float[256] y{", float[M,256] rows" if stacked else ""})'
            ' <float[256] one = {' + ','.join(['1'] * 256) + '}> {\nyes = Constant <value = bool {1}> ()\n'
            f'y{", rows" if stacked else ""} = Loop (n, yes, x) <body = b (int64 i, bool go, float[256] s) => '
            f'(bool more, float[256] t{", float[256] row" if stacked else ""}) {{ more = Identity (go) {adds(n, "s")}'
            + (' row = Identity (t)' if stacked else '') + ' }>\n}\n')


def scan(n, _):
    """A Scan of n Adds over rows of 256; the rows are an input that is as long as there are iterations."""
    return (HEADER + 'g (int64 n, float[256] x) => (float[256] y, float[M,256] rows) <float[256] one = {'
            + ','.join(['1'] * 256) + '}, int64[1] wide = {256}, int64[1] ax = {0}> {\n'
            'm = Unsqueeze (n, ax)\nsize = Concat <axis = 0> (m, wide)\nxs = Expand (x, size)\n'
            'y, rows = Scan (x, xs) <num_scan_inputs = 1, body = b (float[256] s, float[256] r) => (float[256] t2, float[256] t) '
            f'{{ {adds(n, "r")} t2 = Add (s, t) }}>\n}}\n')


def selective(_, __):
    """The recurrence of a selective scan: h = a h + b, y = sum (c h), state [1,256,16]."""
    return (HEADER + 'g (int64 n, float[256] x) => (float[1,256,16] h, float[M,1,256] ys) <int64[1] ax = {0}, int64[1] last = {2}, '
            'int64[3] size = {1,256,16}, int64[1] one = {1}, float[1,256,16] h0 = {' + ','.join(['0'] * 4096) + '}> {\n'
            'col = Reshape (x, cs)\na1 = Expand (col, size)\nm = Unsqueeze (n, ax)\nfull = Concat <axis = 0> (m, size)\n'
            'as_ = Expand (a1, full)\n'
            'h, ys = Scan (h0, as_, as_) <num_scan_inputs = 2, body = b (float[1,256,16] s, float[1,256,16] a, float[1,256,16] bb) => '
            '(float[1,256,16] t, float[1,256] y) { u = Mul (a, s) t = Add (u, bb) v = Mul (t, a) y = ReduceSum <keepdims = 0> (v, last) }>\n}\n'
            ).replace('int64[1] one = {1}', 'int64[3] cs = {1,256,1}')


def scalar(_, __):
    return (HEADER + 'g (int64 n, float[256] x) => (float y) <float one = {1}, float zero = {0}> {\nyes = Constant <value = bool {1}> ()\n'
            'y = Loop (n, yes, zero) <body = b (int64 i, bool go, float s) => (bool more, float t) { more = Identity (go) t = Add (s, one) }>\n}\n')


# Name, what makes it, with what, iterations, whether it is run as tokens too, target beside ONNX Runtime
CASES = [('Loop, 1 node', loop, (1, False), ITERATIONS, True, 0.6), ('Loop, 1 node, stacked', loop, (1, True), ITERATIONS, True, 0.6),
         ('Loop, 5 nodes, stacked', loop, (5, True), ITERATIONS, True, 0.6), ('Loop, 20 nodes, stacked', loop, (20, True), ITERATIONS, True, 0.6),
         ('Scan, 1 node', scan, (1, True), ITERATIONS, False, 0.6), ('Scan, 5 nodes', scan, (5, True), ITERATIONS, False, 0.6),
         ('Scan, 20 nodes', scan, (20, True), ITERATIONS, False, 0.6),
         ('selective scan, state [1,256,16]', selective, (0, 0), 4000, False, 0.5), ('Loop, 1,000,000 Adds', scalar, (0, 0), 1000000, False, 0.6)]


def measured(command):
    """Processor time and peak of resident memory of a process, s and KiB; the system's part is left out. The peer says by
    itself what its second run took, as numpy takes long to begin, and not always the same."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    message = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f'{" ".join(command)}: {message.decode()}')
    return float(message) if '--peer-run' in command else usage.ru_utime, usage.ru_maxrss


def text(numbers, unit=1e6):
    return f'{statistics.median(numbers) * unit:.3g} ({min(numbers) * unit:.3g} to {max(numbers) * unit:.3g})'


def peer_run(path, n):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    inputs = {'n': numpy.array(n, numpy.int64), 'x': numpy.full(256, 0.5, numpy.float32)}
    session.run(None, inputs)
    begin = time.process_time()
    session.run(None, inputs)
    print(time.process_time() - begin)


def of_case(irscope, peer, folder, case):
    """Name -> command with the number of iterations in place of @."""
    name, make, arguments, _, as_tokens, _ = case
    path = os.path.join(folder, name.replace(' ', '_').replace(',', '') + '.onnxtxt')
    with open(path, 'w') as file:
        file.write(make(*arguments))
    run = [irscope, 'run', path, '--value', 'n=@', '--value', 'x=0.5', '--threads', '1', '--max-iterations', '2000000']
    commands = {'irscope': run, 'looked at': [irscope, 'play', path, '--summary', '--value', 'n=@', '--value', 'x=0.5',
                                              '--max-iterations', '2000000']}
    if as_tokens:
        lowered = path.replace('.onnxtxt', '-tokens.onnxtxt')
        subprocess.run([irscope, 'optimize', path, '--pass', 'lower-control-flow', '-o', lowered], check=True, stdout=subprocess.DEVNULL)
        commands['tokens'] = [lowered if word == path else word for word in run]
    if peer:
        onnx = path.replace('.onnxtxt', '.onnx')
        subprocess.run([irscope, 'convert', path, onnx], check=True, stdout=subprocess.DEVNULL)
        commands['peer'] = [peer, os.path.abspath(__file__), irscope, '--peer-run', onnx, '@']
    return commands


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('irscope')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--peer')
    parser.add_argument('--only', default='')
    parser.add_argument('--peer-run', nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer_run:
        peer_run(given.peer_run[0], int(given.peer_run[1]))
        return
    cases = [case for case in CASES if given.only in case[0]]
    with tempfile.TemporaryDirectory() as folder:
        commands = {case[0]: of_case(given.irscope, given.peer, folder, case) for case in cases}
        spent = {}
        for _ in range(given.rounds):
            for case in cases:
                for who, command in commands[case[0]].items():
                    times = [measured([word.replace('@', str(n)) if '@' in word else word for word in command])
                             for n in (case[3], 1)]
                    spent.setdefault((case[0], who), []).append(
                        ((times[0][0] - times[1][0]) / case[3], times[0][1] - times[1][1]))
    for case in cases:
        own = [time for time, _ in spent[case[0], 'irscope']]
        print(f'{case[0]}: {text(own)} us an iteration, {statistics.median(kib for _, kib in spent[case[0], "irscope"]):.0f} KiB more than of one')
        for who, what, target in (('tokens', 'as tokens', 3), ('looked at', 'with its events looked at', 1.2), ('peer', 'beside ONNX Runtime', case[5])):
            other = [time for time, _ in spent.get((case[0], who), [])]
            if other:
                ratios = [b / a for a, b in zip(own, other)] if who != 'peer' else [a / b for a, b in zip(own, other)]
                print(f'    {what}: {text(other)} us, {text(ratios, 1)} times'
                      f' (target {target}: {"met" if statistics.median(ratios) <= target else "open"})')


if __name__ == '__main__':
    sys.exit(main())
