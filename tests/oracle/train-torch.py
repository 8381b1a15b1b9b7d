#!/usr/bin/env python3
"""Training against PyTorch: the digits network, the same weights and batches, step by step.

    train-torch.py IRSCOPE SOURCE_ROOT [--only NAME..]

Needs torch, onnx and numpy from PyPI. In double, 100 steps of each optimizer: each parameter within 1e-9 of
torch's. In float32, 10 steps: within 1e-5 of its largest element. Dropout is left out, as the two draw
other numbers. The batches are those of irscope (core/exec/train/samples.c): Fisher and Yates by SplitMix64."""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

MASK = (1 << 64) - 1
BATCH, ROWS, EPOCHS = 32, 1600, 2

METHODS = {
    'sgd': (['--optimizer', 'sgd', '--rate', '0.05'], lambda p: torch.optim.SGD(p, lr=0.05)),
    'decay': (['--optimizer', 'sgd', '--rate', '0.05', '--weight-decay', '0.01'],
              lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.01)),
    'momentum': (['--optimizer', 'momentum', '--rate', '0.02'], lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9)),
    'nesterov': (['--optimizer', 'sgd', '--momentum', '0.8', '--nesterov', '--rate', '0.02'],
                 lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.8, nesterov=True)),
    'adam': (['--optimizer', 'adam', '--rate', '3e-3'], lambda p: torch.optim.Adam(p, lr=3e-3)),
    'adam-decay': (['--optimizer', 'adam', '--rate', '3e-3', '--betas', '0.8,0.99', '--weight-decay', '0.01'],
                   lambda p: torch.optim.Adam(p, lr=3e-3, betas=(0.8, 0.99), weight_decay=0.01)),
    'adamw': (['--optimizer', 'adamw', '--rate', '3e-3'], lambda p: torch.optim.AdamW(p, lr=3e-3)),
    'adagrad': (['--optimizer', 'adagrad', '--rate', '0.02'], lambda p: torch.optim.Adagrad(p, lr=0.02)),
    'clip': (['--optimizer', 'sgd', '--rate', '0.05', '--clip', '0.5'], lambda p: torch.optim.SGD(p, lr=0.05)),
}


def mix(bits):
    bits = ((bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94d049bb133111eb) & MASK
    return bits ^ (bits >> 31)


def order_of(rows, seed, epoch):
    state, order = mix((mix(seed) + epoch) & MASK), list(range(rows))
    for i in range(rows, 1, -1):
        state = (state + 0x9e3779b97f4a7c15) & MASK
        k = mix(state) % i
        order[k], order[i - 1] = order[i - 1], order[k]
    return order


class Digits(nn.Module):
    """That of data/make-digits.py."""

    def __init__(self, dropout=0):
        super().__init__()
        self.dropout = dropout
        def norm(n): return nn.BatchNorm2d(n, eps=float(np.float32(1e-5)))
        self.conv1, self.bn1 = nn.Conv2d(1, 12, 3, padding=1, bias=False), norm(12)
        self.conv2, self.bn2 = nn.Conv2d(12, 24, 3, padding=1, bias=False), norm(24)
        self.block = nn.ModuleDict({'conv1': nn.Conv2d(24, 24, 3, padding=1, bias=False), 'bn1': norm(24),
                                    'conv2': nn.Conv2d(24, 24, 3, padding=1, bias=False), 'bn2': norm(24)})
        self.gamma, self.beta = nn.Parameter(torch.ones(24)), nn.Parameter(torch.zeros(1, 24, 1, 1))
        self.fc = nn.Linear(24 * 16, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.max_pool2d(torch.relu(self.bn2(self.conv2(x))), 2)
        y = torch.relu(self.block['bn1'](self.block['conv1'](x)))
        y = self.block['bn2'](self.block['conv2'](y)) * self.gamma.view(1, 24, 1, 1) + self.beta
        return self.fc(nn.functional.dropout(torch.relu(x + y), self.dropout).flatten(1))


def own_name(name):
    return {'gamma': 'block.scale.gamma', 'beta': 'block.scale.beta'}.get(name, name)


def network(source, dtype, path):
    """The bundled network in @dtype and without Dropout; its initializers by name."""
    model = onnx.load(source)
    graph = model.graph
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(dtype), tensor.name))
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for value in [*graph.input, *graph.output]:
        value.type.tensor_type.elem_type = kind
    for node in [node for node in graph.node if node.op_type == 'Dropout']:
        for other in graph.node:
            other.input[:] = [node.input[0] if name == node.output[0] else name for name in other.input]
        graph.node.remove(node)
    del graph.value_info[:]
    onnx.save(model, path)
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def trained_by_torch(weights, images, labels, method, dtype, epochs):
    torch.set_default_dtype(torch.float64 if dtype is np.float64 else torch.float32)
    net = Digits()
    net.train()
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            parameter.copy_(torch.from_numpy(weights[own_name(name)].reshape(parameter.shape).copy()))
    optimizer = METHODS[method][1](net.parameters())
    for epoch in range(epochs):
        order = order_of(len(images), 7, epoch)
        for first in range(0, len(images) - BATCH + 1, BATCH):
            pick = order[first:first + BATCH]
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(torch.from_numpy(images[pick])), torch.from_numpy(labels[pick])).backward()
            if method == 'clip':
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
    return {own_name(name): parameter.detach().numpy() for name, parameter in net.named_parameters()}


