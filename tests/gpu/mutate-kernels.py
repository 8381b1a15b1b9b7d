#!/usr/bin/python3
"""Takes barriers, bounds and strides away from the templates of GPU kernels, one at a time, builds, and says
which of these the tests of kernels do not see. By hand; the templates are as before at the end.

    mutate-kernels.py BUILD [--where REGEX] [--seconds 600]"""

import argparse
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '../..'))
TESTS = ['tests/gpu/test-gpu-emulator', 'tests/gpu/test-gpu-traffic', 'tests/gpu/test-gpu-stats', 'tests/gpu/test-gpu-kernels']

# What is looked for in a line, and what comes in its place.
MUTATIONS = [
    (r'K_BARRIER \(\)', ';'),                                    # nobody waits
    (r'if \(i >= \$\w+\)', 'if (0)'),                            # threads behind the end work too
    (r'if \((?:m < |n < |row \+).*\)$', 'if (1)'),               # tiles reach over the edge
    (r'if \(k < 0 \|\| k >= \$size\)', 'if (0)'),                # indices are not looked at
    (r'if \(inside\)', 'if (1)'),
    (r'int mask = 16', 'int mask = 8'),                          # half a warp is left out
    (r'% \$inner;', '% 1u;'),
    (r'i < 8;', 'i < 7;'),
    (r'\$step_m\b', '$step_ka'),
    (r'\$step_kb\b', '$step_n'),
    (r'\* \$stride\b', '* 1u'),
    (r'\* scale;', ';'),
    (r'if \(outside\)', 'if (0)'),
    (r'inside = 1;', 'inside = 0;'),
    (r'if \(c < 0 \|\| c >= \$classes\)', 'if (0)'),
    (r'if \(t >= from && t < to\)', 'if (t >= from)'),           # parts of a line go into each other
    (r'if \(at_[ab] .*\)$', 'if (1)'),
    (r'if \(d < \$value_size\)', 'if (1)'),
    (r'if \(j < \$keys\)', 'if (1)'),
    (r'round > 0 && ', ''),
    (r'\* 33 \+', '* 32 +'),                                     # rows of a tile in the same banks
    (r'\* factor', '* 1'),
    (r'\$step_a\b', '1'),
    (r'\$step_b\b', '1'),
    (r'group \+ i % 2 \* 8', 'group'),                           # fragments of a matrix
    (r'lane \+ i / 2 \* 4', 'lane'),
    (r'lane \+ i \* 4', 'lane'),
    (r'group \+ i / 2 \* 8', 'group'),
    (r'\* \$inner\b', '* 1'),
    (r'\+ \$pla[cn]e\b', ''),
    (r' - shift', ''),
    (r'\$minus_[xw]', ''),
    (r'first >= n \? 0 : ', ''),                                  # blocks of statistics
    (r'n - first < \$block \?', '0 ?'),
    (r'i \* \$per \+ k < count', '1'),
    (r'count % 8 == 0 && ', ''),
    (r'finite == count && ', ''),
    (r'i \* 5\b', 'i * 4'),
    (r'block \* 5\b', 'block * 4'),
    (r'block \* 2\b', 'block'),
    (r'K_BLOCK \* each', 'K_BLOCK'),
    (r'first \+ each < n \?', '1 ?'),
    (r'K_SET \(counts, k \* \$threads \+ K_THREAD, 0\);', ';'),
]


def sites(where):
    for path in sorted(glob.glob(os.path.join(ROOT, 'core/exec/gpu/kernels/*.cu'))):
        text = open(path, encoding='utf-8').read()
        for pattern, becomes in MUTATIONS:
            for match in re.finditer(pattern, text, re.M):
                line = text.count('\n', 0, match.start()) + 1
                name = f'{os.path.basename(path)}:{line}: {match.group(0)} -> {becomes}'
                if re.search(where, name):
                    yield name, path, text, text[:match.start()] + becomes + text[match.end():]


def is_seen(build):
    done = subprocess.run(['ninja', '-C', build, *TESTS], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout[-2000:])
    environment = {**os.environ, 'G_TEST_SRCDIR': os.path.join(ROOT, 'tests/gpu')}
    return any(subprocess.run([os.path.join(build, name)], capture_output=True, env=environment).returncode
               for name in TESTS)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('build')
    parser.add_argument('--where', default='', help='mutations whose line of output this fits')
    parser.add_argument('--seconds', type=float, default=600)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    seen, missed = 0, []
    for name, path, text, mutated in sites(options.where):
        if time.monotonic() > end:
            print('the time is over')
            break
        try:
            open(path, 'w', encoding='utf-8').write(mutated)
            caught = is_seen(options.build)
        finally:
            open(path, 'w', encoding='utf-8').write(text)
        print('seen  ' if caught else 'MISSED', name, flush=True)
        seen += caught
        missed += [] if caught else [name]
    print(f'{seen} seen, {len(missed)} missed')
    return bool(missed)


if __name__ == '__main__':
    sys.exit(main())
