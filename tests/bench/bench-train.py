#!/usr/bin/env python3
"""Derivatives and training against PyTorch eager, interleaved, and what the backward part of networks is made of.

    bench-train.py IRSCOPE FOLDER [checkpoint] [speed] [digits] [graphs] [--rounds N] [--threads 1 2] [--only NAME..]

checkpoint  36 x (Linear 256, Tanh), batch 512: torch's checkpoint at each of seven segment counts, and irscope with
            what that keeps as --budget; and irscope alone at parts of what it takes without a budget.
speed       forward and backward of ResNet-18 and -50, BERT-base and GPT-2 at batch 1.
digits      a step on the bundled digits, Adam and Dropout with it, at batch 64 and 1.
graphs      nodes, products and kept bytes of the backward part behind the pipeline train.

Time is that of the processor, one thread unless --threads says so, per step: that of a process with many steps less
that of one with a few. FOLDER keeps the models. Needs PyPI: pip install torch onnx onnxscript numpy."""

import argparse
import collections
import importlib.util
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import weakref

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
LAYERS, WIDTH, ROWS = 36, 256, 512
SEGMENTS = (2, 3, 4, 6, 9, 12, 18)
PARTS = (60, 50, 40, 35, 32, 25, 20)
VIEWS = {'Constant', 'Identity', 'Reshape', 'Squeeze', 'Unsqueeze', 'Flatten', 'Transpose', 'Expand', 'Slice', 'Split'}
SAME_BYTES = VIEWS - {'Constant', 'Transpose', 'Expand', 'Slice', 'Split'}
PRODUCTS = {'MatMul', 'Gemm', 'Conv', 'ConvTranspose', 'ConvGradWeight', 'ConvGradInput', 'Einsum'}


# -- networks --


