#!/usr/bin/python3
"""The generated documents are current; prints TAP. With --write it makes them so.

    test-docs.py IRSCOPE SOURCE_ROOT [--write]"""

import os
import re
import subprocess
import sys
import tempfile

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
DOCUMENTS = {'OPS.md': ['ops'], 'PASSES.md': ['passes'], 'RULES.md': ['rules'], 'GRADIENTS.md': ['ops', '--gradients']}
EXAMPLES = ['CONTROL-FLOW.md']  # commands in blocks, with what they print, and pictures that they draw
PICTURE = r'!\[[^\]]*\]\((control-flow/([\w-]+\.svg))\)'


def answer(match, folder):
    """The block again, with what its command prints now."""
    command = match[1]
    done = subprocess.run(['sh', '-c', command.replace('irscope ', f'"{PROGRAM}" ', 1)], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return f'```sh\n$ {command}\n' + (f'{done.stdout.rstrip()}\n' if done.stdout.strip() else '') + '```'


def texts_of(svg):
    """Fonts are not the same everywhere, and with them where all stands; what is written is."""
    return re.findall(r'>([^<>]+)</', svg)


def are_drawn(text, folder):
    """Whether the pictures that the text shows are what the commands have drawn; with --write they are then."""
    good = True
    for shown, name in re.findall(PICTURE, text):
        path = os.path.join(ROOT, 'docs', shown)
        new = open(os.path.join(folder, name), encoding='utf-8').read()
        old = open(path, encoding='utf-8').read() if os.path.exists(path) else ''
        if texts_of(old) != texts_of(new) and '--write' in sys.argv:
            open(path, 'w', encoding='utf-8').write(new)
            old = new
        good = good and texts_of(old) == texts_of(new)
    return good


def with_answers(text):
    """The text, and whether its pictures are current"""
    with tempfile.TemporaryDirectory(prefix='irscope-docs-') as folder:
        for name in ['data', 'docs']:
            os.symlink(os.path.join(os.path.abspath(ROOT), name), os.path.join(folder, name))
        text = re.sub(r'```sh\n\$ (.*)\n(?:[^`]*\n)?```', lambda match: answer(match, folder), text)
        return text, are_drawn(text, folder)


failed = False
print(f'1..{len(DOCUMENTS) + len(EXAMPLES)}')
for number, name in enumerate([*DOCUMENTS, *EXAMPLES], 1):
    path = os.path.join(ROOT, 'docs', name)
    old = open(path, encoding='utf-8').read() if os.path.exists(path) else ''
    command, drawn = DOCUMENTS.get(name), True
    if command is not None:
        text = subprocess.run([PROGRAM, *command, '--markdown'], capture_output=True, text=True, check=True).stdout
    else:
        text, drawn = with_answers(old)
    if '--write' in sys.argv and text != old:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, 'w', encoding='utf-8').write(text)
        old = text
    source = f'irscope {" ".join(command)} --markdown prints' if command is not None else 'its commands print'
    print(f'{"ok" if old == text and drawn else "not ok"} {number} - docs/{name} is what {source}')
    if old != text or not drawn:
        print('# run tests/cli/test-docs.py build/irscope . --write')
        failed = True
sys.exit(1 if failed else 0)
