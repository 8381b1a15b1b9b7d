"""What the two parts of docs/CONFORMANCE.md have in common: which operators a case has, the tables,
and the reasons that are no fault of the program.  Python's own library only."""

import collections
import fnmatch
import json
import os
import subprocess

# Why cases do not pass, where what the program says is not the reason; patterns of names.
REASONS = (
    ('node/test_bernoulli*',
     'the standard leaves the random generator open; the data are those of NumPy with a seed that the model does not name'),
    ('node/test_adam_multiple',
     'the data were computed with epsilon = 0.01, which the model does not say; later releases of onnx do, and there it passes'),
    ('node/test_dft_inverse*',
     'the wanted value is rounding noise of NumPy where the exact result is 0: 1.9e-7, above the tolerance of 1e-7 for zeros'),
    ('node/test_image_decoder_*',
     'ImageDecoder has no kernel: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP would need a decoder each'),
)

HEADER = """# Conformance

The ONNX backend tests as `irscope conformance` runs them: each case once with the reference kernels and once
with the CPU back end, in a child process; it passes when both give the number, types and shapes of the outputs that the data
have, every element within 1e-7 + 1e-3 |wanted|, NaN where NaN is wanted, strings byte by byte, and when no type that inference
gave contradicts what was computed. The tables are generated; do not edit them by hand.

<!-- debian: begin -->
<!-- debian: end -->

<!-- newest: begin -->
<!-- newest: end -->
"""


# -- which operators a model has, from its wire format --

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, content) of a message's fields; content is bytes for those with a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def graph_operators(graph, found):
    for number, node in fields(graph):
        if number != 1:  # GraphProto.node
            continue
        name, domain = '', ''
        for part, value in fields(node):
            if part == 4:
                name = value.decode()
            elif part == 7:
                domain = value.decode()
            elif part == 5:  # attribute: one graph (6) or several (11)
                for kind, content in fields(value):
                    if kind in (6, 11):
                        graph_operators(content, found)
        found.add(name if domain in ('', 'ai.onnx') else f'{domain}.{name}')


def operators(path):
    """Names of the operators of a model's graph and its subgraphs."""
    found = set()
    with open(path, 'rb') as file:
        for number, value in fields(file.read()):
            if number == 7:  # ModelProto.graph
                graph_operators(value, found)
    return found


# -- running --

def run(irscope, directory, *options):
    """The program's own report, as its JSON says it."""
    done = subprocess.run([irscope, 'conformance', '--json', *options, directory], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f'irscope conformance: {done.stderr.strip()}')
    return json.loads(done.stdout)


def reason(case):
    for pattern, text in REASONS:
        if fnmatch.fnmatch(case['name'], pattern):
            return text
    return case.get('reason', 'no reason was given')


# -- tables --

def percent(part, whole):
    return f'{100 * part / whole:.1f} %' if whole else '-'


def totals(report):
    cases = report['cases']
    groups = collections.OrderedDict()
    for case in cases:
        group = case['name'].split('/')[0]
        groups.setdefault(group, []).append(case['status'] == 'passed')
    lines = ['| cases | passed | of | |', '|---|---:|---:|---:|']
    for group, results in groups.items():
        lines.append(f'| {group} | {sum(results)} | {len(results)} | {percent(sum(results), len(results))} |')
    lines.append(f'| all | {report["passed"]} | {report["total"]} | {percent(report["passed"], report["total"])} |')
    return lines


def on_cpu(report):
    """What ran on kernels of the CPU back end and what it handed to the reference."""
    nodes = report['nodes']
    return ['', f'With the CPU back end {nodes["cpu"]} nodes ran on its own kernels, {nodes["ref"]} on reference kernels, '
                f'{nodes["runner"]} are control flow; in {report["cases_on_cpu"]} cases every node ran on kernels of its own.']


def by_operator(report, directory):
    """Cases per operator: each counts for every operator of its graph."""
    counts = collections.defaultdict(lambda: [0, 0])
    for case in report['cases']:
        for name in operators(os.path.join(directory, case['name'], 'model.onnx')):
            counts[name][0] += case['status'] == 'passed'
            counts[name][1] += 1
    rows = [f'{name} {passed}/{total}' + ('' if passed == total else ' (!)')
            for name, (passed, total) in sorted(counts.items(), key=lambda item: (item[0].lower(), item[0]))]
    columns = 5
    height = -(-len(rows) // columns)
    lines = ['|' + ' operator passed/cases |' * columns, '|' + '---|' * columns]
    for i in range(height):
        cells = [rows[column * height + i] if column * height + i < len(rows) else '' for column in range(columns)]
        lines.append('| ' + ' | '.join(cells) + ' |')
    return lines


def failures(report):
    """Every case that did not pass; those with the same reason in one row."""
    groups = collections.OrderedDict()
    for case in report['cases']:
        if case['status'] != 'passed':
            groups.setdefault((reason(case).replace('|', '\\|'), case['status']), []).append(case['name'])
    if not groups:
        return ['Every case passed.']
    lines = ['| reason | status | cases |', '|---|---|---|']
    for (text, status), names in groups.items():
        lines.append(f'| {text} | {status} | {", ".join(names)} |')
    return lines


# -- the file --

def mark(part, end):
    return f'<!-- {part}: {"end" if end else "begin"} -->'


def part_of(text, part):
    """What stands between the marks of a part; None if they are missing."""
    begin, end = text.find(mark(part, False)), text.find(mark(part, True))
    if begin < 0 or end < begin:
        return None
    return text[begin + len(mark(part, False)):end].strip('\n')


def replace_part(path, part, lines):
    text = HEADER
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            text = file.read()
    begin = text.index(mark(part, False)) + len(mark(part, False))
    text = text[:begin] + '\n' + '\n'.join(lines) + '\n' + text[text.index(mark(part, True)):]
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.write(text)
    os.replace(path + '.new', path)
