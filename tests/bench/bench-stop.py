#!/usr/bin/python3
"""How long `irscope run` goes on after an interrupt: from the signal to its message, when the run has ended, and to the end
of the process, when the system has its memory back; at moments that are spread over a run and made by a fixed seed. A run that
ended before is left out.

    bench-stop.py IRSCOPE [--trials N] [--graph NAME]..."""

import argparse
import os
import random
import signal
import statistics
import subprocess
import tempfile
import time

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


def graph(inputs, outputs, body):
    return HEADER + f'g ({inputs}) => ({outputs}) {{\n{body}\n}}\n'


def tiny_nodes(n):
    nodes = [f'v{i + 1} = Add (v{i}, {"v%d" % (i // 2)})' for i in range(n)]
    return graph('float[8] v0', f'float[8] v{n}', '\n'.join(nodes))


def joined(n):
    nodes = [f'v{i} = Neg (x)' for i in range(n)]
    return graph('float[8] x', 'float[N] y',
                 '\n'.join(nodes) + '\ny = Concat <axis = 0> (' + ', '.join(f'v{i}' for i in range(n)) + ')')


def chain(shape, nodes):
    body = '\n'.join(f'v{i + 1} = {node.replace("@", f"v{i}")}' for i, node in enumerate(nodes))
    return graph(f'float[{shape}] v0', f'float[{shape}] v{len(nodes)}', body)


def doubled(n_bits, node):
    body = ''.join(f's{i + 1} = StringConcat (s{i}, s{i})\n' for i in range(n_bits))
    return graph('float[1] x', 'bool[1] y', 's0 = Constant <value_strings = ["a"]> ()\n' + body + node.replace('@', f's{n_bits}'))


def coupled(n_classes, n_rows):
    """Probabilities of classes out of those of pairs of them, by one support vector."""
    n_pairs = n_classes * (n_classes - 1) // 2
    numbers = ', '.join(f'{i % 7 / 7 - 0.4:.3f}' for i in range(n_pairs))
    attributes = ', '.join((f'rho = [{numbers}]', f'prob_a = [{numbers}]', f'prob_b = [{numbers}]', 'support_vectors = [1.0]',
                            'vectors_per_class = [' + ', '.join(['1'] + ['0'] * (n_classes - 1)) + ']',
                            'coefficients = [' + ', '.join(['0.5'] * (n_classes - 1)) + ']',
                            'classlabels_ints = [' + ', '.join(map(str, range(n_classes))) + ']'))
    return ('<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4]>\n'
            f'g (float[{n_rows},1] x) => (int64[N] y, float[N,M] z) {{\ny, z = ai.onnx.ml.SVMClassifier <{attributes}> (x)\n}}\n')


# Name -> what it is, the graph, options of the run.
GRAPHS = {
    'nodes': ('50,000 tiny nodes', lambda: tiny_nodes(50000), []),
    'many-nodes': ('500,000 tiny nodes', lambda: tiny_nodes(500000), []),
    'joined': ('50,000 values that one Concat joins', lambda: joined(50000), []),
    'product': ('products of 3000 by 3000', lambda: chain('3000,3000', ['MatMul (@, v0)'] * 4), []),
    'convolution': ('a convolution of a large picture',
                    lambda: graph('float[1,64,1000,1000] x, float[64,64,3,3] w', 'float[1,64,1000,1000] y',
                                  'y = Conv <pads = [1, 1, 1, 1]> (x, w)'), []),
    'row': ('normalization of one long row',
            lambda: graph('float[1,60000000] x, float[60000000] s', 'float[1,60000000] y',
                          'y = LayerNormalization (x, s, s)'), []),
    'sort': ('sorting 6,000,000 numbers',
             lambda: graph('float[6000000] x', 'float[6000000] y, int64[6000000] i',
                           'k = Constant <value = int64[1] {6000000}> ()\ny, i = TopK (x, k)'), []),
    'strings': ('6,000,000 strings',
                lambda: graph('float[6000000] x', 'string[6000000] z', 'y = Cast <to = 8> (x)\nz = StringConcat (y, y)'), []),
    'regex': ('a regular expression on a string of 128 MiB',
              lambda: doubled(27, 'y = RegexFullMatch <pattern = "(?:a|b)*+c?"> (@)'), []),
    'coupling': ('pairs of 1000 classes coupled', lambda: coupled(1000, 64), []),
    'sequence': ('a sequence of 3,000,000 tensors',
                 lambda: graph('float[3000000] x', 'float[N] y', 'q = SplitToSequence <axis = 0, keepdims = 0> (x)\n'
                               'y = ConcatFromSequence <axis = 0, new_axis = 1> (q)'), []),
    'kept': ('all values kept, 2 GiB in memory',
             lambda: chain('1,16,2048,2048', ['Exp (@)', 'Sin (@)', 'Softmax <axis = 3> (@)', 'Cos (@)',
                                              'Transpose <perm = [0, 1, 3, 2]> (@)', 'Sin (@)', 'Cos (@)']),
             ['--capture=all']),
    'spilled': ('all values kept, 2 GiB in a file',
                lambda: chain('1,16,2048,2048', ['Exp (@)', 'Sin (@)', 'Softmax <axis = 3> (@)', 'Cos (@)',
                                                 'Transpose <perm = [0, 1, 3, 2]> (@)', 'Sin (@)', 'Cos (@)']),
                ['--capture=all', '--capture-budget=1M']),
}


def interrupt(command, delay_s):
    """Milliseconds from the signal to the message and to the end; None: it had ended before."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(delay_s)
    if process.poll() is not None:
        return None
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.stderr.readline()
    message = time.monotonic()
    process.stderr.close()
    process.wait()
    return ((message - start) * 1000, (time.monotonic() - start) * 1000) if process.returncode != 0 else None


def measure(command, trials):
    """Seconds of a whole run, and what interrupt() says of those that were interrupted."""
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - start
    chance = random.Random(5)
    taken = [interrupt(command, chance.uniform(0.02, 0.95) * whole) for _ in range(trials)]
    return whole, [both for both in taken if both is not None]


def row(name, whole, taken):
    if not taken:
        return f'| {GRAPHS[name][0]} | {whole:.2f} | 0 | | |'
    columns = [f'{statistics.median(ms):.0f}, {max(ms):.0f}' for ms in zip(*taken)]
    return f'| {GRAPHS[name][0]} | {whole:.2f} | {len(taken)} | ' + ' | '.join(columns) + ' |'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('irscope')
    parser.add_argument('--trials', type=int, default=15)
    parser.add_argument('--graph', action='append', choices=list(GRAPHS))
    options = parser.parse_args()
    print('| run of | whole run s | interrupted | message ms: median, most | end ms |\n|---|---|---|---|---|')
    with tempfile.TemporaryDirectory(prefix='irscope-stop-') as folder:
        for name in options.graph or GRAPHS:
            path = os.path.join(folder, name + '.onnxtxt')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(GRAPHS[name][1]())
            print(row(name, *measure([options.irscope, 'run', '-q', *GRAPHS[name][2], path], options.trials)), flush=True)


if __name__ == '__main__':
    main()
