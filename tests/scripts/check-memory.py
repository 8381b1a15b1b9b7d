#!/usr/bin/python3
"""Checks a memory plan from nothing but its text: the bytes and lives that irscope printed.

    irscope memory --csv FILE | check-memory.py [--capacity BYTES]
    irscope memory --json FILE | check-memory.py [--capacity BYTES]
    irscope memory --json --budget SIZE FILE | check-memory.py

Computes the lower bound (the most bytes that live at once), the height of the placement, and every pair of blocks that
overlap in time and in space. Prints them and exits with 1 if two overlap or the placement is higher than the capacity.
Values of a graph that share bytes are judged as one block: those that name another in alias_of belong to its block, and
must lie in it. Within a block, a value with contents of its own must not be written over bytes that a later step reads;
view_of, over and part_of say whose bytes those may be, and are checked.
Of a plan with a budget, the runs are followed as well, over an arena that notes who wrote where: every node must find
what it reads, each must run, for the first time in order, and the FLOPs of those that run again must be what it says."""

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
    for name, values in groups.items():
        for sentence in sharing(name, values, align):
            raise SystemExit(sentence)
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


def span(value):
    return int(value['offset']), int(value['offset']) + int(value['size'])


def meet(one, other):
    """Whether two values have bytes in common."""
    (low, high), (low2, high2) = span(one), span(other)
    return low < high2 and low2 < high


def within(part, whole):
    return span(whole)[0] <= span(part)[0] and span(part)[1] <= span(whole)[1]


def pieces_left(whole, parts):
    """The ranges of a whole that none of its parts covers: those that its own node writes."""
    at, end = span(whole)
    for low, high in sorted(span(part) for part in parts):
        if at < low:
            yield at, low
        at = max(at, high)
    if at < end:
        yield at, end


def sharing(root, values, align):
    """What is wrong in a block of values that share bytes, as sentences."""
    named = {value['name']: value for value in values}
    if root not in named:
        yield f'{root} is no value of its own block'
        return
    for value in values:
        name = value['name']
        if int(value['offset']) % align != 0 or not within(value, named[root]):
            yield f'{name} does not lie in {root}'
        if sum(key in value for key in ('view_of', 'over')) > 1:
            yield f'{name} is both a view and written over something'
        for key in ('view_of', 'over', 'part_of'):
            if key in value and value[key] not in named:
                yield f'{name} names {value[key]}, which lies in another block'
                return
        if 'view_of' in value:
            base = named[value['view_of']]
            if not within(value, base) or not base['first'] <= value['first'] <= base['last']:
                yield f'{name} is no view of {base["name"]}'
        if 'over' in value:
            base = named[value['over']]
            if span(value) != span(base) or base['last'] != value['first']:
                yield f'{name} is written over {base["name"]}, which is not the same bytes, or is read later'
        if 'part_of' in value:
            whole = named[value['part_of']]
            if not within(value, whole) or not value['first'] < whole['first'] <= value['last']:
                yield f'{name} is no part of {whole["name"]}'
        if 'view_of' in value:
            continue
        # What the node of the value writes, and what must still be there afterwards.
        parts = [part for part in values if part.get('part_of') == name]
        for low, high in pieces_left(value, parts):
            written = {'offset': low, 'size': high - low}
            for other in values:
                lives = other['first'] <= value['first'] < other['last'] or other['first'] == value['first']
                if other is not value and lives and meet(written, other):
                    yield f'{name} is written over {other["name"]}, which is still read'
        # Parts overlap nobody but what they are views of, or were views of them.
        for part in parts:
            for other in parts:
                if other is not part and meet(part, other):
                    yield f'{part["name"]} and {other["name"]} are one part of {name}'


def follow(plan):
    """What is wrong with the runs of a plan under a budget, as a list of sentences."""
    wrong, written, lives, seen = [], [], {}, set()
    for life in plan['values']:
        lives.setdefault(life['name'], []).append(life)
    flops = once = 0

    def holds(name, low, high):
        """Whether nobody wrote there after the value itself."""
        for other, first, last in reversed(written):
            if first < high and low < last:
                return other == name and first <= low and high <= last
        return False

    for index, run in enumerate(plan['runs']):
        key = (run['node'], run['op'], *run['writes'])
        again = key in seen and bool(run['writes'])
        seen.add(key)
        if run['again'] != again and run['writes']:
            wrong.append(f'run {index}: {run["node"]} says again is {run["again"]}')
        flops += int(run['flops'])
        once += 0 if run['again'] else int(run['flops'])
        for name in run['reads']:
            stays = [life for life in lives.get(name, []) if life['first'] < index <= life['last']]
            if len(stays) != 1 or not holds(name, int(stays[0]['offset']), int(stays[0]['offset']) + int(stays[0]['size'])):
                wrong.append(f'run {index}: {run["node"]} does not find {name}')
        for name in run['writes']:
            stays = [life for life in lives.get(name, []) if life['first'] == index]
            if len(stays) != 1:
                wrong.append(f'run {index}: {run["node"]} has no place for {name}')
                continue
            written.append((name, int(stays[0]['offset']), int(stays[0]['offset']) + int(stays[0]['size'])))
    if flops - once != int(plan['extra_flops']) or once != int(plan['flops']):
        wrong.append(f'FLOPs are {once} and {flops - once} more, the plan says {plan["flops"]} and {plan["extra_flops"]}')
    height = max((int(life['offset']) + int(life['size']) for life in plan['values']), default=0)
    if height != int(plan['peak_bytes']) or plan['feasible'] != (height <= int(plan['budget_bytes'])):
        wrong.append(f'values end at {height}, the plan says {plan["peak_bytes"]} of {plan["budget_bytes"]}')
    return wrong


def blocks_of_lives(plan):
    groups = {}
    for life in plan['values']:
        groups.setdefault(life['block'], []).append(life)
    for lives in groups.values():
        for before, after in zip(lives, lives[1:]):
            if before['last'] != after['first'] or before['offset'] != after['offset'] or before['size'] != after['size']:
                raise SystemExit(f'block {before["block"]} passes from {before["name"]} to {after["name"]}, which do not meet')
    return [(lives[0]['name'], lives[0]['first'], lives[-1]['last'] + 1, int(lives[0]['size']), int(lives[0]['offset']))
            for lives in groups.values()]


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
    plans = [blocks_of_json(text) if text.lstrip().startswith('{') else blocks_of_csv(text)]
    again = json.loads(text).get('recompute') if text.lstrip().startswith('{') else None
    wrong = []
    if again is not None:
        plans.append(blocks_of_lives(again))
        wrong = follow(again)
    failed = False
    for blocks in plans:
        bound, height, overlaps = judge(blocks)
        print(f'{len(blocks)} blocks, lower bound {bound}, height {height}, {len(overlaps)} overlaps')
        for pair in overlaps[:10]:
            print('overlap:', *pair)
        failed = failed or bool(overlaps) or any(block[4] < 0 for block in blocks)
        failed = failed or (capacity is not None and height > capacity)
    if again is not None and bound != int(again['lower_bound_bytes']):
        wrong.append(f'the lower bound is {bound}, the plan says {again["lower_bound_bytes"]}')
    for sentence in wrong[:10]:
        print(sentence)
    sys.exit(1 if failed or wrong else 0)


if __name__ == '__main__':
    main()
