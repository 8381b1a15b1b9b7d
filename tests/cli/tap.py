"""Cases of a test of commands, which are run in order and printed as TAP."""

import os
import sys

cases = []


def test(title, sanitized=True):
    """Makes the function below a case of that title: it fails where it raises something. Not @sanitized: it starts so
    many programs that it is left out where each start takes long."""
    def add(function):
        if sanitized or 'IRSCOPE_SANITIZED' not in os.environ:
            cases.append((title, function))
        return function
    return add


def run_tests():
    """Ends the program: 1 where one has failed."""
    failed = 0
    print(f'1..{len(cases)}')
    for number, (title, function) in enumerate(cases, 1):
        try:
            function()
            print(f'ok {number} - {title}', flush=True)
        except Exception as error:  # noqa: BLE001, it is the result
            failed += 1
            why = f'{type(error).__name__}: {error}'[:3000].replace('\n', '\n# ')
            print(f'not ok {number} - {title}\n# {why}', flush=True)
    sys.exit(failed > 0)
