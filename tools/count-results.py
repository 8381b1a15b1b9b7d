#!/usr/bin/env python3
"""Sums the results of `meson test` over its logs, counting each TAP subtest.

    count-results.py [--failures N] [--promises FILE] [SET,..:]build/meson-logs/testlog.json ...

A test without TAP output counts as one.  A TAP test that died counts its finished subtests and one
failure.  With --promises, what FILE promises for a SET but nothing in its log passed is a failure too,
as is what was skipped because something is not installed, or not there although ../shared is.  The names
of the failures are listed first; the last line is "N passed, N failed, N skipped", and the exit status is
1 if anything failed or nothing passed.
"""

import argparse
import collections
import fnmatch
import json
import os
import re
import shutil
import sys

SUBTEST = re.compile(r"^(?P<no>not )?ok\b(?: +\d+)?(?: +-)? *(?P<text>.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(?: *# *(?P<skip>SKIP.*))?$", re.IGNORECASE)
GOOD = ("OK", "EXPECTEDFAIL")
NAME = re.compile(r"^(?:(?:[^:/]*:)?(?P<suites>[^/]*) / )?(?P<name>.*)$")  # "irscope:models+long / light-vgg19"
SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared")


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
    """Adds the results of one test; returns how many passed, and why others were skipped."""
    found = list(subtests(entry.get("stdout")))
    planned = sum(value for verdict, value in found if verdict == "planned")
    results = [(verdict, name) for verdict, name in found if verdict != "planned"]
    verdict = entry["result"]
    is_tap = any(verdict_ == "planned" for verdict_, _ in found)
    if not is_tap:
        kind = "passed" if verdict in GOOD else "skipped" if verdict == "SKIP" else "failed"
        results = [(kind, verdict)]
    before = totals["passed"]
    for kind, name in results:
        totals[kind] += 1
        if kind == "failed":
            failures.append(f"{entry['name']}: {name}")
    died = verdict not in GOOD + ("SKIP",) and not any(kind == "failed" for kind, _ in results)
    if is_tap and (died or len(results) < planned):
        totals["failed"] += 1
        failures.append(f"{entry['name']}: {verdict} after {len(results)} of {planned} subtests" + why_dead(entry))
    return totals["passed"] - before


def why_dead(entry):
    """What a test that died said last: an assertion, or the error that ended it."""
    said = [line.strip() for key in ("stdout", "stderr") for line in (entry.get(key) or "").splitlines()
            if re.search(r"\bERROR\b|^Bail out!|runtime error:", line)]
    return f": {said[-1][:300]}" if said else ""


def skips(text):
    """The reasons of a test's TAP output."""
    for line in (text or "").splitlines():
        found = re.match(r"^(?:ok\b|1\.\.0).*# *SKIP:? *(.*)$", line, re.IGNORECASE)
        if found:
            yield found.group(1)


def missing_parts(entry, shared):
    """What was skipped although ./check installs it, or although ../shared is there."""
    for reason in sorted(set(skips(entry.get("stdout")))):
        if "../shared" in reason and not shared:
            continue
        if re.search(r"not installed|built without|\.\./shared", reason):
            yield f"{entry['name']}: skipped: {reason}"


def read_promises(path):
    """Yields (set, "suite" or "test", pattern, programs)."""
    with open(path) as file:
        for line in file:
            words = line.split()
            if words and not line.startswith("#"):
                yield words[0], words[1], words[2], words[3:]


def broken_promises(promises, sets, passed):
    """What none of the tests that passed, as (suites, name), is."""
    for wanted_set, kind, pattern, programs in promises:
        if wanted_set not in sets:
            continue
        if any(pattern in suites if kind == "suite" else fnmatch.fnmatch(name, pattern) for suites, name in passed):
            continue
        absent = [program for program in programs if not shutil.which(program)]
        why = f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not here" if absent else \
            "it was not configured, or none of it passed"
        yield f"the {kind} {pattern} of the {wanted_set} run has no test that passed: {why}"


def main():
    parser = argparse.ArgumentParser(description="Sum the results of meson test.")
    parser.add_argument("--failures", type=int, default=0, help="failures known from elsewhere")
    parser.add_argument("--promises", help="what is to be tested: tools/promises.txt")
    parser.add_argument("--shared", default=SHARED, help="where data beside the repository would be")
    parser.add_argument("logs", nargs="*")
    options = parser.parse_args()
    totals, failures = collections.Counter(failed=options.failures), []
    promises = list(read_promises(options.promises)) if options.promises else []
    for log in options.logs:
        sets, _, path = log.rpartition(":")
        passed, broken = [], []
        with open(path) as file:
            for line in filter(str.strip, file):
                entry = json.loads(line)
                if count(entry, totals, failures):
                    found = NAME.match(entry["name"])
                    passed.append(((found.group("suites") or "").split("+"), found.group("name")))
                if promises:
                    broken += missing_parts(entry, os.path.isdir(options.shared))
        broken += broken_promises(promises, sets.split(","), passed)
        totals["failed"] += len(broken)
        failures += broken
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    sys.exit(1 if totals["failed"] or not totals["passed"] else 0)


if __name__ == "__main__":
    main()
