#!/usr/bin/env python3
"""Breaks irscope in many places of the kinds that happen, one at a time, and counts what the tests notice.

  mutations.py FOLDER [--seed N] [--count N] [--where REGEX] [--tests REGEX] [--budget SECONDS] [--jobs N] [--again]
  mutations.py FOLDER --report [--seed N] [--count N] [--where REGEX]
  mutations.py --list REGEX
  mutations.py --check

A copy of the working tree in FOLDER is built with a switch at every place (IRSCOPE_MUTANT chooses one), plainly and
as ./check builds it under sanitizers. In the plain build every test runs once without a mutation, which says what each
of its cases reaches. All this serves all draws; after a change of the tree only what changed is built, and only tests
that changed are measured again. Then each mutation that was drawn meets the cases that reach it, those first that
noticed most in the least time, of its file before others, until one fails. Fuzzers make a tenth of their trials; those
of operators and graphs meet it by operator or family, each with as many as it has among all. What none of them noticed
within the budget meets the tests that ./check runs under sanitizers there, with the same budget again. FOLDER keeps
everything, so a call that was stopped goes on. Seconds are those of processors.
What is left is unreached, unnoticed, over its budget, or equivalent (equivalent.txt says why).

--where  only places whose name matches; --list prints the names   --tests   only these tests
--again  only what survived, again                                --check   does equivalent.txt name places?
Exit status: 0 done, 1 something survived, 2 wrong usage or no build.
"""

import argparse
import collections
import concurrent.futures
import fcntl
import hashlib
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

from places import KINDS, places, switched

ROOT = Path(__file__).resolve().parents[2]
HERE = "tests/mutation"
SLOTS = 20000
PORTION = 20  # mutations that meet all builds before others do, so that of a call that is stopped nearly all tried did
LONG = 1.0  # seconds of cases that run together
WRAPPED = ("g_test_add_func", "g_test_add_data_func", "g_test_add_data_func_full", "g_test_add_vtable")
BUSY = re.compile("exec-(detached|stopping|threads|signals|run-control)|io-kills|cut|bombs")  # may fail by itself on a busy machine
NOTICED = ("caught", "sanitizers")
FATES = (*NOTICED, "equivalent", "unnoticed", "unreached", "budget")


class Build:
  """A way to build and run irscope: in FOLDER of the sources by OPTIONS of meson, with the tests of SUITES, ENV for them
  ({root} is that of the sources), so many TRIALS of one operator and GRAPHS of one family, at most MEMORY bytes, and
  SLOWER so many times than the plain build."""

  def __init__(self, folder, options, suites, env, trials, graphs, memory, slower):
    self.folder, self.options, self.suites, self.env = folder, options, suites, env
    self.trials, self.graphs, self.memory, self.slower = trials, graphs, memory, slower


# meson fills memory that is allocated and freed, too; by which byte is left to chance there
PLAIN = Build("build", ["-Doptimization=1"], {"unit", "table", "golden", "models", "flow", "fuzz-smoke"},
              {"MALLOC_PERTURB_": "165"}, 1100, 200, 16 << 30, 1)
# as in ./check, but for names of lines, which nobody reads; whoever takes all memory is ended by the sanitizer
SANITIZED = Build("build-asan", ["-Doptimization=1", "-Dc_args=-g0 -fno-omit-frame-pointer", "-Db_sanitize=address,undefined"],
                  {"unit", "table", "golden", "flow", "fuzz-smoke"},
                  {"ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:hard_rss_limit_mb=6000",
                   "LSAN_OPTIONS": "suppressions={root}/tools/lsan.supp:print_suppressions=0",
                   "UBSAN_OPTIONS": "halt_on_error=1", "MALLOC_PERTURB_": "165"}, 165, 60, None, 8)


def draw(found, seed, count):
  """COUNT places drawn by SEED from those of every kind, none inside another."""
  rng, total, chosen, taken = random.Random(seed), sum(k[0] for k in KINDS.values()), [], collections.defaultdict(list)
  for kind, some in found.items():
    left = round(count * KINDS[kind][0] / total)
    for place in rng.sample(some, len(some)):
      begin, end = place.span()
      if left == 0:
        break
      if all(end < a or begin > b for a, b in taken[place.file]):
        taken[place.file].append((begin, end))
        chosen.append(place)
        left -= 1
  return chosen


