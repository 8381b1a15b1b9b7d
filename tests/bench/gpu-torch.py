#!/usr/bin/env python3
"""The networks of tools/gpu-check in PyTorch, eager and, with --compiled, by torch.compile, in float32 without TF32: a JSON
object of [median, lower and upper quartile] in milliseconds, by events of the device; of products and of a copy, in
microseconds. Each line is the object as far as it is known. Inputs lie on the device.

An extra for machines with a GPU: it needs torch, torchvision and transformers."""

import json
import statistics
import sys

try:
    import torch
    import torchvision
    import transformers
except ImportError as error:
    sys.exit(f'{error.name} is not installed')

RUNS, WARMUP = 30, 5
PRODUCTS, ELEMENTS = ((4096, 4096, 4096), (2048, 2048, 2048), (4096, 768, 3072), (128, 768, 3072)), 64 << 20


def measure(run):
    times = []
    for i in range(WARMUP + RUNS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    low, median, high = statistics.quantiles(times[WARMUP:], n=4)
    return [median, low, high]


def networks():
    """Name, model and input of each network of tools/gpu-check."""
    model = torchvision.models.resnet50(weights=None).cuda().eval()
    for batch in (1, 64):
        yield f'resnet50, batch {batch}', model, torch.randn(batch, 3, 224, 224, device='cuda'), {}
    model = transformers.BertModel(transformers.BertConfig()).cuda().eval()
    for batch in (1, 32):
        yield f'bert-base, batch {batch}', model, torch.randint(0, 30000, (batch, 128), device='cuda'), {}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda().eval()
    yield 'gpt2, batch 1', model, torch.randint(0, 50000, (1, 64), device='cuda'), {'use_cache': False}


def tell(results, name, run, unit=1):
    """A line with all that is known so far: whoever ends this early has that."""
    results[name] = [unit * ms for ms in measure(run)]
    print(json.dumps(results), flush=True)


def main():
    if not torch.cuda.is_available():
        sys.exit('torch sees no GPU')
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    results = {}
    with torch.inference_mode():
        for m, k, n in PRODUCTS:
            a, b, y = (torch.randn(size, device='cuda') for size in ((m, k), (k, n), (m, n)))
            tell(results, f'product {m} {k} {n}', lambda: torch.mm(a, b, out=y), 1e3)
        a, b = (torch.randn(ELEMENTS, device='cuda') for _ in range(2))
        tell(results, 'copy', lambda: b.copy_(a), 1e3)
        del a, b, y
        for name, model, x, options in networks():
            tell(results, name, lambda: model(x, **options))
        for name, model, x, options in networks() if '--compiled' in sys.argv[1:] else ():
            compiled = torch.compile(model, mode='max-autotune-no-cudagraphs' if x.shape[0] > 1 else 'reduce-overhead')
            tell(results, f'{name}, compiled', lambda: compiled(x, **options))


if __name__ == '__main__':
    main()
