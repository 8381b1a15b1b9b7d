#!/usr/bin/python3
"""Checks a memory plan from nothing but its text: the bytes and lives that irscope printed.

    irscope memory --csv FILE | check-memory.py [--capacity BYTES] [--spans PLAN.json]
    irscope memory --json FILE | check-memory.py [--capacity BYTES]
    irscope memory --json --budget SIZE FILE | check-memory.py

Computes the lower bound (the most bytes that live at once), the height of the placement, and every pair of blocks that
overlap in time and in space. Prints them and exits with 1 if two overlap or the placement is higher than the capacity.
Values of a graph that share bytes are judged as one block: those that name another in alias_of belong to its block, and
must lie in it. Within a block, a value with contents of its own must not be written over bytes that a later step reads;
view_of, over and part_of say whose bytes those may be, and are checked. A value must stay until the last step of read_by.
Steps of a span run concurrently, in no order but that of their worker: what lives in one of them lives in all, and
nothing may be written over bytes that another worker reads in the same span. A list of blocks does not say which steps
those are; --spans FILE takes them from the JSON of the same plan.
Of a plan with a budget, the runs are followed as well, over an arena that notes whose bytes are where: every node must
find what it reads, be it in the place that it has in a whole, each must run, for the first time in order, and the FLOPs of
those that run again must be what it says."""

import csv
import io
import json
import sys


class Spans:
    """Steps that run concurrently."""

    def __init__(self, plan):
        self.spans = [(int(span['first']), int(span['last'])) for span in plan.get('spans', [])]
        self.workers = [step.get('worker') for step in plan.get('steps', [])]
        for (first, last), (after, _) in zip(self.spans, self.spans[1:] + [(len(self.workers), 0)]):
            if not first < last < after:
                raise SystemExit(f'steps {first} to {last} are no span')
        for step, worker in enumerate(self.workers):
            if (worker is None) != (self.of(step) is None) or not 0 <= (worker or 0) < int(plan['workers']):
                raise SystemExit(f'step {step} has the worker {worker}')

    def of(self, step):
        return next((span for span in self.spans if span[0] <= step <= span[1]), None)

    def widened(self, first, last):
        """From when to when something lives that lives in these steps."""
        begin, end = self.of(first), self.of(last)
        return begin[0] if begin else first, end[1] if end else last

    def beside(self, step, other):
        """Whether two steps have no order."""
        return self.of(step) is not None and self.of(step) == self.of(other) and self.workers[step] != self.workers[other]


def blocks_of_csv(text, spans):
    rows = csv.DictReader(io.StringIO(text))
    blocks = []
    for row in rows:
        first, last = spans.widened(int(row['lower']), int(row['upper']) - 1)
        blocks.append((row['id'], first, last + 1, int(row['size']), int(row['offset'])))
    return blocks


