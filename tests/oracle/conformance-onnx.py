#!/usr/bin/env python3
"""The newest ONNX backend tests: irscope against ONNX Runtime, on the same cases under one rule.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI, which
Debian 12 does not have:

    python3 -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx onnxruntime ml_dtypes pillow
    /tmp/onnx/bin/python tests/oracle/conformance-onnx.py build/irscope . --write

The cases are those of the installed onnx: its node cases, written by its own command, and the models
that it ships (simple, pytorch-converted, pytorch-operator).  They go to --data, made if it is not
there (default: a folder below the temporary directory that names the version).  ONNX Runtime gets
each case in a process that may crash, with tensors of types that NumPy lacks handed over as bytes,
and its outputs are compared by the official runner's assert_similar_outputs().

Prints both scores; with --write it writes the second part of docs/CONFORMANCE.md."""

import argparse
import contextlib
import ctypes
import datetime
import glob
import json
import os
import platform
import re
import select
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'conformance'))
import report as r  # noqa: E402

SECONDS = 120  # for one case in ONNX Runtime
SHIPPED = ('simple', 'pytorch-converted', 'pytorch-operator')


# -- cases --

def write_cases(directory):
    """The cases of the installed onnx.  Its command generates the models only, since 1.23; the node
    cases are put beside them, so that its own code writes both."""
    import onnx.backend.test
    from onnx.backend.test import cmd_tools
    from onnx.backend.test.case import node

    fresh = directory + '.new'
    shutil.rmtree(fresh, ignore_errors=True)
    data = os.path.join(os.path.dirname(onnx.backend.test.__file__), 'data')
    for kind in SHIPPED:
        shutil.copytree(os.path.join(data, kind), os.path.join(fresh, kind))
    models = cmd_tools.model_test.collect_testcases
    cmd_tools.model_test.collect_testcases = lambda: models() + node.collect_testcases()
    try:
        cmd_tools.generate_data(argparse.Namespace(output=fresh))
    finally:
        cmd_tools.model_test.collect_testcases = models
    shutil.rmtree(os.path.join(fresh, 'real'), ignore_errors=True)  # names of downloads, no models
    os.rename(fresh, directory)


# -- ONNX Runtime, in a child --

def is_plain(array):
    import numpy as np

    return isinstance(array, np.ndarray) and array.dtype.kind in 'biufcO' and array.dtype.isbuiltin == 1


def to_ort(value):
    """An OrtValue of an array, by its bytes where NumPy does not know the type."""
    import onnxruntime
    from onnx import numpy_helper

    if is_plain(value):
        return onnxruntime.OrtValue.ortvalue_from_numpy(value)
    tensor = numpy_helper.from_array(value)
    made = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(value.shape), tensor.data_type)
    ctypes.memmove(made.data_ptr(), tensor.raw_data, len(tensor.raw_data))
    return made


def from_ort(value):
    import onnx
    from onnx import numpy_helper

    # Strings and sequences have no bytes to look at.
    if not value.is_tensor() or value.element_type() == onnx.TensorProto.STRING:
        return value.numpy()
    tensor = onnx.TensorProto(data_type=value.element_type(), dims=value.shape())
    tensor.raw_data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return numpy_helper.to_array(tensor)


def call_session(session, feeds):
    """As ONNX Runtime's own backend calls it; by OrtValues where that cannot carry the types."""
    try:
        outputs = session.run(None, feeds)
    except Exception as first:
        try:
            values = session.run_with_ort_values(None, {name: to_ort(value) for name, value in feeds.items()})
            return [from_ort(value) for value in values]
        except Exception:
            raise first from None
    return outputs


