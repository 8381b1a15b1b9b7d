#!/usr/bin/python3
"""Times `irscope memory` on a folder of allocation instances, and checks every placement.

    bench-memory.py IRSCOPE FOLDER [--time-limit SECONDS] [--seeds N]

FOLDER holds files NAME.CAPACITY.csv (id,lower,upper,size; half-open lives), as those of google/minimalloc do. Each is
placed as it is, with its ids shuffled, with time reversed, and with sizes and capacity tripled. Prints one table in
Markdown with processor seconds, which other work on the machine changes little; "missed" where the time ran out. With
--seeds each is placed N times as it is, with another seed of the search: least, median and most."""

import csv
import io
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKER = os.path.join(HERE, '..', 'scripts', 'check-memory.py')


def as_is(rows):
    return rows


def shuffled(rows):
    rows = random.Random(7).sample(rows, len(rows))
    return [(index, lower, upper, size) for index, (_, lower, upper, size) in enumerate(rows)]


def reversed_in_time(rows):
    end = max(upper for _, _, upper, _ in rows)
    return [(name, end - upper, end - lower, size) for name, lower, upper, size in rows]


def tripled(rows):
    return [(name, lower, upper, 3 * size) for name, lower, upper, size in rows]


VARIANTS = {'as is': (as_is, 1), 'ids shuffled': (shuffled, 1), 'time reversed': (reversed_in_time, 1),
            'sizes tripled': (tripled, 3)}


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def place(program, rows, capacity, limit, seed=0):
    """Processor seconds, and whether a valid placement within the capacity was printed."""
    with tempfile.NamedTemporaryFile('w', suffix='.csv') as file:
        print('id,lower,upper,size', file=file)
        for row in rows:
            print(*row, sep=',', file=file)
        file.flush()
        before = processor_seconds()
        placed = subprocess.run([program, 'memory', '--csv', '--capacity', str(capacity), '--time-limit', str(limit),
                                 '--seed', str(seed), file.name], capture_output=True, text=True, check=False)
        seconds = processor_seconds() - before
    checked = subprocess.run([sys.executable, CHECKER, '--capacity', str(capacity)], input=placed.stdout,
                             capture_output=True, text=True, check=False)
    # The checker sees only what was printed: that must be the instance that was given.
    printed = [(row['id'], int(row['lower']), int(row['upper']), int(row['size']))
               for row in csv.DictReader(io.StringIO(placed.stdout))]
    same = printed == [(str(name), lower, upper, size) for name, lower, upper, size in rows]
    return seconds, placed.returncode == 0 and checked.returncode == 0 and same


def main():
    program, folder = sys.argv[1], sys.argv[2]
    limit = int(sys.argv[sys.argv.index('--time-limit') + 1]) if '--time-limit' in sys.argv else 60
    n_seeds = int(sys.argv[sys.argv.index('--seeds') + 1]) if '--seeds' in sys.argv else 0
    totals = dict.fromkeys(VARIANTS, 0.0)
    titles = [*VARIANTS, f'{n_seeds} seeds'] if n_seeds else VARIANTS
    print('| instance | buffers |', ' | '.join(titles), '|')
    print('|---|---|' + '---|' * len(titles))
    for name in sorted(os.listdir(folder)):
        parts = name.split('.')
        if len(parts) != 3 or parts[2] != 'csv':
            continue
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            rows = [(row['id'], int(row['lower']), int(row['upper']), int(row['size'])) for row in csv.DictReader(file)]
        cells = []
        for variant, (change, factor) in VARIANTS.items():
            seconds, good = place(program, change(rows), int(parts[1]) * factor, limit)
            totals[variant] += seconds
            cells.append(f'{seconds:.2f}' if good else f'missed after {seconds:.2f}')
        if n_seeds:
            tries = [place(program, rows, int(parts[1]), limit, seed) for seed in range(n_seeds)]
            times = sorted(seconds for seconds, _ in tries)
            n_missed = sum(not good for _, good in tries)
            cells.append(f'{times[0]:.2f}, {statistics.median(times):.2f}, {times[-1]:.2f}' + (f', missed {n_missed}' if n_missed else ''))
        print('|', parts[0], '|', len(rows), '|', ' | '.join(cells), '|', flush=True)
    print('| together | |', ' | '.join(f'{total:.2f}' for total in totals.values()), '| |' if n_seeds else '|')


if __name__ == '__main__':
    main()
