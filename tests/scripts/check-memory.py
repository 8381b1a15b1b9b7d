#!/usr/bin/python3
"""Checks a memory plan from nothing but its text: the bytes and lives that irscope printed.

    irscope memory --csv FILE | check-memory.py [--capacity BYTES]
    irscope memory --json FILE | check-memory.py [--capacity BYTES]

Computes the lower bound (the most bytes that live at once), the height of the placement, and every pair of blocks that
overlap in time and in space. Prints them and exits with 1 if two overlap or the placement is higher than the capacity.
Values of a graph that share bytes are judged as one block: those that name another in alias_of belong to its block."""

import csv
import io
import json
import sys


def blocks_of_csv(text):
    rows = csv.DictReader(io.StringIO(text))
    return [(row['id'], int(row['lower']), int(row['upper']), int(row['size']), int(row['offset'])) for row in rows]


def blocks_of_json(text):
    plan = json.loads(text)
    align = int(plan['align_bytes'])
    groups = {}
    for index, value in enumerate(plan['values']):
        key = value.get('alias_of') or value['name']
        groups.setdefault(key, []).append(value)
    blocks = []
    for name, values in groups.items():
        low = min(int(value['offset']) for value in values)
        high = max(int(value['offset']) + -(-int(value['size']) // align) * align for value in values)
        blocks.append((name, min(value['first'] for value in values), max(value['last'] for value in values) + 1,
                       high - low, low))
    if 'peak_bytes' in plan and blocks:
        height = max(offset + size for _, _, _, size, offset in blocks)
        if height != int(plan['peak_bytes']):
            raise SystemExit(f'the plan says its peak is {plan["peak_bytes"]}, its values end at {height}')
    return blocks


def judge(blocks):
    times = sorted({block[1] for block in blocks})
    bound = max((sum(size for _, lower, upper, size, _ in blocks if lower <= time < upper) for time in times), default=0)
    height = max((offset + size for _, _, _, size, offset in blocks), default=0)
    ordered = sorted(blocks, key=lambda block: block[4])
    overlaps = []
    for i, (name, lower, upper, size, offset) in enumerate(ordered):
        for other, lower2, upper2, size2, offset2 in ordered[i + 1:]:
            if offset2 >= offset + size:
                break
            if lower < upper2 and lower2 < upper and size2 > 0:
                overlaps.append((name, other))
    return bound, height, overlaps


def main():
    capacity = int(sys.argv[sys.argv.index('--capacity') + 1]) if '--capacity' in sys.argv else None
    text = sys.stdin.read()
    blocks = blocks_of_json(text) if text.lstrip().startswith('{') else blocks_of_csv(text)
    bound, height, overlaps = judge(blocks)
    print(f'{len(blocks)} blocks, lower bound {bound}, height {height}, {len(overlaps)} overlaps')
    for pair in overlaps[:10]:
        print('overlap:', *pair)
    sys.exit(1 if overlaps or any(block[4] < 0 for block in blocks) or (capacity is not None and height > capacity) else 0)


if __name__ == '__main__':
    main()