def equivalent():
  """{name of a place: why no test can notice it}, from a file of names with their reasons indented below."""
  reasons, name = {}, None
  for line in (Path(__file__).parent / "equivalent.txt").read_text().splitlines():
    if line.startswith("  "):
      reasons[name] = f"{reasons[name]} {line.strip()}".strip()
    elif line and not line.startswith("#"):
      name = line
      reasons[name] = ""
  return reasons


class Kept:
  """A file of FOLDER in JSON."""

  def __init__(self, folder, name):
    self.file, self.lock = folder / name, threading.Lock()
    self.data = json.loads(self.file.read_text()) if self.file.exists() else {}

  def save(self):
    with self.lock:
      new = self.file.with_suffix(".new")
      new.write_text(json.dumps(self.data))
      new.replace(self.file)


def put(file, text):
  """Writes only what changed, so that only that is built again."""
  if not file.exists() or file.read_text() != text:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def write_tree(source, found, numbers, dropped, quiet):
  """The working tree in SOURCE: a file with places includes its text with switches, as a system header, which has no
  warnings but those of QUIET, so that all else is built with the usual options."""
  of_file, names = collections.defaultdict(list), set()
  for place in (p for some in found.values() for p in some):
    numbers.setdefault(place.key, len(numbers))
    if place.key not in dropped:
      of_file[place.file].append(place)
  listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                          capture_output=True, check=True).stdout.decode().split("\0")[:-1]
  for name in (n for n in listed if (ROOT / n).is_file()):
    names.add(name)
    if name in of_file:
      text, crossing = switched((ROOT / name).read_text(), of_file[name], lambda p: numbers[p.key])
      dropped.update(p.key for p in crossing)
      put(source / f"{name}.mutated.h", "#pragma GCC system_header\n" + text)
      ignored = "".join(f'#pragma GCC diagnostic ignored "-W{w}"\n' for f, w in quiet if f == name)
      up = "../" * name.count("/")  # programs of the build do not look for headers in the root
      put(source / name, f'#include "{up}{HERE}/mutant.h"\n{ignored}#include "{Path(name).name}.mutated.h"\n')
    elif not (source / name).exists() or (source / name).read_bytes() != (ROOT / name).read_bytes():
      (source / name).parent.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(ROOT / name, source / name)
      shutil.copymode(ROOT / name, source / name)
  assert len(numbers) < SLOTS


def build(folder, state, jobs):
  """Builds FOLDER/source; what does not compile with its switch is dropped. Returns the places."""
  numbers, dropped = state.data.setdefault("numbers", {}), set(state.data.get("dropped", []))
  quiet = sorted(map(tuple, state.data.get("quiet", [])))
  source, reach = folder / "source", folder / "reach.o"
  source.mkdir(exist_ok=True)
  if (ROOT.parent / "shared").exists() and not (folder / "shared").exists():
    (folder / "shared").symlink_to(ROOT.parent / "shared")
  subprocess.run(["cc", "-O1", "-fPIC", f"-DIR_N_MUTANTS={SLOTS}", "-c", ROOT / HERE / "reach.c", "-o", reach], check=True)
  for _ in range(12):
    found = places(ROOT)
    write_tree(source, found, numbers, dropped, quiet)
    state.data.update(dropped=sorted(dropped), quiet=quiet)
    state.save()
    said = next(filter(None, (compile_in(source / b.folder, source, reach, b.options, jobs) for b in (PLAIN, SANITIZED))), None)
    if said is None:
      return found
    errors = re.findall(r"(?:^|[ /])((?:core|passes|app)/\S+?\.c)\.mutated\.h:(\d+):\d+: error(?:.*\[-Werror=(.*)\])?", said)
    loud = {(file, warning) for file, _, warning in errors if warning} - set(quiet)
    if loud:
      quiet = sorted({*quiet, *loud})
      continue
    wrong = {(file, int(line) - 1) for file, line, _ in errors}
    more = {p.key for some in found.values() for p in some
            if p.key not in dropped and any((p.file, at) in wrong for at in range(p.line - 1, p.last_line + 2))}
    if not more:
      sys.exit(said[-6000:])
    print(f"{len(more)} places do not compile with their switch", flush=True)
    dropped |= more
  sys.exit("mutations.py: it still does not compile")


