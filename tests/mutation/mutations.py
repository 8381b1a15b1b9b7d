#!/usr/bin/env python3
"""Breaks irscope in many places of the kinds that happen, one at a time, and counts what the tests notice.

  mutations.py FOLDER [--seed N] [--count N] [--jobs N] [--budget SECONDS] [--again M,..] [--report]

A copy of the working tree in FOLDER is built once, with a switch for each mutation (IRSCOPE_MUTANT). Every test
runs once without one, which says what it reaches; then each mutation meets the tests that reach it, until one
fails. FOLDER keeps everything, so a second call goes on where the first one stopped. A mutation that no test
reaches, or that none notices within its budget of seconds, survives: it needs a test, or a reason.
Exit status: 0 done, 1 something survived, 2 wrong usage or no build.
"""

import argparse
import collections
import concurrent.futures
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from places import KINDS, places

ROOT = Path(__file__).resolve().parents[2]
SLOTS = 4096
Fact = collections.namedtuple("Fact", "kind file line function what")
SUITES = {"unit", "table", "golden", "models", "fuzz-smoke"}
MEMORY = 16 << 30


def draw(root, seed, count):
  """COUNT mutations drawn by SEED from the places of every kind, none inside another."""
  rng, total, chosen, taken = random.Random(seed), sum(k[0] for k in KINDS.values()), [], collections.defaultdict(list)
  for kind, found in places(root).items():
    left = round(count * KINDS[kind][0] / total)
    for place in rng.sample(found, len(found)):
      begin, end = place.span()
      if left == 0:
        break
      if all(end < a or begin > b for a, b in taken[place.file]):
        taken[place.file].append((begin, end))
        chosen.append(place)
        left -= 1
  return chosen


def write_source(source, chosen, dropped):
  """Writes the files of CHOSEN into SOURCE with their switches."""
  edits = collections.defaultdict(list)
  for number, place in enumerate(chosen):
    if number not in dropped:
      edits[place.file] += [(a, b, k, text.replace("@", str(number))) for k, (a, b, text) in enumerate(place.edits)]
  for file in {p.file for p in chosen}:
    text = (ROOT / file).read_text()
    for a, b, _, new in sorted(edits[file], reverse=True):
      text = text[:a] + new + text[b:]
    (source / file).write_text(text)


def build(folder, chosen):
  """Builds FOLDER/source in FOLDER/build; what does not compile with its switch is dropped, and returned."""
  source, target, dropped = folder / "source", folder / "build", set()
  shutil.rmtree(source, ignore_errors=True)
  files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True).stdout
  for name in files.decode().split("\0")[:-1]:
    if (ROOT / name).is_file():
      (source / name).parent.mkdir(parents=True, exist_ok=True)
      shutil.copy2(ROOT / name, source / name)
  shared = folder / "shared"
  if (ROOT.parent / "shared").exists() and not shared.is_symlink():
    shared.symlink_to(ROOT.parent / "shared")
  header = source / "tests/mutation/mutant.h"
  for _ in range(8):
    write_source(source, chosen, dropped)
    if not (target / "build.ninja").exists():
      subprocess.run(["meson", "setup", target, source, "--buildtype=release", "-Dgui=disabled", "-Dimages=enabled",
                      f"-Dc_args=-w -include {header} -DIR_N_MUTANTS={SLOTS}"], check=True)
    done = subprocess.run(["ninja", "-C", target, "-k", "0"], text=True, capture_output=True)
    if done.returncode == 0:
      return dropped
    wrong = {(m[1], int(m[2])) for m in re.finditer(r"^(?:\.\./)*(?:source/)?(\S+?\.c):(\d+):\d+: error", done.stdout, re.M)}
    more = {n for n, p in enumerate(chosen) if any(f == p.file and p.line - 1 <= at <= p.line + 8 for f, at in wrong)}
    if not more - dropped:
      sys.exit(done.stdout[-4000:])
    dropped |= more
  sys.exit("mutations.py: it still does not compile")


def tests_of(folder):
  listed = json.loads(subprocess.run(["meson", "introspect", "--tests", folder / "build"], capture_output=True,
                                     check=True).stdout)
  return [t for t in listed if any(s.split(":")[-1] in SUITES for s in t["suite"])
          and not any(s.split(":")[-1] == "long" for s in t["suite"])]