def open_session(path, model):
    """The session, and whether the model opened as it is.  A release that is older than the cases
    refuses their IR version before it looks at the operators: then the versions of the format and of
    the opset, and nothing else, are lowered to its own."""
    import onnx
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(path, settings, providers=['CPUExecutionProvider']), True
    except Exception as error:
        limit = re.search(r'max supported IR version: (\d+)', str(error))
        if limit is None:
            raise
    model.ir_version = int(limit.group(1))
    known = max(row[2] for row in onnx.helper.VERSION_TABLE if row[1] <= model.ir_version)
    for opset in model.opset_import:
        if opset.domain in ('', 'ai.onnx'):
            opset.version = min(opset.version, known)
    return onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=['CPUExecutionProvider']), False


def run_case(case):
    """Runs a case; says whether its model opened as it is.  An exception says why it did not pass."""
    import onnx
    from onnx.backend.test.runner import Runner

    path = os.path.join(case, 'model.onnx')
    model = onnx.load(path)
    session, as_is = open_session(path, model)
    loader = Runner.__new__(Runner)  # its constructor would collect all cases
    for folder in sorted(glob.glob(os.path.join(case, 'test_data_set*'))):
        inputs, wanted = [], []
        for kind, values, declared in (('input', inputs, model.graph.input), ('output', wanted, model.graph.output)):
            for i in range(len(glob.glob(os.path.join(folder, kind + '_*.pb')))):
                loader._load_proto(os.path.join(folder, f'{kind}_{i}.pb'), values, declared[i].type)
        feeds = {put.name: value for put, value in zip(session.get_inputs(), inputs)}
        outputs = call_session(session, feeds)
        Runner.assert_similar_outputs(wanted, outputs, rtol=1e-3, atol=1e-7)
    return as_is


def worker():
    """Reads folders, one a line; answers each by a line of JSON."""
    channel = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                answer = 'passed' if run_case(line.rstrip('\n')) else 'passed with lower versions'
        except BaseException as error:  # whatever it is, the case has failed
            answer = f'{type(error).__name__}: ' + ' '.join(str(error).split())
        channel.write(json.dumps(answer) + '\n')
        channel.flush()


