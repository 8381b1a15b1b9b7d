#!/usr/bin/python3
"""The generated documents are current; prints TAP. With --write it makes them so.

    test-docs.py IRSCOPE SOURCE_ROOT [--write]"""

import os
import subprocess
import sys

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
DOCUMENTS = {'OPS.md': ['ops'], 'PASSES.md': ['passes'], 'RULES.md': ['rules'], 'GRADIENTS.md': ['ops', '--gradients']}

failed = False
print(f'1..{len(DOCUMENTS)}')
for number, (name, command) in enumerate(DOCUMENTS.items(), 1):
    path = os.path.join(ROOT, 'docs', name)
    text = subprocess.run([PROGRAM, *command, '--markdown'], capture_output=True, text=True, check=True).stdout
    if '--write' in sys.argv:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, 'w', encoding='utf-8').write(text)
    current = os.path.exists(path) and open(path, encoding='utf-8').read() == text
    print(f'{"ok" if current else "not ok"} {number} - docs/{name} is what irscope {" ".join(command)} --markdown prints')
    if not current:
        print('# run tests/cli/test-docs.py build/irscope . --write')
        failed = True
sys.exit(1 if failed else 0)
