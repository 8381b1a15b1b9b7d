#!/usr/bin/env python3
"""Graphs of tokens against TensorFlow, which defined their operators: version 1 graphs of tf.cond and
tf.while_loop in each other are written as our JSON and run by both.

    flow-tensorflow.py IRSCOPE [--graphs N] [--from SEED]

Needs tensorflow-cpu from PyPI. Of each graph its results are fetched, and values inside of it that are of no loop:
what branches computed, both outputs of Switches, and which input a Merge took. Each is equal bit by bit, or dead
in both. Numbers are float32 and int32, by operators that round in one way."""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
FLOW = {'Switch', 'Merge', 'Enter', 'Exit', 'NextIteration', 'LoopCond', 'ControlTrigger'}
SAME = {'Identity': 'Identity', 'AddV2': 'Add', 'Add': 'Add', 'Sub': 'Sub', 'Mul': 'Mul', 'Maximum': 'Max',
        'Minimum': 'Min', 'Neg': 'Neg', 'Abs': 'Abs', 'Less': 'Less', 'Greater': 'Greater', 'LogicalAnd': 'And',
        'LogicalNot': 'Not', 'LogicalOr': 'Or'}
TYPES = {'float32': 'float', 'int32': 'int32', 'bool': 'bool'}
FETCHES = 12  # of one graph, beside its results


class Program:
    """A random graph: numbers x and i, a condition q, and nested choices and loops over them."""

    def __init__(self, seed):
        self.rand = random.Random(seed)
        self.n_constructs = 0

    def number(self, scope):
        a, b = self.rand.choice(scope), self.rand.choice(scope)
        kind = self.rand.randrange(7)
        if kind == 0:
            return tf.constant(np.float32(self.rand.choice([0.5, -2, 3])))
        return [lambda: a + b, lambda: a - b, lambda: a * b, lambda: tf.maximum(a, b), lambda: tf.negative(a),
                lambda: tf.minimum(a, tf.abs(b))][kind - 1]()

    def condition(self, scope, q):
        a, b = self.rand.choice(scope), self.rand.choice(scope)
        return [lambda: a < b, lambda: tf.logical_not(a > b), lambda: tf.logical_and(a < b, q),
                lambda: tf.logical_or(a > b, q), lambda: q][self.rand.randrange(5)]()

    def choice(self, scope, q, depth):
        n = self.rand.randrange(1, 3)

        def side():
            inner = self.block(scope, q, depth - 1)
            return [tf.identity(self.rand.choice(inner)) for _ in range(n)]
        return v1.cond(self.condition(scope, q), side, side)

    def loop(self, scope, q, depth):
        n = self.rand.randrange(1, 3)
        limit = self.rand.randrange(4)
        first = [self.rand.choice(scope) for _ in range(n)]
        ends_early = self.rand.random() < 0.4

        def go_on(i, *carried):
            more = i < limit
            return tf.logical_and(more, self.condition(list(carried) + scope, q)) if ends_early else more

        def body(i, *carried):
            inner = self.block(scope + list(carried), q, depth - 1)
            results = [tf.identity(self.rand.choice(inner)) for _ in range(n)]
            if n == 2 and self.rand.random() < 0.3:
                results = [carried[1], carried[0]]  # both at once
            return [i + 1] + results
        out = v1.while_loop(go_on, body, [tf.constant(0)] + first,
                            parallel_iterations=self.rand.choice([1, 2, 10]))
        return list(out[1:])

    def block(self, scope, q, depth):
        scope = list(scope)
        for _ in range(self.rand.randrange(1, 5)):
            kind = self.rand.randrange(5)
            if depth > 0 and kind == 0:
                self.n_constructs += 1
                made = self.choice(scope, q, depth)
                scope += made if isinstance(made, (list, tuple)) else [made]
            elif depth > 0 and kind == 1:
                self.n_constructs += 1
                scope += self.loop(scope, q, depth)
            else:
                scope.append(self.number(scope))
        return scope

    def build(self):
        x, y, q = (v1.placeholder(t, [], name=n) for t, n in ((tf.float32, 'x'), (tf.float32, 'y'), (tf.bool, 'q')))
        scope = self.block([x, y], q, 3)
        return [t for t in scope if t is not x and t is not y]


def attribute(name, kind, value):
    return {'name': name, 'kind': kind, 'value': value}


def name_of(tensor):
    """"node:1" as a name without colons, the same for an edge of a GraphDef"""
    node, _, slot = tensor.partition(':')
    return node.replace('/', '.') + (f'.out{slot}' if slot not in ('', '0') else '')


def attributes_of(op):
    if op.type == 'Enter':
        return [attribute('frame_name', 'string', op.get_attr('frame_name').decode()),
                attribute('is_constant', 'int', int(op.get_attr('is_constant'))),
                attribute('parallel_iterations', 'int', op.get_attr('parallel_iterations'))]
    if op.type != 'Const':
        return []
    value = tf.make_ndarray(op.get_attr('value'))
    values = [bool(v) if value.dtype == bool else v.item() for v in value.reshape(-1)]
    tensor = {'type': TYPES[value.dtype.name] + (str(list(value.shape)).replace(' ', '') if value.shape else ''),
              'values': values}
    return [attribute('value', 'tensor', tensor)]


