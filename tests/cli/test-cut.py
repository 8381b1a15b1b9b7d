#!/usr/bin/env python3
"""A mapped model that is cut while it runs: irscope must end with a message, whatever was running.

    test-cut.py IRSCOPE [CUTS] [PRODUCTS]
"""

import os
import random
import struct
import subprocess
import sys
import tempfile
import time

IRSCOPE = sys.argv[1]
CUTS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
PRODUCTS = int(sys.argv[3]) if len(sys.argv) > 3 else 12
SIZE = 1000
LATEST_S = 1.5


def varint(n):
    out = b''
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, content):
    """A field of protobuf: a number, or bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def declared(name):
    shape = field(2, field(1, field(1, SIZE)) + field(1, field(1, SIZE)))
    return field(1, name) + field(2, field(1, field(1, 1) + shape))


def model():
    """x times one matrix after another."""
    weights = struct.pack('<f', 0.001) * (SIZE * SIZE)
    nodes, tensors = b'', b''
    for i in range(PRODUCTS):
        source = 'x' if i == 0 else f't{i}'
        target = 'y' if i == PRODUCTS - 1 else f't{i + 1}'
        nodes += field(1, field(1, source) + field(1, f'w{i}') + field(2, target) + field(4, 'MatMul'))
        tensors += field(5, field(1, SIZE) + field(1, SIZE) + field(2, 1) + field(8, f'w{i}') + field(9, weights))
    graph = nodes + field(2, 'g') + tensors + field(11, declared('x')) + field(12, declared('y'))
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 17))


def run_and_cut(path, content, seconds):
    with open(path, 'wb') as file:
        file.write(content)
    run = subprocess.Popen([IRSCOPE, 'run', path, '--runs', '400', '--threads', '2'], stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, errors='replace')
    time.sleep(seconds)
    os.truncate(path, SIZE)
    _, message = run.communicate(timeout=120)
    return run.returncode, message.strip()


def main():
    order = random.Random(1)
    content = model()
    failed = 0
    with tempfile.TemporaryDirectory(prefix='irscope-cut-') as folder:
        for i in range(CUTS):
            seconds = order.uniform(0, LATEST_S)
            code, message = run_and_cut(os.path.join(folder, 'cut.onnx'), content, seconds)
            # Cut before it is read, it is no model; behind that, it has changed.
            ok = code in (1, 2, 3) and ('was changed' in message or 'error' in message or 'written' in message)
            failed += not ok
            print('ok' if ok else 'not ok', i + 1, f'- cut after {seconds:.3f} s')
            print('#', f'{code}: {message[:200]}'.replace('\n', ' '))
            sys.stdout.flush()
    print(f'1..{CUTS}')
    return 1 if failed else 0


sys.exit(main())
