#!/usr/bin/env python3
"""Sums the results of `meson test` over its logs, counting each TAP subtest.

    count-results.py [--failures N] build/meson-logs/testlog.json ...

A test without TAP output counts as one.  A TAP test that died counts its finished subtests and one
failure.  The names of the failures are listed first; the last line is "N passed, N failed, N skipped",
and the exit status is 1 if anything failed or nothing passed.
"""

import argparse
import collections
import json
import re
import sys

SUBTEST = re.compile(r"^(?P<no>not )?ok\b(?: +\d+)?(?: +-)? *(?P<text>.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(?: *# *(?P<skip>SKIP.*))?$", re.IGNORECASE)
GOOD = ("OK", "EXPECTEDFAIL")


def subtests(text):
    """Yields (verdict, name) of each TAP line, and the planned number last; nothing if it is not TAP."""
    planned = None
    for line in (text or "").splitlines():
        plan, result = PLAN.match(line), SUBTEST.match(line)
        if plan:
            planned = int(plan.group(1))
            if plan.group("skip"):
                yield "skipped", plan.group("skip")
        elif result:
            name, _, directive = result.group("text").partition(" # ")
            word = directive.strip().upper()
            verdict = "failed" if result.group("no") else "passed"
            if word.startswith("SKIP") or word.startswith("TODO"):
                verdict = "skipped"
            yield verdict, name
    if planned is not None:
        yield "planned", planned


def count(entry, totals, failures):
    found = list(subtests(entry.get("stdout")))
    planned = sum(value for verdict, value in found if verdict == "planned")
    results = [(verdict, name) for verdict, name in found if verdict != "planned"]
    verdict = entry["result"]
    is_tap = any(verdict_ == "planned" for verdict_, _ in found)
    if not is_tap:
        kind = "passed" if verdict in GOOD else "skipped" if verdict == "SKIP" else "failed"
        results = [(kind, verdict)]
    for kind, name in results:
        totals[kind] += 1
        if kind == "failed":
            failures.append(f"{entry['name']}: {name}")
    died = verdict not in GOOD + ("SKIP",) and not any(kind == "failed" for kind, _ in results)
    if is_tap and (died or len(results) < planned):
        totals["failed"] += 1
        failures.append(f"{entry['name']}: {verdict} after {len(results)} of {planned} subtests")


def main():
    parser = argparse.ArgumentParser(description="Sum the results of meson test.")
    parser.add_argument("--failures", type=int, default=0, help="failures known from elsewhere")
    parser.add_argument("logs", nargs="*")
    options = parser.parse_args()
    totals, failures = collections.Counter(failed=options.failures), []
    for path in options.logs:
        with open(path) as file:
            for line in filter(str.strip, file):
                count(json.loads(line), totals, failures)
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    sys.exit(1 if totals["failed"] or not totals["passed"] else 0)


if __name__ == "__main__":
    main()