class Bottleneck(nn.Module):
    """A residual block: of three convolutions, or of two."""

    def __init__(self, before, channels, stride, expansion):
        super().__init__()
        after = channels * expansion
        sizes = [(before, channels, 1, 1), (channels, channels, 3, stride), (channels, after, 1, 1)]
        if expansion == 1:
            sizes = [(before, channels, 3, stride), (channels, channels, 3, 1)]
        self.convs = nn.ModuleList([nn.Conv2d(a, b, k, s, k // 2, bias=False) for a, b, k, s in sizes])
        self.norms = nn.ModuleList([nn.BatchNorm2d(b) for _, b, _, _ in sizes])
        self.down = None
        if stride != 1 or before != after:
            self.down = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = x
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            y = norm(conv(y))
            if i + 1 < len(self.convs):
                y = torch.relu(y)
        return torch.relu(y + (x if self.down is None else self.down(x)))


def resnet(blocks, expansion):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for stage, n in enumerate(blocks):
        for i in range(n):
            layers.append(Bottleneck(before, 64 << stage, 2 if i == 0 and stage > 0 else 1, expansion))
            before = (64 << stage) * expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


class Transformer(nn.Module):
    """BERT's encoder or, causal, GPT-2's decoder, with eager attention."""

    def __init__(self, words, length, causal):
        super().__init__()
        self.words, self.places = nn.Embedding(words, 768), nn.Embedding(length, 768)
        self.first = nn.LayerNorm(768)
        self.layers = nn.ModuleList([nn.ModuleList([
            nn.Linear(768, 768), nn.Linear(768, 768), nn.Linear(768, 768), nn.Linear(768, 768), nn.LayerNorm(768),
            nn.Linear(768, 3072), nn.Linear(3072, 768), nn.LayerNorm(768)]) for _ in range(12)])
        self.causal = causal

    def attend(self, x, q, k, v, out):
        b, s, d = x.shape
        q, k, v = (f(x).view(b, s, 12, 64).transpose(1, 2) for f in (q, k, v))
        scores = q @ k.transpose(-1, -2) / 8
        if self.causal:
            scores = scores + torch.full((s, s), -1e4).triu(1)
        return out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, s, d))

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        x = x if self.causal else self.first(x)
        for q, k, v, out, norm1, up, down, norm2 in self.layers:
            gelu = nn.functional.gelu
            if self.causal:
                x = x + self.attend(norm1(x), q, k, v, out)
                x = x + down(gelu(up(norm2(x)), approximate='tanh'))
            else:
                x = norm1(x + self.attend(x, q, k, v, out))
                x = norm2(x + down(gelu(up(x))))
        return self.first(x) @ self.words.weight.t() if self.causal else x


NETWORKS = {
    'resnet18': (lambda: resnet((2, 2, 2, 2), 1).train(), lambda: torch.randn(1, 3, 224, 224)),
    'resnet50': (lambda: resnet((3, 4, 6, 3), 4).train(), lambda: torch.randn(1, 3, 224, 224)),
    'bert-base': (lambda: Transformer(30522, 512, False), lambda: torch.randint(0, 1000, (1, 128))),
    'gpt2': (lambda: Transformer(50257, 1024, True), lambda: torch.randint(0, 1000, (1, 64))),
}


class Summed(nn.Module):
    """One number of what the network gives."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x).mean()


def exported(name, folder):
    """The network, its input, and the paths of both"""
    torch.manual_seed(7)
    network, x = (make() for make in NETWORKS[name])
    path, data = (os.path.join(folder, name + end) for end in ('.onnx', '.npy'))
    np.save(data, x.numpy())
    if not os.path.exists(path):
        torch.onnx.export(Summed(network), (x,), path, input_names=['x'], output_names=['loss'], dynamo=False,
                          opset_version=18, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    return Summed(network), x, path, data


# -- irscope --


def irscope(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, words))}: {done.stderr}')
    return done.stdout


def processor_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ours_ms(program, path, steps, *words):
    """Per step, and what --json said"""
    used = []
    for n in (1, 1 + steps):
        before = processor_of_children()
        said = json.loads(irscope(program, 'run', path, '--json', '-q', '--runs', n, *words))
        used.append(processor_of_children() - before)
    return 1e3 * (used[1] - used[0]) / steps, said


def derived(program, path, folder):
    """Forward and backward part as they are trained, without an optimizer"""
    out, pipeline = os.path.join(folder, os.path.basename(path)[:-5] + '-derived.onnx'), os.path.join(folder, 'derive.json')
    with open(os.path.join(ROOT, 'data/pipelines/train.json')) as f:
        passes = json.load(f)
    passes['passes'].remove('optimizer')
    passes['passes'].insert(0, {'pass': 'to-training', 'loss': 'loss'})
    with open(pipeline, 'w') as f:
        json.dump(passes, f)
    irscope(program, 'optimize', path, '--pipeline', pipeline, '--set', 'gradient.wrt=params', '-o', out)
    return out


# -- torch --


def theirs_ms(step, steps):
    step()
    before = time.process_time()
    for _ in range(steps):
        step()
    return 1e3 * (time.process_time() - before) / steps


class Saved:
    """Bytes of what autograd has saved, each storage once and parameters left out: how many at once"""

    def __init__(self, parameters):
        self.left_out = {p.untyped_storage().data_ptr() for p in parameters}
        self.held, self.now, self.most = {}, 0, 0

    def pack(self, tensor):
        class Held:
            pass
        at, n = tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()
        held = Held()
        held.tensor = tensor
        if at not in self.left_out:
            self.held[at] = self.held.get(at, 0) + 1
            self.now += n if self.held[at] == 1 else 0
            self.most = max(self.most, self.now)
            weakref.finalize(held, self.drop, at, n)
        return held

    def drop(self, at, n):
        self.held[at] -= 1
        self.now -= n if self.held[at] == 0 else 0


def saved_bytes(step, parameters):
    saved = Saved(list(parameters))
    with torch.autograd.graph.saved_tensors_hooks(saved.pack, lambda held: held.tensor):
        step()
    return saved.most


# -- checkpoints --


def write_chain(path):
    rng = np.random.default_rng(0)
    nodes, weights, x = [], [], 'x'
    for i in range(LAYERS):
        weights += [numpy_helper.from_array((rng.standard_normal((WIDTH, WIDTH)) / 16).astype(np.float32), f'w{i}'),
                    numpy_helper.from_array(np.full(WIDTH, 0.01, np.float32), f'b{i}')]
        nodes += [helper.make_node('Gemm', [x, f'w{i}', f'b{i}'], [f'h{i}'], transB=1),
                  helper.make_node('Tanh', [f'h{i}'], [f't{i}'])]
        x = f't{i}'
    nodes.append(helper.make_node('ReduceSum', [x], ['loss'], keepdims=0))
    graph = helper.make_graph(nodes, 'chain', [helper.make_tensor_value_info('x', TensorProto.FLOAT, [ROWS, WIDTH])],
                              [helper.make_tensor_value_info('loss', TensorProto.FLOAT, [])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8), path)


def chain_steps():
    layers = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(LAYERS)])
    x = torch.randn(ROWS, WIDTH)

    def step(segments=None):
        layers.zero_grad()
        (layers(x) if segments is None else checkpoint_sequential(layers, segments, x, use_reentrant=False)).sum().backward()
    return layers, step


def spread(values, places=1):
    values = sorted(values)
    quarter = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f'{statistics.median(values):.{places}f} ({quarter[0]:.{places}f} to {quarter[2]:.{places}f})'


def ratios(values, base):
    return [a / b for a, b in zip(values, base)]


def checkpoints(options):
    path = os.path.join(options.folder, 'chain.onnx')
    write_chain(path)
    path = derived(options.irscope, path, options.folder)
    layers, step = chain_steps()
    kept = {s: saved_bytes(lambda s=s: step(s), layers.parameters()) for s in (None, *SEGMENTS)}
    whole = ours_ms(options.irscope, path, 1, '--threads', 1)[1]['arena_bytes']
    budgets = {f'torch {s}': kept[s] for s in SEGMENTS} | {f'{p} %': whole * p // 100 for p in PARTS}
    times, theirs, arenas = {None: []}, {None: []}, {None: whole}
    for _ in range(options.rounds):
        for name, budget in [(None, None), *budgets.items()]:
            words = ['--budget', budget] if budget is not None else []
            ms, said = ours_ms(options.irscope, path, options.steps, '--threads', 1, *words)
            times.setdefault(name, []).append(ms)
            arenas[name] = said['arena_bytes']
        for s in (None, *SEGMENTS):
            theirs.setdefault(s, []).append(theirs_ms(lambda s=s: step(s), options.steps))
    print(f'torch keeps {kept[None]} bytes without checkpoints, in {spread(theirs[None])} ms; '
          f'irscope has an arena of {whole}, in {spread(times[None])} ms\n')
    print('| segments | torch keeps, of all | torch ms, and of keep-all | irscope, arena | irscope ms |\n|---|---|---|---|---|')
    for s in SEGMENTS:
        print(f'| {s} | {kept[s]}, {kept[s] / kept[None]:.2f} | {spread(theirs[s])}, {statistics.median(ratios(theirs[s], theirs[None])):.2f} '
              f'| {arenas[f"torch {s}"]} | {spread(times[f"torch {s}"])} |')
    print('\n| budget | arena, of all | time, of keep-all |\n|---|---|---|')
    for part in (f'{p} %' for p in PARTS):
        print(f'| {part} | {arenas[part] / whole:.2f} | {statistics.median(ratios(times[part], times[None])):.2f} '
              f'({min(ratios(times[part], times[None])):.2f} to {max(ratios(times[part], times[None])):.2f}) |')


# -- speed, and what the graphs are made of --


def speed(options):
    print('| network | threads | torch ms | irscope ms | irscope / torch |\n|---|---|---|---|---|')
    for name in options.only or NETWORKS:
        network, x, path, data = exported(name, options.folder)
        path = derived(options.irscope, path, options.folder)

        def step():
            network.zero_grad()
            network(x).backward()
        for threads in options.threads:
            torch.set_num_threads(threads)
            ours, theirs = [], []
            for _ in range(options.rounds):
                theirs.append(theirs_ms(step, options.steps))
                ours.append(ours_ms(options.irscope, path, options.steps, '--threads', threads, '--input', f'x={data}')[0])
            each = ratios(ours, theirs)
            print(f'| {name} | {threads} | {spread(theirs)} | {spread(ours)} | {statistics.median(each):.2f} '
                  f'({min(each):.2f} to {max(each):.2f}) |', flush=True)


def digits_of_torch(batch):
    """A step as the command train does it: the next batch, loss, derivatives, Adam"""
    spec = importlib.util.spec_from_file_location('train_torch', os.path.join(ROOT, 'tests/oracle/train-torch.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    images, labels = (torch.from_numpy(np.load(os.path.join(ROOT, 'data/examples', name)).astype(kind))
                      for name, kind in (('digits-images.npy', np.float32), ('digits-labels.npy', np.int64)))
    network = module.Digits(dropout=0.25)
    optimizer, order = torch.optim.Adam(network.parameters(), lr=3e-3), iter(())

    def step():
        nonlocal order
        pick = list(itertools.islice(order, batch))
        if len(pick) < batch:
            order = iter(torch.randperm(len(images)).tolist())
            pick = list(itertools.islice(order, batch))
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images[pick]), labels[pick]).backward()
        optimizer.step()
    return step, len(images)


def digits(options):
    def train(epochs):
        before = processor_of_children()
        irscope(options.irscope, 'train', os.path.join(examples, 'digits-untrained.onnx'), '--data', f'image={examples}/digits-images.npy',
                '--target', f'{examples}/digits-labels.npy', '--loss', 'cross-entropy', '--optimizer', 'adam', '--rate', '3e-3', '-q',
                '--batch', batch, '--epochs', epochs, '--threads', threads, '-o', os.path.join(options.folder, 'digits-trained.onnx'))
        return processor_of_children() - before

    examples = os.path.join(ROOT, 'data/examples')
    print('| digits | threads | torch ms | irscope ms | irscope / torch |\n|---|---|---|---|---|')
    for batch, epochs in ((64, 12), (1, 1)):
        step, rows = digits_of_torch(batch)
        n = rows // batch * epochs
        for threads in options.threads:
            torch.set_num_threads(threads)
            ours, theirs = [], []
            for _ in range(options.rounds):
                theirs.append(theirs_ms(step, n))
                ours.append(1e3 * (train(1 + epochs) - train(1)) / n)
            each = ratios(ours, theirs)
            print(f'| batch {batch}, {n} steps | {threads} | {spread(theirs, 2)} | {spread(ours, 2)} | {statistics.median(each):.2f} '
                  f'({min(each):.2f} to {max(each):.2f}) |', flush=True)


def forward_part(graph):
    """Indices of the nodes that the loss is computed by; all others are the backward part"""
    producer = {name: i for i, node in enumerate(graph.node) for name in node.output}
    wanted, seen = ['loss'], set()
    while wanted:
        i = producer.get(wanted.pop())
        if i is not None and i not in seen:
            seen.add(i)
            wanted += graph.node[i].input
    return seen


def kept_bytes(options, path, graph, forward):
    """What backward nodes read of the forward part, views and parameters aside: each in the arena once"""
    sizes = {v['name']: v['size'] for v in json.loads(irscope(options.irscope, 'memory', path, '--json'))['values']}
    producer = {name: (i, node) for i, node in enumerate(graph.node) for name in node.output}
    kept = set()
    for i, node in enumerate(graph.node):
        for name in node.input if i not in forward else ():
            while name in producer and producer[name][1].op_type in SAME_BYTES:
                name = producer[name][1].input[0]
            if name in producer and producer[name][0] in forward and producer[name][1].op_type != 'Constant':
                kept.add(name)
    return sum(sizes.get(name, 0) for name in kept)


def graphs(options):
    print('| network | forward: nodes, products | backward: nodes, products | kept MB |\n|---|---|---|---|')
    for name in options.only or NETWORKS:
        _, _, path, _ = exported(name, options.folder)
        made = derived(options.irscope, path, options.folder)
        graph = onnx.load(made).graph
        forward, sides = forward_part(graph), []
        for part in ([n for i, n in enumerate(graph.node) if i in forward], [n for i, n in enumerate(graph.node) if i not in forward]):
            plain = [n for n in part if n.op_type not in VIEWS]
            products = [n for n in plain if any(n.op_type.startswith(word) for word in PRODUCTS)]
            sides.append(f'{len(plain)}, {len(products)}')
            if options.verbose:
                print(collections.Counter(n.op_type for n in plain).most_common(25))
        print(f'| {name} | {sides[0]} | {sides[1]} | {kept_bytes(options, made, graph, forward) / 1e6:.1f} |', flush=True)


PARTS_BY_NAME = {'checkpoint': checkpoints, 'speed': speed, 'digits': digits, 'graphs': graphs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('irscope', type=os.path.abspath)
    parser.add_argument('folder')
    parser.add_argument('parts', nargs='*', choices=list(PARTS_BY_NAME), default=list(PARTS_BY_NAME))
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--steps', type=int, default=10)
    parser.add_argument('--threads', type=int, nargs='+', default=[1])
    parser.add_argument('--only', nargs='+')
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    torch.set_num_threads(1)
    for part in options.parts:
        PARTS_BY_NAME[part](options)


if __name__ == '__main__':
    main()
