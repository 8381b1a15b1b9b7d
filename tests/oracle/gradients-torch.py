#!/usr/bin/env python3
"""Derivatives of networks that PyTorch exports, against PyTorch's own: each parameter within 1e-4 of its
largest gradient, or four times torch's own error against double.

    gradients-torch.py IRSCOPE [FOLDER]

Needs PyPI: python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch onnx onnxscript numpy"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn

PROGRAM = sys.argv[1]
WORK = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix='irscope-torch-')
os.makedirs(WORK, exist_ok=True)


class Block(nn.Module):
    """A residual block, as those of ResNet-18."""

    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.down = None
        if stride != 1 or before != channels:
            self.down = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.down is None else self.down(x)))


def resnet(width, blocks):
    layers = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = width
    for stage in range(blocks):
        channels = width * 2 ** stage
        layers += [Block(before, channels, 1 if stage == 0 else 2), Block(channels, channels, 1)]
        before = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10))


class Transformer(nn.Module):
    """Two encoder layers on embedded tokens."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.layers = nn.ModuleList([nn.ModuleList([nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32),
                                                    nn.Linear(32, 64), nn.Linear(64, 32), nn.LayerNorm(32)])
                                     for _ in range(2)])
        self.head = nn.Linear(32, 5)

    def forward(self, tokens):
        x = self.embed(tokens)
        b, s, d = x.shape
        for qkv, out, norm1, up, down, norm2 in self.layers:
            q, k, v = (t.reshape(b, s, 4, d // 4).transpose(1, 2) for t in qkv(x).chunk(3, -1))
            p = torch.softmax(q @ k.transpose(-1, -2) / (d // 4) ** 0.5, -1)
            x = norm1(x + out((p @ v).transpose(1, 2).reshape(b, s, d)))
            x = norm2(x + down(nn.functional.gelu(up(x))))
        return self.head(x.mean(1))


class Mixed(nn.Module):
    """What the others lack: grouped and transposed convolutions, resizing, padding, gating, other norms."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 8, 3, padding=2, dilation=2, groups=2)
        self.group = nn.GroupNorm(4, 8)
        self.b = nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1)
        self.instance = nn.InstanceNorm2d(6, affine=True)
        self.act = nn.PReLU(6)
        self.gate = nn.Conv2d(6, 12, 1)
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        x = nn.functional.silu(self.group(self.a(nn.functional.pad(x, (1, 2, 1, 0), mode='reflect'))))
        x = self.act(self.instance(self.b(x)))
        x = nn.functional.interpolate(x, scale_factor=1.5, mode='bilinear', align_corners=False)
        left, right = self.gate(nn.functional.avg_pool2d(x, 3, 2, 1)).chunk(2, 1)
        x = left * torch.sigmoid(right) + nn.functional.mish(left) * nn.functional.hardswish(right)
        return self.head(x.amax((2, 3)) + x.mean((2, 3)) + x.clamp(-1, 1).std((2, 3)))


CASES = {
    'resnet': (lambda: resnet(8, 4).eval(), lambda: torch.randn(4, 3, 64, 64)),
    'resnet-training': (lambda: resnet(8, 4).train(), lambda: torch.randn(4, 3, 64, 64)),
    'transformer': (Transformer, lambda: torch.randint(0, 50, (3, 7))),
    'mixed': (Mixed, lambda: torch.randn(2, 4, 9, 8)),
}


class Weighed(nn.Module):
    """One number of what the network gives."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        y = self.network(x)
        return (torch.sin(y) * y).sum()


def gradients(network, x):
    network.zero_grad()
    Weighed(network)(x).backward()
    return {name: p.grad.detach().numpy().astype(np.float64) for name, p in network.named_parameters()}


def ours(name, network, x):
    path, out = os.path.join(WORK, name + '.onnx'), os.path.join(WORK, name)
    torch.onnx.export(Weighed(network), (x,), path, input_names=['x'], dynamo=False, opset_version=18,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    np.save(os.path.join(WORK, name + '.npy'), x.numpy())
    done = subprocess.run([PROGRAM, 'grad', path, '--input', f'x={WORK}/{name}.npy', '--out', out, '--json'],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'{name}: {done.stderr}')
    return {g['name'].removeprefix('network.'): g for g in json.loads(done.stdout)['gradients']}


def compare(name, make, inputs):
    torch.manual_seed(5)
    network, x = make(), inputs()
    for p in network.parameters():
        p.data += 0.05 * torch.randn_like(p)
    torch_float = gradients(network, x)
    got = ours(name, network, x)
    exact = gradients(network.double(), x.double() if x.is_floating_point() else x)
    worst, compared = 0.0, 0
    for parameter, wanted in exact.items():
        if parameter not in got or got[parameter]['file'] is None:
            print(f'not ok - {name}: nothing for {parameter}: {got.get(parameter)}')
            return False
        found = np.load(got[parameter]['file']).astype(np.float64).reshape(wanted.shape)
        largest = max(np.abs(wanted).max(), 1e-6 * max(np.abs(e).max() for e in exact.values()))
        error = np.abs(found - wanted).max() / largest
        allowed = max(1e-4, 4 * np.abs(torch_float[parameter] - wanted).max() / largest)
        worst, compared = max(worst, error / allowed), compared + 1
        if error > allowed:
            print(f'not ok - {name}: {parameter} differs by {error:.3g} of its largest, {allowed:.3g} is allowed')
            return False
    print(f'ok - {name}: {compared} parameters, the worst at {worst:.3f} of what is allowed')
    return True


sys.exit(0 if all([compare(name, *case) for name, case in CASES.items()]) else 1)