def trained_by_irscope(program, work, method, epochs):
    out = os.path.join(work, 'out.onnx')
    subprocess.run([program, 'train', os.path.join(work, 'net.onnx'), '--data', 'image=' + os.path.join(work, 'x.npy'),
                    '--target', os.path.join(work, 'y.npy'), '--loss', 'cross-entropy', *METHODS[method][0], '--batch', str(BATCH),
                    '--epochs', str(epochs), '--seed', '7', '-o', out, '--quiet'], check=True, stdout=subprocess.DEVNULL)
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(out).graph.initializer}


def compare(options, method, dtype, rows, epochs, limit):
    examples = os.path.join(options.root, 'data', 'examples')
    with tempfile.TemporaryDirectory() as work:
        weights = network(os.path.join(examples, 'digits-untrained.onnx'), dtype, os.path.join(work, 'net.onnx'))
        images = np.load(os.path.join(examples, 'digits-images.npy')).astype(dtype)[:rows]
        labels = np.load(os.path.join(examples, 'digits-labels.npy')).astype(np.int64)[:rows]
        np.save(os.path.join(work, 'x.npy'), images)
        np.save(os.path.join(work, 'y.npy'), labels)
        theirs = trained_by_torch(weights, images, labels, method, dtype, epochs)
        ours = trained_by_irscope(options.irscope, work, method, epochs)
    worst, where = 0, ''
    for name, wanted in theirs.items():
        scale = 1 if dtype is np.float64 else np.abs(wanted).max()
        error = np.abs(ours[name].reshape(wanted.shape) - wanted).max() / scale
        if not error <= worst:
            worst, where = error, name
    moved = min(np.abs(wanted - weights[name].reshape(wanted.shape)).max() for name, wanted in theirs.items())
    good = worst <= limit and moved > 1e-4
    print(f"{'ok' if good else 'NOT OK':7}{method:11} {np.dtype(dtype).name}, {rows // BATCH * epochs:3} steps: "
          f"{worst:.2e} at {where} (limit {limit:g}), all moved by {moved:.2g} or more", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('irscope')
    parser.add_argument('root')
    parser.add_argument('--only', choices=METHODS, nargs='+')
    options = parser.parse_args()
    options.irscope = os.path.abspath(options.irscope)
    torch.set_num_threads(1)
    good = True
    for method in METHODS:
        if options.only is None or method in options.only:
            good &= compare(options, method, np.float64, ROWS, EPOCHS, 1e-9)
            good &= compare(options, method, np.float32, 10 * BATCH, 1, 1e-5)
    sys.exit(not good)


if __name__ == '__main__':
    main()