class Child:
    """A process that runs cases, started anew after a crash or a case that takes too long."""

    def __init__(self, locales):
        self.process, self.locales = None, locales

    def start(self):
        environment = dict(os.environ, ALLOW_RELEASED_ONNX_OPSET_ONLY='0')
        if self.locales is not None:
            environment['LOCPATH'] = self.locales
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), '--worker'], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)

    def ask(self, case):
        if self.process is None:
            self.start()
        self.process.stdin.write(case.encode() + b'\n')
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        answer = self.process.stdout.readline() if ready else b''
        if answer:
            return json.loads(answer)
        self.process.kill()
        status = self.process.wait()
        self.process = None
        return f'took more than {SECONDS} s' if not ready else f'crashed (signal {-status})'

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def make_locale(directory):
    """A folder with the locale that StringNormalizer of ONNX Runtime needs, if it can be made."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        subprocess.run(['localedef', '-i', 'en_US', '-f', 'UTF-8', os.path.join(directory, 'en_US.UTF-8')],
                       check=True, capture_output=True)
        return directory
    return None


def run_onnxruntime(names, data, locales):
    """{case: "passed", "passed with lower versions", or why not}"""
    child, results = Child(locales), {}
    for i, name in enumerate(names):
        if sys.stderr.isatty():
            print(f'\rONNX Runtime: {i} of {len(names)}', end='', file=sys.stderr)
        results[name] = child.ask(os.path.join(data, name))
    child.stop()
    if sys.stderr.isatty():
        print('\r\033[K', end='', file=sys.stderr)
    return results


# -- the report --

def versions():
    import importlib.metadata as metadata

    return {name: metadata.version(name) for name in ('onnx', 'onnxruntime', 'numpy')}


def has_passed(answer):
    return answer.startswith('passed')


def scores(theirs):
    """Passed as the cases are, and passed at all."""
    return sum(answer == 'passed' for answer in theirs.values()), sum(map(has_passed, theirs.values()))


def part(ours, theirs, found, data):
    passed, lowered = scores(theirs)
    only_ours = sum(case['status'] == 'passed' and not has_passed(theirs[case['name']]) for case in ours['cases'])
    only_theirs = [case['name'] for case in ours['cases'] if case['status'] != 'passed' and has_passed(theirs[case['name']])]
    date = datetime.date.today().isoformat()
    return [
        '', f'## The newest ONNX: the cases of onnx {found["onnx"]} of PyPI', '',
        '`tests/oracle/conformance-onnx.py build/irscope . --write` writes this part, in a virtual environment as its top says; '
        f'last on {date}, {platform.machine()}, NumPy {found["numpy"]}.', '',
        f'| | passed | of {ours["total"]} |', '|---|---:|---:|',
        f'| irscope, reference and CPU | {ours["passed"]} | {r.percent(ours["passed"], ours["total"])} |',
        f'| ONNX Runtime {found["onnxruntime"]}, CPU | {passed} | {r.percent(passed, ours["total"])} |',
        f'| the same, with IR version and opset of the models lowered to what it knows | {lowered} | {r.percent(lowered, ours["total"])} |', '',
        f'{only_ours} cases pass in irscope alone, {len(only_theirs)} in ONNX Runtime alone'
        + (': ' + ', '.join(only_theirs) if 0 < len(only_theirs) <= 30 else '') + '. '
        'ONNX Runtime ran with opsets under development allowed and with tensors of types that NumPy lacks given as bytes; '
        'its outputs were compared by the official runner\'s own function.', '',
        *r.totals(ours), *r.on_cpu(ours), '',
        '### By operator', '', 'As above, for irscope.', '', *r.by_operator(ours, data), '',
        '### What does not pass', '', *r.failures(ours), '']


def main():
    if sys.argv[1:] == ['--worker']:
        return worker()
    parser = argparse.ArgumentParser(description='The newest ONNX backend tests in irscope and in ONNX Runtime.')
    parser.add_argument('irscope', help='the program, e.g. build/irscope')
    parser.add_argument('root', help='the source tree, whose docs/CONFORMANCE.md is written')
    parser.add_argument('--data', help='folder of the cases; made if it does not exist')
    parser.add_argument('--write', action='store_true', help='write the second part of docs/CONFORMANCE.md')
    parser.add_argument('--onnxruntime', metavar='FILE',
                        help='keep ONNX Runtime\'s results here, and take them from here if the file is for the same versions')
    parser.add_argument('--json', metavar='FILE', help='write the results of both, case by case')
    options = parser.parse_args()
    try:
        found = versions()
    except Exception as error:
        sys.exit(f'conformance-onnx: {error} is missing; see the top of this file for how to get it')
    data = options.data or os.path.join(tempfile.gettempdir(), f'onnx-cases-{found["onnx"]}')
    if not os.path.isdir(data):
        write_cases(data)
    ours = r.run(options.irscope, data)
    names = [case['name'] for case in ours['cases']]
    theirs = None
    if options.onnxruntime and os.path.exists(options.onnxruntime):
        with open(options.onnxruntime) as file:
            kept = json.load(file)
        if kept['versions'] == found and sorted(kept['cases']) == sorted(names):
            theirs = kept['cases']
    if theirs is None:
        with tempfile.TemporaryDirectory() as directory:
            theirs = run_onnxruntime(names, data, make_locale(directory))
        if options.onnxruntime:
            with open(options.onnxruntime, 'w') as file:
                json.dump({'versions': found, 'cases': theirs}, file, indent=1)
    if options.json:
        with open(options.json, 'w') as file:
            json.dump({'versions': found, 'irscope': ours, 'onnxruntime': theirs}, file, indent=1)
    print(f'irscope: {ours["passed"]} of {ours["total"]}')
    passed, lowered = scores(theirs)
    print(f'ONNX Runtime {found["onnxruntime"]}: {passed} of {len(names)}, {lowered} with versions lowered to what it knows')
    if options.write:
        r.replace_part(os.path.join(options.root, 'docs', 'CONFORMANCE.md'), 'newest', part(ours, theirs, found, data))
    return 0


if __name__ == '__main__':
    sys.exit(main())
