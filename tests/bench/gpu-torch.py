#!/usr/bin/env python3
"""The networks of tools/gpu-check in PyTorch, eager, in float32 without TF32: a JSON object of [median, lower and upper
quartile] in milliseconds, by events of the device; of products and of a copy, in microseconds. Inputs lie on the device.

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


def main():
    if not torch.cuda.is_available():
        sys.exit('torch sees no GPU')
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    results = {}
    with torch.inference_mode():
        model = torchvision.models.resnet50(weights=None).cuda().eval()
        for batch in (1, 64):
            x = torch.randn(batch, 3, 224, 224, device='cuda')
            results[f'resnet50, batch {batch}'] = measure(lambda: model(x))
        model = transformers.BertModel(transformers.BertConfig()).cuda().eval()
        for batch in (1, 32):
            x = torch.randint(0, 30000, (batch, 128), device='cuda')
            results[f'bert-base, batch {batch}'] = measure(lambda: model(x))
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda().eval()
        x = torch.randint(0, 50000, (1, 64), device='cuda')
        results['gpt2, batch 1'] = measure(lambda: model(x, use_cache=False))
        for m, k, n in PRODUCTS:
            a, b, y = (torch.randn(size, device='cuda') for size in ((m, k), (k, n), (m, n)))
            results[f'product {m} {k} {n}'] = [1e3 * ms for ms in measure(lambda: torch.mm(a, b, out=y))]
        a, b = (torch.randn(ELEMENTS, device='cuda') for _ in range(2))
        results['copy'] = [1e3 * ms for ms in measure(lambda: b.copy_(a))]
    print(json.dumps(results))


if __name__ == '__main__':
    main()
