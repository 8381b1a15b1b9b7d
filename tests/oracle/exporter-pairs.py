#!/usr/bin/env python3
"""One small network as several tools write it, with lists of the values that are the same: what
tests/cli/test-pairs.py holds `irscope diff --values` against.

An extra for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch onnx onnxscript onnxruntime numpy
    /tmp/torch/bin/python tests/oracle/exporter-pairs.py tests/cli/pairs

writes script.onnx and dynamo.onnx (PyTorch's two exporters), old.onnx (the first one at opset 13) and runtime.onnx
(ONNX Runtime's extended optimizations of script.onnx, with every name replaced), and pairs.json: for each two of
them a list of [value, value].  A pair is what the source calls one thing: the output of a module, which both exporters
name or keep as metadata; or a name that the optimizer kept.  No list is made by comparing graphs."""

import json
import os
import sys

import onnx
import onnxruntime
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.width = heads, size // heads
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))
        self.soft = nn.Softmax(dim=-1)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.width).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        mixed = self.soft(q @ k.transpose(2, 3) / self.width ** 0.5) @ v
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = Attention(size, heads)
        self.grow, self.act, self.shrink = nn.Linear(size, 3 * size), nn.GELU(), nn.Linear(3 * size, size)

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.shrink(self.act(self.grow(self.second(x))))


class Network(nn.Module):
    """Convolutions whose result is a sequence, two blocks with the same shapes, a head."""

    def __init__(self, size=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                                  nn.Conv2d(4, size, 3, stride=2, padding=1), nn.Hardswish())
        self.blocks = nn.Sequential(Block(size, 2), Block(size, 2))
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, 5)

    def forward(self, image):
        x = self.stem(image).flatten(2).transpose(1, 2)
        return torch.softmax(self.head(self.norm(self.blocks(x)).mean(1)), -1)


def leaves(model):
    return [name for name, module in model.named_modules() if name and not list(module.children())]


def of_script(path, names):
    """Module -> value: the last node of its scope, /blocks/blocks.0/attention/query/Add."""
    found = {}
    for node in onnx.load(path).graph.node:
        scopes = node.name.split('/')[1:-1]
        if node.op_type in ('Constant', 'Identity') or not scopes:
            continue
        # Sequential modules repeat their own path: /stem/stem.0 is stem.0
        full = []
        for scope in scopes:
            full = scope.split('.') if full and scope.split('.')[:len(full)] == full else full + scope.split('.')
            if '.' in scope and full[-len(scope.split('.')):] == scope.split('.'):
                full = [p for i, p in enumerate(full) if not (i > 0 and p == full[i - 1] and not p.isdigit())]
        name = '.'.join(full)
        if name in names:
            found[name] = node.output[0]
    return found


def of_dynamo(path, names):
    found = {}
    for node in onnx.load(path).graph.node:
        for prop in node.metadata_props:
            if prop.key == 'pkg.torch.onnx.name_scopes':
                scopes = [s for s in json.loads(prop.value.replace("'", '"')) if s in names]
                if scopes:
                    found[scopes[-1]] = node.output[0]
    return found


def export(model, folder):
    image = torch.randn(2, 1, 6, 6)
    for name, opset in ('script', 17), ('old', 13):
        torch.onnx.export(model, (image,), os.path.join(folder, name + '.onnx'), opset_version=opset, dynamo=False,
                          input_names=['image'], output_names=['classes'])
    torch.onnx.export(model, (image,), os.path.join(folder, 'dynamo.onnx'), opset_version=18, dynamo=True,
                      external_data=False, optimize=True, input_names=['image'], output_names=['classes'])


def strip(path):
    """What exporters say of the source is not to be seen by what is tested."""
    model = onnx.load(path)
    for item in [model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output,
                 *model.graph.initializer]:
        del item.metadata_props[:]
        item.doc_string = ''
    del model.metadata_props[:]
    onnx.save(model, path)


def optimize(source, target):
    """Returns: name of a value that the optimizer kept -> the name that it has now"""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = target
    onnxruntime.InferenceSession(source, options, providers=['CPUExecutionProvider'])
    before = {o for n in onnx.load(source).graph.node for o in n.output}
    model = onnx.load(target)
    fixed = {i.name for i in model.graph.input} | {o.name for o in model.graph.output} | {''}
    names = {}
    for node in model.graph.node:
        for value in [*node.input, *node.output]:
            if value not in fixed:
                names.setdefault(value, f'v{len(names) * 7919 % 1009}')
    assert len(set(names.values())) == len(names)
    for i, node in enumerate(model.graph.node):
        node.name = f'n{i * 31 % 997}'
        for ports in node.input, node.output:
            ports[:] = [names.get(value, value) for value in ports]
    for tensor in model.graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
    del model.graph.value_info[:]
    onnx.checker.check_model(model)
    onnx.save(model, target)
    made = {o for n in model.graph.node for o in n.output}
    return [[name, now] for name, now in names.items() if name in before and now in made]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = {name: os.path.join(folder, name + '.onnx') for name in ('script', 'old', 'dynamo', 'runtime')}
    torch.manual_seed(3)
    model = Network().eval()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point() and tensor.dim() == 1:
                tensor.add_(torch.rand_like(tensor))
    export(model, folder)
    names = set(leaves(model))
    script, old, dynamo = of_script(path['script'], names), of_script(path['old'], names), of_dynamo(path['dynamo'], names)
    lists = {
        'script dynamo': [[script[n], dynamo[n]] for n in sorted(names) if n in script and n in dynamo],
        'script old': [[script[n], old[n]] for n in sorted(names) if n in script and n in old],
        'script runtime': optimize(path['script'], path['runtime']),
    }
    for name in path.values():
        strip(name)
    with open(os.path.join(folder, 'pairs.json'), 'w', encoding='utf-8') as file:
        file.write('{\n' + ',\n'.join(f' "{k}": [\n' + ',\n'.join('  ' + json.dumps(p) for p in sorted(v)) + '\n ]'
                                      for k, v in lists.items()) + '\n}\n')
    for key, pairs in lists.items():
        print(key, len(pairs), 'pairs')
    print('of modules not found:', *(names - set(script)), *(names - set(dynamo)))


if __name__ == '__main__':
    main()
