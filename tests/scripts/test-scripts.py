#!/usr/bin/env python3
"""Tests of ./run, ./check and the files for the desktop (TAP).  Takes the root of the sources."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Skipped(Exception):
    """The program that does the check is not here."""


def run(*command, **options):
    if not shutil.which(command[0]):
        raise Skipped(f"{command[0]} is not installed")
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def count(entries, *options, sets=""):
    """What count-results.py says of a log with these entries: name, output, result."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as log:
        for name, stdout, result in entries:
            log.write(json.dumps({"name": name, "stdout": stdout, "result": result}) + "\n")
        log.flush()
        return run("python3", "tools/count-results.py", *options, sets + log.name)


def counted(*entries, failures=0):
    """The last line and the status of count-results.py on a log with these entries."""
    done = count([("t", *entry) for entry in entries], "--failures", str(failures))
    return done.stdout.splitlines()[-1], done.returncode


def promised(promises, entries, shared="/no/such/folder"):
    """The failures that count-results.py lists where these promises are made for the set "release"."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(promises)
        file.flush()
        done = count(entries, "--promises", file.name, "--shared", shared, sets="release:")
    return [line[len("failed: "):] for line in done.stdout.splitlines() if line.startswith("failed: ")]


def test_subtests_are_counted_one_by_one():
    tap = "# random seed\n1..3\nok 1 /a\nok 2 /b # SKIP no data\nnot ok 3 /c - Assertion\n"
    assert counted((tap, "FAIL"), ("", "OK")) == ("2 passed, 1 failed, 1 skipped", 1)


def test_a_test_that_died_counts_as_a_failure():
    assert counted(("1..3\nok 1 /a\n", "FAIL")) == ("1 passed, 1 failed, 0 skipped", 1)
    assert counted(("1..1\nok 1 /a\n", "FAIL")) == ("1 passed, 1 failed, 0 skipped", 1)
    assert counted(("", "TIMEOUT")) == ("0 passed, 1 failed, 0 skipped", 1)


def test_a_skipped_test_is_no_failure():
    assert counted(("1..0 # SKIP no display\n", "SKIP"), ("", "OK")) == ("1 passed, 0 failed, 1 skipped", 0)


def test_nothing_passed_is_a_failure():
    assert counted() == ("0 passed, 0 failed, 0 skipped", 1)


def test_failures_from_elsewhere_count():
    assert counted(("", "OK"), failures=2) == ("1 passed, 2 failed, 0 skipped", 1)


PASSED = "1..1\nok 1 /a\n"


def test_a_promise_without_a_test_is_a_failure():
    promises = "# a comment\nrelease suite gui no-such-program sh\nlong suite long\nrelease test light-*\n"
    entries = [("irscope:unit / a", PASSED, "OK"), ("irscope:models+long / light-b", PASSED, "OK")]
    assert promised(promises, entries) == [
        "the suite gui of the release run has no test that passed: no-such-program is not here"]
    assert promised(promises, entries + [("irscope:gui / window", PASSED, "OK")]) == []
    assert promised("release test light-vgg\n", entries) == [
        "the test light-vgg of the release run has no test that passed: it was not configured, or none of it passed"]


def test_a_promise_of_which_all_is_skipped_is_a_failure():
    skipped = [("irscope:gui / window", "1..0 # SKIP no display\n", "SKIP")]
    assert len(promised("release suite gui\n", skipped)) == 1


def test_what_is_skipped_because_it_is_not_installed_is_a_failure():
    lines = "1..3\nok 1 /a\nok 2 /b # SKIP numpy is not installed\nok 3 /c # SKIP no kernels for this machine\n"
    assert promised("", [("irscope:unit / a", lines, "OK")]) == []
    assert promised("release suite unit\n", [("irscope:unit / a", lines, "OK")]) == [
        "irscope:unit / a: skipped: numpy is not installed"]


def test_what_is_skipped_although_its_data_is_there_is_a_failure():
    entries = [("irscope:unit / a", PASSED + "ok 2 /b # SKIP ../shared/data/light is not there\n", "OK")]
    assert promised("release suite unit\n", entries) == []
    assert promised("release suite unit\n", entries, shared=ROOT) == [
        "irscope:unit / a: skipped: ../shared/data/light is not there"]


def test_what_is_promised_is_a_suite_or_a_test_of_the_sources():
    texts = ""
    for folder, _, names in os.walk(os.path.join(ROOT, "tests")):
        texts += "".join(open(os.path.join(folder, name)).read() for name in names if name == "meson.build")
    with open(os.path.join(ROOT, "tools/promises.txt")) as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for wanted_set, kind, pattern, *programs in rows:
        assert wanted_set in ("release", "long", "sanitized", "fuzz") and kind in ("suite", "test"), wanted_set
        # Names are often put together: "table-" + name.
        family, _, name = pattern.partition("-")
        assert f"'{pattern.rstrip('*')}'" in texts or f"'{family}-'" in texts and f"'{name}'" in texts, pattern
    with open(os.path.join(ROOT, "check")) as file:
        sets = set(",".join(re.findall(r"^(?:run_tests [\w-]+ |promised=|  promised=)([a-z,]+)", file.read(), re.M)).split(","))
    assert {row[0] for row in rows} == sets, sets


def test_a_program_that_came_later_is_seen():
    script = f"""set -euo pipefail
        . {shlex.quote(os.path.join(os.path.abspath(ROOT), "tools/common.sh"))}
        need_space() {{ :; }}
        configure_and_build build; mkdir bin; printf '#!/bin/sh\n' >bin/late-program; chmod +x bin/late-program
        PATH=$PWD/bin:$PATH; configure_and_build build; meson introspect --tests build | tr -d ' '; echo
        configure_again=yes; configure_and_build build; meson introspect --tests build"""
    for program in ("meson", "ninja", "pkg-config", "cc"):
        if not shutil.which(program):
            raise Skipped(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "meson.build"), "w") as file:
            file.write("project('t')\nlate = find_program('late-program', required: false)\n"
                       "if late.found()\n  test('late', late, suite: 'gui')\nendif\n")
        done = subprocess.run(["bash", "-c", script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.strip().split("\n", 1)
    assert json.loads(before) == [] and [test["name"] for test in json.loads(after)] == ["late"], done.stdout


def test_every_package_line_names_a_set_and_a_package():
    seen = set()
    with open(os.path.join(ROOT, "tools/packages.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                assert re.fullmatch(r"(build|run|test|long) [a-z0-9][a-z0-9.+-]+\n", line), line
                assert line not in seen, line
                seen.add(line)
    assert len(seen) > 20


def test_the_scripts_are_valid_bash_and_can_be_run():
    for name in ("run", "check", ".ci/run"):
        assert os.access(os.path.join(ROOT, name), os.X_OK), name
        assert run("bash", "-n", name).returncode == 0, name
    assert run("bash", "-n", "tools/common.sh").returncode == 0


def test_the_scripts_explain_themselves():
    for name in ("./run", "./check"):
        done = run("bash", name, "--help")
        assert done.returncode == 0 and done.stdout.startswith("Usage: " + name), done.stdout
        assert run("bash", name, "--no-such-option").returncode == 2


def test_run_refuses_a_file_that_is_not_there():
    done = run("bash", "./run", "/no/such/file.onnx")
    assert done.returncode == 2 and "/no/such/file.onnx" in done.stdout, done.stdout


def test_the_desktop_file_is_valid():
    done = run("desktop-file-validate", "data/org.irscope.Irscope.desktop")
    assert done.returncode == 0 and not done.stdout, done.stdout


def test_the_metainfo_is_valid():
    done = run("appstreamcli", "validate", "--no-net", "data/org.irscope.Irscope.metainfo.xml")
    assert done.returncode == 0, done.stdout


def test_the_xml_files_are_well_formed():
    for folder, _, names in os.walk(os.path.join(ROOT, "data")):
        for name in names:
            if name.endswith((".svg", ".xml", ".ui")):
                done = run("xmllint", "--noout", os.path.join(folder, name))
                assert done.returncode == 0, done.stdout


def test_the_bundled_files_stay_small():
    folder = os.path.join(ROOT, "data/examples")
    assert sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) < 600_000


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        title = "/scripts/" + name[5:].replace("_", " ")
        try:
            test()
            print(f"ok {number} {title}", flush=True)
        except Skipped as reason:
            print(f"ok {number} {title} # SKIP {reason}", flush=True)
        except Exception as error:  # a test that dies must not hide the others
            failed += 1
            print(f"# {type(error).__name__}: {error}")
            print(f"not ok {number} {title}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
