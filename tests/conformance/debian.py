#!/usr/bin/python3
"""The first part of docs/CONFORMANCE.md is what the program does with the cases of Debian's
libonnx-testdata; prints TAP. With --write it makes it so.

    tests/conformance/debian.py build/irscope . [--write]"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report as r  # noqa: E402

DATA = '/usr/share/libonnx-testdata/data'


def package_version():
    status = open('/var/lib/dpkg/status', encoding='utf-8', errors='replace').read()
    for block in status.split('\n\n'):
        if block.startswith('Package: libonnx-testdata\n'):
            for line in block.split('\n'):
                if line.startswith('Version: '):
                    return line.removeprefix('Version: ')
    return 'of unknown version'


def part(report):
    return ['', f'## Debian\'s libonnx-testdata {package_version()}', '',
            '`tests/conformance/debian.py build/irscope . --write` writes this part; a test of the suite compares it.', '',
            *r.totals(report), *r.on_cpu(report), '',
            '### By operator', '',
            'A case counts for every operator of its graph; (!) marks where some do not pass.', '',
            *r.by_operator(report, DATA), '',
            '### What does not pass', '', *r.failures(report), '']


def main():
    irscope, root = sys.argv[1], sys.argv[2]
    path = os.path.join(root, 'docs', 'CONFORMANCE.md')
    print('1..1')
    if not os.path.isdir(DATA):
        print('ok 1 # SKIP the ONNX cases are not installed (Debian: libonnx-testdata)')
        return 0
    lines = part(r.run(irscope, DATA))
    if '--write' in sys.argv:
        r.replace_part(path, 'debian', lines)
    written = r.part_of(open(path, encoding='utf-8').read(), 'debian') if os.path.exists(path) else None
    wanted = '\n'.join(lines).strip('\n')
    if written == wanted:
        print('ok 1 - docs/CONFORMANCE.md says what the cases of Debian say')
        return 0
    print('not ok 1 - docs/CONFORMANCE.md says what the cases of Debian say')
    print('# run tests/conformance/debian.py build/irscope . --write')
    for line in sorted(set(wanted.split('\n')) - set((written or '').split('\n')))[:40]:
        print('# now: ' + line)
    return 1


if __name__ == '__main__':
    sys.exit(main())