def blocks_of_json(text):
    plan = json.loads(text)
    align = int(plan['align_bytes'])
    spans = Spans(plan)
    groups = {}
    for value in plan['values']:
        if 'read_by' in value and value['last'] != max([value['first'], *value['read_by']]):
            raise SystemExit(f'{value["name"]} stays until {value["last"]}, and is read in {value["read_by"]}')
        if any(step <= value['first'] for step in value.get('read_by', [])):
            raise SystemExit(f'{value["name"]} is read before it is there')
        key = value.get('alias_of') or value['name']
        groups.setdefault(key, []).append(value)
    for name, values in groups.items():
        for sentence in sharing(name, values, align, spans):
            raise SystemExit(sentence)
    blocks = []
    for name, values in groups.items():
        low = min(int(value['offset']) for value in values)
        high = max(int(value['offset']) + -(-int(value['size']) // align) * align for value in values)
        first, last = spans.widened(min(value['first'] for value in values), max(value['last'] for value in values))
        blocks.append((name, first, last + 1, high - low, low))
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


def must_stay(other, value, spans):
    """Whether the bytes of one value must be as they are when another is written."""
    first = value['first']
    reads = other.get('read_by', [])
    if other['first'] <= first < other['last'] or other['first'] == first:
        return True
    if any(spans.beside(first, step) for step in reads):
        return True
    # One that another worker has just written is there for the node that reads it, and for nobody else.
    return spans.beside(first, other['first']) and first not in reads


def sharing(root, values, align, spans):
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
                if other is not value and must_stay(other, value, spans) and meet(written, other):
                    yield f'{name} is written over {other["name"]}, which is still read'
        # Parts overlap nobody but what they are views of, or were views of them.
        for part in parts:
            for other in parts:
                if other is not part and meet(part, other):
                    yield f'{part["name"]} and {other["name"]} are one part of {name}'


class Arena:
    """Which stays of values each byte of the arena belongs to: one, or a whole and its parts."""

    def __init__(self):
        self.pieces = []  # (low, high, stays); apart from each other

    def cut(self, low, high):
        """What lies between two places, and what lies elsewhere."""
        inside, outside = [], []
        for first, last, stays in self.pieces:
            for begin, end in ((first, min(last, low)), (max(first, high), last)):
                if begin < end:
                    outside.append((begin, end, stays))
            if max(first, low) < min(last, high):
                inside.append((max(first, low), min(last, high), stays))
        return inside, outside

    def write(self, stay, low, high):
        self.pieces = self.cut(low, high)[1] + [(low, high, {stay})]

    def share(self, stay, low, high):
        """Gives bytes to another one, too, which leaves them as they are."""
        inside, outside = self.cut(low, high)
        self.pieces = outside + [(first, last, stays | {stay}) for first, last, stays in inside]

    def holds(self, stay, low, high):
        inside, _ = self.cut(low, high)
        return sum(last - first for first, last, stays in inside if stay in stays) == high - low


def follow(plan):
    """What is wrong with the runs of a plan under a budget, as a list of sentences."""
    wrong, lives, seen, arena = [], {}, set(), Arena()
    for number, life in enumerate(plan['values']):
        lives.setdefault(life['name'], []).append({**life, 'stay': number})
    flops = once = 0

    def stay_of(name, index):
        """The stay of a value that a run reads, if there is one."""
        stays = [life for life in lives.get(name, []) if life['first'] < index <= life['last']]
        return stays[0] if len(stays) == 1 else None

    def write(index, run, name):
        stays = [life for life in lives.get(name, []) if life['first'] == index]
        if len(stays) != 1:
            return f'has no place for {name}'
        life = stays[0]
        low, high = span(life)
        if 'view_of' in life:
            whole = stay_of(life['view_of'], index)
            if whole is None or life['view_of'] not in run['reads'] or not arena.holds(whole['stay'], low, high):
                return f'does not find {name} in {life["view_of"]}'
            arena.share(life['stay'], low, high)
            return None
        parts = [stay_of(part, index) for part in run['reads']]
        parts = [part for part in parts if part is not None and part.get('part_of') == name and within(part, life)]
        if any(one is not other and meet(one, other) for one in parts for other in parts):
            return f'joins parts of {name} that overlap'
        for first, last in pieces_left(life, parts):
            arena.write(life['stay'], first, last)
        for part in parts:
            arena.share(life['stay'], *span(part))
        return None

    for index, run in enumerate(plan['runs']):
        key = (run['node'], run['op'], *run['writes'])
        again = key in seen and bool(run['writes'])
        seen.add(key)
        if run['again'] != again and run['writes']:
            wrong.append(f'run {index}: {run["node"]} says again is {run["again"]}')
        flops += int(run['flops'])
        once += 0 if run['again'] else int(run['flops'])
        for name in run['reads']:
            life = stay_of(name, index)
            if life is None or not arena.holds(life['stay'], *span(life)):
                wrong.append(f'run {index}: {run["node"]} does not find {name}')
        for name in run['writes']:
            sentence = write(index, run, name)
            if sentence is not None:
                wrong.append(f'run {index}: {run["node"]} {sentence}')
        # What is read and no longer there afterwards must have been for this run only.
        for name in run['reads']:
            life = stay_of(name, index)
            if life is not None and life['last'] > index and not arena.holds(life['stay'], *span(life)):
                wrong.append(f'run {index}: {run["node"]} writes over {name}, which is still read')
    if flops - once != int(plan['extra_flops']) or once != int(plan['flops']):
        wrong.append(f'FLOPs are {once} and {flops - once} more, the plan says {plan["flops"]} and {plan["extra_flops"]}')
    height = max((int(life['offset']) + int(life['size']) for life in plan['values']), default=0)
    if height != int(plan['peak_bytes']) or plan['feasible'] != (height <= int(plan['budget_bytes'])):
        wrong.append(f'values end at {height}, the plan says {plan["peak_bytes"]} of {plan["budget_bytes"]}')
    return wrong


def written_where_read(plan):
    """Runs that write where their own inputs lie, unless it is over one or into the place of a part, as sentences."""
    for index, run in enumerate(plan['runs']):
        reads = [life for life in plan['values'] if life['name'] in run['reads'] and life['first'] < index <= life['last']]
        for life in plan['values']:
            if life['name'] not in run['writes'] or life['first'] != index or 'view_of' in life:
                continue
            for read in reads:
                over = life.get('over') == read['name'] and read['last'] == index and span(read) == span(life)
                part = read.get('part_of') == life['name'] and within(read, life)
                if meet(life, read) and not over and not part:
                    yield f'run {index}: {run["node"]} writes {life["name"]} where it reads {read["name"]}'


def blocks_of_lives(plan):
    groups = {}
    for life in plan['values']:
        groups.setdefault(life['block'], []).append(life)
    blocks = []
    for lives in groups.values():
        low, high = min(span(life)[0] for life in lives), max(span(life)[1] for life in lives)
        blocks.append((lives[0]['name'], min(life['first'] for life in lives), max(life['last'] for life in lives) + 1, high - low, low))
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
    plan = json.loads(open(sys.argv[sys.argv.index('--spans') + 1], encoding='utf-8').read()) if '--spans' in sys.argv else {}
    plans = [blocks_of_json(text) if text.lstrip().startswith('{') else blocks_of_csv(text, Spans(plan))]
    again = json.loads(text).get('recompute') if text.lstrip().startswith('{') else None
    wrong = []
    if again is not None:
        plans.append(blocks_of_lives(again))
        wrong = follow(again) + list(written_where_read(again))
    failed = False
    claims = [json.loads(text), again] if text.lstrip().startswith('{') else [None]
    for blocks, claim in zip(plans, claims):
        bound, height, overlaps = judge(blocks)
        if claim is not None and bound != int(claim['lower_bound_bytes']):
            wrong.append(f'the lower bound is {bound}, the plan says {claim["lower_bound_bytes"]}')
        print(f'{len(blocks)} blocks, lower bound {bound}, height {height}, {len(overlaps)} overlaps')
        for pair in overlaps[:10]:
            print('overlap:', *pair)
        failed = failed or bool(overlaps) or any(block[4] < 0 for block in blocks)
        failed = failed or (capacity is not None and height > capacity)
    for sentence in wrong[:10]:
        print(sentence)
    sys.exit(1 if failed or wrong else 0)


if __name__ == '__main__':
    main()