def run_test(folder, test, seconds, **env):
  """(status, seconds): 0 passed, 77 skipped, other failed, None took longer than SECONDS."""
  began = time.monotonic()
  process = subprocess.Popen(test["cmd"], env={**os.environ, **test["env"], **env}, stdout=subprocess.DEVNULL,
                             cwd=test["workdir"] or folder / "build", stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                             start_new_session=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
  try:
    status = process.wait(seconds)
  except subprocess.TimeoutExpired:
    status = None
  try:
    os.killpg(process.pid, signal.SIGKILL)
  except ProcessLookupError:
    pass
  process.wait()
  return status, time.monotonic() - began


def measure(folder, tests, jobs):
  """What each test reaches and how long it takes without a mutation."""
  def one(numbered):
    number, test = numbered
    file = folder / f"reached-{number}"
    file.write_bytes(bytes(SLOTS))
    status, seconds = run_test(folder, test, 600, IRSCOPE_MUTANTS_REACHED=str(file), IRSCOPE_MUTANT="-1")
    with file.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as pages:
      reached = [n for n in range(SLOTS) if pages[n]]
    file.unlink()
    return {"name": test["name"], "status": status, "seconds": seconds, "reached": reached}

  with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    return list(pool.map(one, enumerate(tests)))


class Hunt:
  """Holds mutations against tests; the tests that noticed most per second come first."""

  def __init__(self, folder, tests, measured, budget):
    self.folder, self.tests = folder,  {t["name"]: t for t in tests}
    self.base = {m["name"]: m for m in measured if m["status"] == 0}
    self.kills, self.spent, self.lock, self.budget = collections.Counter(), collections.Counter(), threading.Lock(), budget

  def order(self, number):
    reach = [m for m in self.base.values() if number in m["reached"]]
    with self.lock:
      return sorted(reach, key=lambda m: -(self.kills[m["name"]] + 1) / (self.spent[m["name"]] + m["seconds"] + 0.05))

  def one(self, number):
    spent, tried = 0.0, 0
    order = self.order(number)
    for m in order:
      if spent > self.budget:
        return {"survived": "budget", "tests": tried, "of": len(order), "seconds": spent}
      status, seconds = run_test(self.folder, self.tests[m["name"]], 30 + 10 * m["seconds"], IRSCOPE_MUTANT=str(number))
      spent, tried = spent + seconds, tried + 1
      with self.lock:
        self.spent[m["name"]] += seconds
        self.kills[m["name"]] += status not in (0, 77)
      if status not in (0, 77):
        return {"caught": m["name"], "how": "time" if status is None else status, "tests": tried, "seconds": spent}
    return {"survived": "unnoticed" if order else "unreached", "tests": tried, "of": len(order), "seconds": spent}


def report(chosen, dropped, results):
  rows = collections.defaultdict(collections.Counter)
  for number, result in results.items():
    rows[chosen[number].kind][result.get("survived", "caught")] += 1
  print("| Kind | Caught | Unnoticed | Unreached | Out of budget |\n|---|---:|---:|---:|---:|")
  for kind in [*KINDS, "all"]:
    row = sum(rows.values(), collections.Counter()) if kind == "all" else rows[kind]
    print(f"| {kind} | " + " | ".join(str(row[c]) for c in ("caught", "unnoticed", "unreached", "budget")) + " |")
  print(f"\n{len(results)} tried, {len(dropped)} did not compile. Survivors:")
  for number, result in sorted(results.items()):
    if "survived" in result:
      p = chosen[number]
      print(f"{number} {p.kind} {p.file}:{p.line} {p.function}: {p.what} ({result['survived']})")


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("folder", type=Path)
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--count", type=int, default=500)
  parser.add_argument("--jobs", type=int, default=2)
  parser.add_argument("--budget", type=float, default=240, help="seconds of tests for one mutation")
  parser.add_argument("--again", type=lambda s: [int(n) for n in s.split(",")], default=[], help="numbers to try again")
  parser.add_argument("--report", action="store_true", help="only print what is known")
  args = parser.parse_args()
  folder = args.folder.resolve()
  folder.mkdir(parents=True, exist_ok=True)
  state_file, results_file = folder / "state.json", folder / "results.json"
  if not state_file.exists():
    if args.report:
      parser.error(f"{folder} has no mutations yet")
    chosen = draw(ROOT, args.seed, args.count)
    dropped = build(folder, chosen)
    print(f"{len(chosen)} drawn, {len(dropped)} do not compile", flush=True)
    facts = [[p.kind, p.file, p.line, p.function, p.what] for p in chosen]
    state_file.write_text(json.dumps({"places": facts, "dropped": sorted(dropped)}))
  state = json.loads(state_file.read_text())
  if "tests" not in state:
    state["tests"] = measure(folder, tests_of(folder), args.jobs)
    state_file.write_text(json.dumps(state))
    wrong = [t["name"] for t in state["tests"] if t["status"] not in (0, 77)]
    print(f"{len(state['tests'])} tests measured" + (f"; without a mutation these fail: {wrong}" if wrong else ""), flush=True)
  chosen = [Fact(*p) for p in state["places"]]
  results = {int(k): v for k, v in json.loads(results_file.read_text()).items()} if results_file.exists() else {}
  if not args.report:
    hunt = Hunt(folder, tests_of(folder), state["tests"], args.budget)
    todo = [n for n in range(len(chosen)) if n not in state["dropped"] and (n not in results or n in args.again)]
    random.Random(args.seed).shuffle(todo)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
      started = {pool.submit(hunt.one, n): n for n in todo}
      for done in concurrent.futures.as_completed(started):
        number = started[done]
        results[number] = done.result()
        results_file.write_text(json.dumps(results))
        p, r = chosen[number], results[number]
        print(f"{number} {p.kind} {p.file}:{p.line} {p.function}: {r}", flush=True)
  report(chosen, state["dropped"], results)
  return 1 if any("survived" in r for r in results.values()) else 0


if __name__ == "__main__":
  sys.exit(main())