def node_of(op):
    kind = 'Constant' if op.type == 'Const' else op.type if op.type in FLOW else SAME.get(op.type)
    if kind is None:
        raise SystemExit(f'{op.type} has no operator here')
    node = {'op_type': kind, 'name': op.name, 'inputs': [name_of(t.name) for t in op.inputs],
            'outputs': [name_of(t.name) for t in op.outputs], 'attributes': attributes_of(op)}
    if op.type in FLOW:
        node['domain'] = 'irscope.flow'
    after = [name_of(before.outputs[0].name) for before in op.control_inputs if before.outputs]
    if after:
        node['metadata'] = [{'key': 'irscope.after', 'value': ','.join(after)}]
    return node


def model_of(graph, fetch):
    ops = graph.get_operations()
    inputs = [{'name': op.name, 'type': TYPES[op.outputs[0].dtype.name]} for op in ops if op.type == 'Placeholder']
    nodes = [node_of(op) for op in ops if op.type not in ('Placeholder', 'NoOp')]
    return {'format': 'irscope-model-1', 'ir_version': 10,
            'opset_imports': [{'domain': '', 'version': 21}, {'domain': 'irscope.flow', 'version': 1}],
            'graph': {'name': 'g', 'inputs': inputs, 'initializers': [], 'values': [], 'nodes': nodes,
                      'outputs': [{'name': name_of(fetch.name), 'type': TYPES[fetch.dtype.name]}]},
            'functions': []}


def is_of_loop(op):
    context = op._get_control_flow_context()  # the graph does not say it otherwise
    while context is not None:
        if context.IsWhileContext():
            return True
        context = context.outer_context
    return False


def as_written():
    """Without the rewrites of TensorFlow: by 2.21 they make max (x + x, x) of -1.5 into -3."""
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    return config


def by_tensorflow(session, fetch, feed):
    try:
        return np.asarray(session.run(fetch, feed))
    except tf.errors.InvalidArgumentError as error:
        if 'Retval' in error.message or 'dead' in error.message:
            return None
        raise


def by_irscope(program, graph, fetch, feed, folder):
    path = os.path.join(folder, 'graph.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(model_of(graph, fetch), file)
    words = [f'--value={t.op.name}={float(v) if t.dtype != tf.bool else int(v)!r}' for t, v in feed.items()]
    done = subprocess.run([program, 'run', path, '--device', 'ref', '--out', folder, *words], capture_output=True,
                          text=True, check=False)
    if done.returncode == 0:
        return np.load(os.path.join(folder, name_of(fetch.name) + '.npy'))
    if 'is dead' in done.stderr:
        return None
    raise SystemExit(f'{path}: {done.stderr}')


def is_same(a, b):
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def try_graph(program, seed, folder, counts):
    with tf.Graph().as_default() as graph:
        made = Program(seed)
        results = made.build()
        inner = [t for op in graph.get_operations() if op.type not in ('Placeholder', 'Const', 'Enter', 'NoOp')
                 and not is_of_loop(op) for t in op.outputs]
        fetches = results[-3:] + made.rand.sample(inner, min(FETCHES, len(inner)))
        feed = {graph.get_tensor_by_name('x:0'): np.float32(made.rand.choice([-1.5, 0.25, 2])),
                graph.get_tensor_by_name('y:0'): np.float32(made.rand.choice([-3, 1, 0.5])),
                graph.get_tensor_by_name('q:0'): made.rand.random() < 0.5}
        graph._unfetchable_ops.clear()  # what is inside of a choice is looked at, too
        counts['constructs'] += made.n_constructs
        with v1.Session(graph=graph, config=as_written()) as session:
            for fetch in fetches:
                wanted = by_tensorflow(session, fetch, feed)
                found = by_irscope(program, graph, fetch, feed, folder)
                counts['dead' if wanted is None else 'live'] += 1
                if is_same(wanted, found):
                    continue
                counts['different'] += 1
                print(f'seed {seed}: {fetch.name}: TensorFlow has {wanted}, irscope {found}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('irscope')
    parser.add_argument('--graphs', type=int, default=100)
    parser.add_argument('--from', type=int, default=1, dest='first')
    asked = parser.parse_args()
    counts = collections.Counter()
    v1.disable_eager_execution()
    v1.disable_control_flow_v2()
    for seed in range(asked.first, asked.first + asked.graphs):
        with tempfile.TemporaryDirectory() as folder:
            try_graph(os.path.abspath(asked.irscope), seed, folder, counts)
    print(f'TensorFlow {tf.__version__}: {asked.graphs} graphs with {counts["constructs"]} choices and loops, '
          f'{counts["live"]} live and {counts["dead"]} dead fetches, {counts["different"]} different')
    return 1 if counts['different'] else 0


if __name__ == '__main__':
    sys.exit(main())
