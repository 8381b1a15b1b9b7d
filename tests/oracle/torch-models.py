#!/usr/bin/env python3
"""Networks with random weights as PyTorch exports them, for the comparisons with other tools.

An extra for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/torch
    /tmp/torch/bin/pip install torch torchvision transformers onnxscript onnx
    /tmp/torch/bin/python tests/oracle/torch-models.py FOLDER [NAME...]

writes FOLDER/NAME-EXPORTER/model.onnx for every name and for both exporters of PyTorch, "script"
(torch.jit tracing, opset 17) and "dynamo" (torch.export, opset 18).  Weights are initialized with a fixed seed
by the libraries' own initializers, biases and statistics made random too; nothing is downloaded.  What an exporter cannot do is reported and
left out.  Sequence models have symbolic batch and length."""

import argparse
import os
import sys

try:
    import torch
    import torchvision
    import transformers
except ImportError as error:
    sys.exit(f'torch-models: {error.name} is missing; see the top of this file for how to get it')


class Llama(torch.nn.Module):
    """One block of a Llama: RMS normalization, rotary attention, gated feed forward."""

    def __init__(self, size=256, heads=8, hidden=688):
        super().__init__()
        self.heads, self.head = heads, size // heads
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(size, size, bias=False) for _ in range(3))
        self.out = torch.nn.Linear(size, size, bias=False)
        self.gate, self.up = (torch.nn.Linear(size, hidden, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(hidden, size, bias=False)
        self.norms = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(size)) for _ in range(2))
        frequency = 1 / 10000 ** (torch.arange(0, self.head, 2) / self.head)
        self.register_buffer('frequency', frequency)

    @staticmethod
    def normalize(x, weight):
        return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    def rotate(self, x, cos, sin):
        half = self.head // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * cos + turned * sin

    def forward(self, x):
        batch, length, size = x.shape
        angles = torch.arange(length).float()[:, None] * self.frequency[None, :]
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        normal = self.normalize(x, self.norms[0])
        q, k, v = (layer(normal).view(batch, length, self.heads, self.head).transpose(1, 2)
                   for layer in self.qkv)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        scores = q @ k.transpose(2, 3) / self.head ** 0.5
        mask = torch.full((length, length), float('-inf')).triu(1)
        mixed = torch.softmax(scores + mask, dim=-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, size))
        normal = self.normalize(x, self.norms[1])
        return x + self.down(torch.nn.functional.silu(self.gate(normal)) * self.up(normal))


class First(torch.nn.Module):
    """The first output of a model of transformers, on token ids and their mask."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]


def image(name):
    return lambda: (getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, 224, 224),), ())


def text(model):
    inputs = torch.randint(0, 1000, (2, 64)), torch.ones(2, 64, dtype=torch.long)
    return First(model), inputs, ('input_ids', 'attention_mask')


def bert():
    return text(transformers.BertModel(transformers.BertConfig(attn_implementation='eager')))


def gpt2():
    config = transformers.GPT2Config(attn_implementation='eager', use_cache=False)
    return text(transformers.GPT2LMHeadModel(config))


def t5():
    config = transformers.T5Config(d_model=512, d_ff=2048, num_layers=6, num_heads=8)
    return text(transformers.T5EncoderModel(config))


MODELS = {
    'resnet50': image('resnet50'), 'mobilenet-v3': image('mobilenet_v3_large'),
    'efficientnet-b0': image('efficientnet_b0'), 'vit-b-16': image('vit_b_16'),
    'swin-t': image('swin_t'), 'convnext-t': image('convnext_tiny'),
    'bert-base': bert, 'gpt2': gpt2, 't5-small': t5,
    'llama-block': lambda: (Llama(), (torch.randn(2, 16, 256),), ('x',)),
}


@torch.no_grad()
def stir(model):
    """Biases, scales and statistics that start as 0 or 1 would fold away, as trained ones do not."""
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.is_floating_point() and tensor.dim() == 1 and tensor.numel() > 1 and tensor.std() == 0:
            tensor.add_(torch.randn_like(tensor).abs() * 0.1)


def export(name, exporter, folder):
    torch.manual_seed(1)
    model, inputs, sequences = MODELS[name]()
    path = os.path.join(folder, f'{name}-{exporter}')
    os.makedirs(path, exist_ok=True)
    names = list(sequences) or ['input']
    options = {'input_names': names, 'output_names': ['output']}
    model.eval()
    stir(model)
    if exporter == 'script':
        axes = {key: {0: 'batch', 1: 'sequence'} for key in sequences}
        torch.onnx.export(model, inputs, os.path.join(path, 'model.onnx'), opset_version=17,
                          dynamic_axes=axes, dynamo=False, **options)
    else:
        torch.onnx.export(model, inputs, os.path.join(path, 'model.onnx'), opset_version=18,
                          dynamo=True, external_data=False, optimize=False, **options)


def main():
    parser = argparse.ArgumentParser(description='Networks with random weights as PyTorch exports them.')
    parser.add_argument('folder')
    parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(MODELS))
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.names or MODELS:
        for exporter in 'script', 'dynamo':
            try:
                export(name, exporter, arguments.folder)
                print(f'{name}-{exporter}')
            except Exception as error:  # an exporter's own limits; the rest goes on
                failed += 1
                print(f'{name}-{exporter}: {type(error).__name__}: {str(error).splitlines()[0]}', file=sys.stderr)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