def compile_in(target, source, reach, options, jobs):
  """What was said of SOURCE where it did not compile in TARGET, None where it did."""
  if not (target / "build.ninja").exists():
    link = " ".join([str(reach), *(f"-Wl,--wrap={w}" for w in WRAPPED)])
    subprocess.run(["meson", "setup", target, source, "--buildtype=plain", *options, "-Dwerror=true", "-Dgui=disabled",
                    "-Dimages=enabled", f"-Dc_link_args={link}"], check=True)
  done = subprocess.run(["ninja", "-C", target, "-k", "0", f"-j{jobs}", "meson-test-prereq"], text=True, capture_output=True)
  return done.stdout if done.returncode else None


def tests_of(folder, how, pattern):
  """{name: how to run it, and a hash of its sources}."""
  target = folder / "source" / how.folder

  def introspect(what):
    return json.loads(subprocess.run(["meson", "introspect", what, target], capture_output=True, check=True).stdout)

  sources = {f: [s for group in t["target_sources"] for s in group.get("sources", [])]
             for t in introspect("--targets") for f in t["filename"]}
  tests = {}
  for test in introspect("--tests"):
    suites = {s.split(":")[-1] for s in test["suite"]}
    if not suites & how.suites or "long" in suites or not re.search(pattern, test["name"]):
      continue
    cmd, by = [*test["cmd"]], split(test["name"], folder, how)
    if by and by[2]:
      cmd = cmd[:1]
    for at, word in enumerate(cmd[:-1]):
      if word in ("--trials", "--graphs", "--cases"):
        cmd[at + 1] = str(int(cmd[at + 1]) // 10)
    own = [f for f in sources.get(cmd[0], cmd) if "/tests/" in f and Path(f).is_file()]
    text = repr(cmd).encode() + b"".join(Path(f).read_bytes() for f in own)
    env = {name: value.format(root=folder / "source") for name, value in how.env.items()}
    tests[test["name"]] = {"cmd": cmd, "env": {**env, **test["env"]}, "cwd": test["workdir"] or str(target),
                           "memory": how.memory,
                           "hash": hashlib.sha1(text).hexdigest(), "cases": cmd[0] in sources and len(cmd) == 1 and not by, "by": by}
  return tests


def split(name, folder, how):
  """(option, its values, option of the number, number for each) of a test whose cases are chosen by an option; without
  a number where each is tried once."""
  if name == "fuzz-ops":
    listed = subprocess.run([folder / "source/build/irscope", "ops", "--json"], capture_output=True, check=True).stdout
    ops = [(op["domain"], op["name"]) for op in json.loads(listed)["ops"]]
    return "--op", [n if d == "ai.onnx" else f"{d}.{n}" for d, n in ops], "--trials", how.trials
  if name == "fuzz-graphs":
    source = (ROOT / "tests/fuzz/graph-gen.c").read_text().split("families[] = {", 1)[1].split("};")[0]
    return "--family", re.findall(r'\{ "([^"]+)"', source), "--graphs", how.graphs
  if name == "said":
    listed = subprocess.run([ROOT / "tests/cli/test-said.py", folder / "source/build/irscope", ROOT, "--list"],
                            capture_output=True, check=True, text=True).stdout
    return "--only", listed.splitlines(), None, 0
  return None


def choose(test, cases):
  """The arguments with which a test runs these cases alone."""
  if not test["by"]:
    return [word for case in cases for word in ("-p", case)]
  option, _, number, each = test["by"]
  return [*(word for case in cases for word in (option, case)), *((number, str(each * len(cases))) if number else ())]


def run_test(test, arguments, cpu, wall, **env):
  """(status, seconds): 0 passed, 77 skipped, other failed, None took longer than allowed."""
  def limits():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a run in the background ignores it
    if test["memory"]:
      resource.setrlimit(resource.RLIMIT_AS, (test["memory"], test["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

  process = subprocess.Popen([*test["cmd"], *arguments], env={**os.environ, "OMP_WAIT_POLICY": "passive", **test["env"], **env},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                             cwd=test["cwd"], start_new_session=True, preexec_fn=limits)
  late = threading.Timer(wall, os.killpg, (process.pid, signal.SIGKILL))
  late.start()
  _, status, usage = os.wait4(process.pid, 0)
  expired = not late.is_alive()
  late.cancel()
  process.returncode = os.waitstatus_to_exitcode(status)
  try:
    os.killpg(process.pid, signal.SIGKILL)
  except ProcessLookupError:
    pass
  return None if expired else process.returncode, usage.ru_utime + usage.ru_stime


def measure(folder, name, test, n_numbers):
  """What each case of a test reaches and how long it takes without a mutation; a test without cases is one."""
  if test["by"]:
    parts = [(value, measure(folder, f"{name}.part", {**test, "cmd": [*test["cmd"], *choose(test, [value])], "by": None}, n_numbers))
             for value in test["by"][1]]
    parts = [(value, m) for value, m in parts if m["status"] != 2]  # operators with subgraphs have no trials
    return {"hash": test["hash"], "status": max((abs(m["status"] or 0) for _, m in parts), default=0),
            "seconds": sum(m["seconds"] for _, m in parts), "numbers": n_numbers,
            "cases": [[value, m["seconds"], m["cases"][0][2]] for value, m in parts]}
  file, cases_file = folder / f"{name}.reached", folder / f"{name}.cases"
  file.write_bytes(bytes(SLOTS))
  cases_file.write_bytes(b"")
  env = {"IRSCOPE_MUTANTS_CASES": str(cases_file)} if test["cases"] else {}
  status, seconds = run_test(test, [], 600, 1800, IRSCOPE_MUTANTS_REACHED=str(file), IRSCOPE_MUTANT="-1", **env)
  with file.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as pages:
    rest = [n for n in range(SLOTS) if pages[n]]
  cases = []
  for line in cases_file.read_text().splitlines():
    path, spent, numbers = line.rsplit(" ", 2)
    cases.append([path, float(spent), [int(n) for n in numbers.split(",")[:-1]]])
  file.unlink()
  cases_file.unlink()
  if not cases:
    cases = [["", seconds, rest]]
  return {"hash": test["hash"], "status": status, "seconds": seconds, "cases": cases, "numbers": n_numbers}


class Hunt:
  """Holds mutations against tests; those that noticed most per second come first, by what they did for the same file."""

  def __init__(self, how, tests, measured, numbers, budget, noticed):
    self.how, self.tests, self.budget, self.numbers = how, tests, budget, numbers
    self.sound = {}  # does an item pass without a mutation, of those that failed with one
    self.noticed = noticed.data  # item, and "item @ folder or file": [mutations that it noticed, of how many]
    self.base = {n: m for n, m in measured.items() if n in tests and m["status"] == 0}
    self.lock = threading.Lock()
    self.beside = collections.defaultdict(set)  # numbers of the same function, for what is newer than a measurement
    self.of_file = collections.defaultdict(set)
    for key, number in numbers.items():
      self.beside[key.split(":")[0].split(" ", 1)[1]].add(number)
      self.of_file[key.split(" ", 2)[1]].add(number)
    for m in self.base.values():
      for case in m["cases"]:
        case[2] = frozenset(case[2])

  def items(self, key):
    """(seconds, name of a test, its arguments, name of the item): what reaches KEY, the best first."""
    number, beside, found = self.numbers[key], self.beside[key.split(":")[0].split(" ", 1)[1]], []
    for name, m in self.base.items():
      known = number < m["numbers"]
      reach = [c for c in m["cases"] if (number in c[2] if known else not beside.isdisjoint(c[2]))]
      if any(c[0] in ("", "-") for c in reach):
        if any(c[0] == "" for c in reach) or len(reach) == 1:
          found.append((m["seconds"], name, [], name, reach))
          continue
      reach = [c for c in reach if c[0] != "-"]
      part, seconds = [], 0
      most = LONG if self.tests[name]["by"] is None or self.tests[name]["by"][0] != "--family" else 0
      for case in sorted(reach, key=lambda c: c[1]):  # some go on behind a failure, so not all at once
        if part and seconds + case[1] > most:
          found.append((seconds, name, choose(self.tests[name], [c[0] for c in part]), f"{name} {part[0][0]}", part))
          part, seconds = [], 0
        part, seconds = [*part, case], seconds + case[1]
      if part:
        found.append((seconds, name, choose(self.tests[name], [c[0] for c in part]), f"{name} {part[0][0]}", part))

    def worth(item):
      likely = self.likely(item[4], key)
      for label in self.labels(item[3], key):
        kills, tries = self.noticed.get(label, (0, 0))
        likely = (kills + 2 * likely) / (tries + 2)
      return likely / (item[0] + 0.05)
    with self.lock:
      found.sort(key=worth, reverse=True)
    return [item[:4] for item in found]

  def likely(self, cases, key):
    """How likely these notice KEY before anything is known of that: the more of its file they go through, and the less
    besides, the more it is what they are about."""
    of_file, reached = self.of_file[key.split(" ", 2)[1]], set().union(*(c[2] for c in cases))
    own = len(reached & of_file)
    return own / len(of_file) * (own / len(reached)) ** 0.5

  def labels(self, label, key):
    """Under which an item is remembered for the place KEY, from the widest."""
    file = Path(key.split(" ", 2)[1])
    return label, f"{label} @ {file.parent}", f"{label} @ {file}"

  def one(self, key):
    spent, items = 0.0, self.items(key)
    for tried, (cost, name, arguments, label) in enumerate(items):
      if spent > self.budget:
        return {"outcome": "budget", "tests": tried, "of": len(items), "seconds": spent}
      if not self.sound.get((name, *arguments), True):
        continue
      for _ in range(2):
        status, seconds = self.run(self.numbers[key], name, arguments, cost)
        spent += seconds
        if status in (0, 77) or (status is not None and not BUSY.match(name)):
          break
      if status not in (0, 77) and not self.is_sound(name, arguments, cost):
        continue
      with self.lock:
        for kept in self.labels(label, key):
          kills, tries = self.noticed.get(kept, (0, 0))
          self.noticed[kept] = [kills + (status not in (0, 77)), tries + 1]
      if status not in (0, 77):
        return {"outcome": NOTICED[self.how is SANITIZED], "by": label, "how": "time" if status in (None, -signal.SIGXCPU) else status,
                "tests": tried + 1, "seconds": spent}
    return {"outcome": "unnoticed" if items else "unreached", "tests": len(items), "seconds": spent}

  def run(self, number, name, arguments, cost):
    cost *= self.how.slower
    env = {"IRSCOPE_MUTANT": str(number)}
    if arguments and "ASAN_OPTIONS" in self.how.env:  # what cases that do not run would free, and options
      env["ASAN_OPTIONS"] = f"{self.how.env['ASAN_OPTIONS']}:detect_leaks=0"
    return run_test(self.tests[name], arguments, 10 * self.how.slower + 4 * cost, 60 * self.how.slower + 20 * cost, **env)

  def is_sound(self, name, arguments, cost):
    """Does an item pass without a mutation, too? Asked when it fails for the first time: what was measured is of before
    the last change of the tree, and of one build."""
    item = (name, *arguments)
    if item not in self.sound:
      self.sound[item] = self.run(-1, name, arguments, cost)[0] in (0, 77)
      if not self.sound[item]:
        print(f"{' '.join(item)} fails without a mutation", flush=True)
    return self.sound[item]


def hold(hunt, keys, results, noticed, jobs):
  """What becomes of KEYS. What is tried again under sanitizers and not noticed there keeps its outcome."""
  with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    started = {pool.submit(hunt.one, key): key for key in keys}
    for done in concurrent.futures.as_completed(started):
      key, result = started[done], done.result()
      before = results.data.get(key)
      results.data[key] = {**before, "sanitizers": result} if before and result["outcome"] not in NOTICED else result
      results.save()
      with hunt.lock:
        noticed.save()
      print(f"{key}: {result}", flush=True)


def report(drawn, lines, dropped, results):
  reasons, rows, survivors = equivalent(), collections.defaultdict(collections.Counter), []
  for key in drawn:
    if key in results:
      outcome = results[key]["outcome"]
      if outcome not in NOTICED and key in reasons:
        outcome = "equivalent"
      rows[key.split(" ", 1)[0]][outcome] += 1
      if outcome not in (*NOTICED, "equivalent"):
        survivors.append(f"{key}  [line {lines.get(key, 'gone')}, {outcome}]")
  print("| Kind | Tried | Caught | Under sanitizers | Equivalent | Unnoticed | Unreached | Out of budget |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|")
  for kind in [*KINDS, "all"]:
    row = sum(rows.values(), collections.Counter()) if kind == "all" else rows[kind]
    print(f"| {kind} | {row.total()} | " + " | ".join(str(row[f]) for f in FATES) + " |")
  print(f"\n{sum(key in dropped for key in drawn)} of {len(drawn)} did not compile. Survivors:", *survivors, sep="\n")
  return survivors


def arguments():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("folder", type=Path, nargs="?")
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--count", type=int, default=500)
  parser.add_argument("--where", default="")
  parser.add_argument("--tests", default="")
  parser.add_argument("--budget", type=float, default=120, help="seconds of tests for one mutation")
  parser.add_argument("--jobs", type=int, default=2)
  parser.add_argument("--again", action="store_true")
  parser.add_argument("--report", action="store_true")
  parser.add_argument("--list")
  parser.add_argument("--check", action="store_true")
  args = parser.parse_args()
  if args.folder is None and args.list is None and not args.check:
    parser.error("a folder is needed")
  return args


def stay_alone(folder):
  """A lock that lasts as long as what is returned."""
  alone = (folder / "lock").open("w")
  try:
    fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError:
    sys.exit(f"mutations.py: another call works in {folder}; wait until it has ended, or choose another folder")
  return alone


def check(found):
  wrong = set(equivalent()) - {p.key for some in found.values() for p in some}
  for name in sorted(wrong):
    print(f"equivalent.txt: no place has this name: {name}")
  wordless = [name for name, reason in equivalent().items() if not reason]
  for name in wordless:
    print(f"equivalent.txt: no reason is given for: {name}")
  return 1 if wrong or wordless else 0


def main():
  args = arguments()
  found = places(ROOT)
  if args.check:
    return check(found)
  if args.list is not None:
    print(*(p.key for some in found.values() for p in some if re.search(args.list, p.key)), sep="\n")
    return 0
  folder = args.folder.resolve()
  folder.mkdir(parents=True, exist_ok=True)
  what = hashlib.sha1(args.where.encode()).hexdigest()[:8] if args.where else "all"
  state, measured = Kept(folder, "state.json"), Kept(folder, "measured.json")
  results = Kept(folder, f"results-{what}-{args.seed}-{args.count}.json")
  if not args.report:
    alone = stay_alone(folder)  # noqa: F841, held until the end
    found = build(folder, state, args.jobs)
  numbers, dropped = state.data.get("numbers", {}), set(state.data.get("dropped", []))
  lines = {p.key: p.line for some in found.values() for p in some}
  kept = Kept(folder, f"drawn-{what}-{args.seed}-{args.count}.json")  # a change of the tree does not change the draw
  if "drawn" not in kept.data:
    matching = [key for key in lines if re.search(args.where, key)]
    kept.data["drawn"] = (random.Random(args.seed).sample(matching, min(args.count, len(matching))) if args.where else
                          [p.key for p in draw(found, args.seed, args.count)])
    kept.save()
  drawn = kept.data["drawn"]
  if not args.report:
    print(f"{len(numbers)} places, {len(dropped)} do not compile", flush=True)
    tests, sanitized = (tests_of(folder, how, args.tests) for how in (PLAIN, SANITIZED))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
      def again(name):
        measured.data[name] = measure(folder, name, tests[name], len(numbers))
        measured.save()
        m = measured.data[name]
        print(f"{name}: status {m['status']}, {len(m['cases'])} cases, {m['seconds']:.1f} s", flush=True)
      stale = [n for n, t in tests.items() if measured.data.get(n, {}).get("hash") != t["hash"]
               or measured.data[n]["status"] not in (0, 77)]
      list(pool.map(again, sorted(stale, key=lambda n: not tests[n]["cases"])))
    noticed = Kept(folder, "noticed.json")
    plain = Hunt(PLAIN, tests, measured.data, numbers, args.budget, noticed)
    under = Kept(folder, "noticed-asan.json")
    hunt = Hunt(SANITIZED, sanitized, measured.data, numbers, args.budget, under)
    todo = [key for key in drawn if key in lines and key not in dropped]
    random.Random(args.seed).shuffle(todo)
    if args.again:
      results.data = {key: r for key, r in results.data.items() if r["outcome"] in NOTICED}
    for at in range(0, len(todo), PORTION):
      some = todo[at:at + PORTION]
      hold(plain, [key for key in some if key not in results.data], results, noticed, args.jobs)
      left = [k for k in some if results.data[k]["outcome"] in ("unnoticed", "budget") and "sanitizers" not in results.data[k]]
      hold(hunt, left, results, under, args.jobs)
  return 1 if report(drawn, lines, dropped, results.data) else 0


if __name__ == "__main__":
  sys.exit(main())
