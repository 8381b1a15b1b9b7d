"""Places of the source where one of the mistakes that happen can be made, each as the text that makes it by a switch."""

import bisect
import collections
import re
from pathlib import Path

TERM = r"[A-Za-z_]\w*(?:(?:->|\.)\w+|\[[^\[\]\n;]*\])*(?: \((?:[^()\n;]|\([^()\n;]*\))*\))?|\d+(?:\.\d+)?"
SUM = rf"(?:{TERM})(?: [-+*] (?:{TERM}))*"
NOTHING = "(ir_mutated (@) ? (void) 0 : (void) "
NOT_CALLS = {"return", "if", "for", "while", "switch", "sizeof", "case", "else", "do", "goto"}


class Place:
  """One mutation: KIND, FILE, LINE, and what is put around stretches of the text, [(start, end, before, behind)],
  where @ stands for its number. PLACES() gives each a KEY that stays while the text of its function does."""

  def __init__(self, kind, source, edits, what):
    self.kind, self.file, self.edits, self.key = kind, source.file, edits, None
    self.line, self.last_line = (source.line_of(at) for at in self.span())
    self.function, self.what = source.function_at(edits[0][0]), " ".join(what.split())

  def span(self):
    return min(e[0] for e in self.edits), max(e[1] for e in self.edits)


class Source:
  """The text of a file, its comments, strings and preprocessor lines blanked, and its functions."""

  def __init__(self, root, file):
    self.file = file
    self.text = (root / file).read_text()
    self.code = blank(self.text)
    self.lines = [0] + [m.end() for m in re.finditer("\n", self.text)]
    self.functions = []
    for found in re.finditer(r"^\{\n(.*?)^\}", self.code, re.M | re.S):
      head = self.code[:found.start()].rstrip()
      head = head[max(head.rfind("\n\n"), head.rfind(";\n"), head.rfind("}\n")) + 1:].strip()
      name = re.search(r"^(\w+) \(", head, re.M)
      if name:
        self.functions.append((found.start(1), found.end(1), name.group(1), head))

  def line_of(self, offset):
    return bisect.bisect_right(self.lines, offset)

  def function_at(self, offset):
    return next((f[2] for f in self.functions if f[0] <= offset < f[1]), "")


def blank(text):
  pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^#(?:[^\n]*\\\n)*[^\n]*'

  def spaces(found):
    return re.sub(r"[^\n]", lambda c: "~" if found.group()[0] in "\"'" else " ", found.group())

  return re.sub(pattern, spaces, text, flags=re.M | re.S)


def closing(code, start):
  """The offset of the parenthesis that closes the one at START."""
  depth = 0
  for i in range(start, len(code)):
    depth += {"(": 1, ")": -1}.get(code[i], 0)
    if depth == 0:
      return i
  return len(code)


def operands(code, start, end):
  """Operands of && or || at the top of code[start:end], and which of the two; (None, [..]) for a single one, (None, [])
  where both or a choice stand there."""
  depth, cuts, operator, i = 0, [start], None, start
  while i < end:
    depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[i], 0)
    if depth == 0 and code[i] == "?":  # binds less than both
      return None, []
    if depth == 0 and code[i:i + 2] in ("&&", "||"):
      if operator not in (None, code[i:i + 2]):
        return None, []
      operator = code[i:i + 2]
      cuts += [i, i + 2]
      i += 1
    i += 1
  cuts.append(end)
  return operator, [trimmed(code, cuts[k], cuts[k + 1]) for k in range(0, len(cuts), 2)]


def trimmed(code, start, end):
  while start < end and code[start].isspace():
    start += 1
  while end > start and code[end - 1].isspace():
    end -= 1
  return start, end


def conditions(source, begin, end):
  """A condition dropped: one of several that must hold, or a guard that leaves."""
  for found in re.finditer(r"\bif (\()", source.code[begin:end]):
    open_at = begin + found.start(1)
    close_at = closing(source.code, open_at)
    operator, parts = operands(source.code, open_at + 1, close_at)
    for a, b in parts:
      if "=" in re.sub(r"[=!<>]=", "", source.code[a:b]):
        continue
      drop = ("(ir_mutated (@) || (", "))") if operator == "&&" else ("(!ir_mutated (@) && (", "))")
      yield Place("condition", source, [(a, b, *drop)], source.text[a:b])


def bounds(source, begin, end):
  """A bound moved by one: < for <= and back, one round less in a loop."""
  pattern = re.compile(rf"(?<=[(;&|] )(?P<a>{SUM}) (?P<o><=?|>=?) (?P<b>{SUM})(?=\)|;| &&| \|\|)|"
                       rf"(?<=\()(?P<c>{SUM}) (?P<p><=?|>=?) (?P<d>{SUM})(?=\)|;| &&| \|\|)")
  for found in pattern.finditer(source.code, begin, end):
    left, operator, right = ((found["a"], found["o"], found["b"]) if found["a"] else
                             (found["c"], found["p"], found["d"]))
    start, stop = found.span()
    whole = source.text[start:stop]
    in_loop = re.search(r"for \([^;\n]*;\s*$", source.code[max(begin, start - 120):start]) is not None
    if in_loop and operator == "<":
      other = f"({left}) + 1 < ({right})"
    else:
      other = f"({left}) {operator[0] if len(operator) == 2 else operator + '='} ({right})"
    yield Place("bound", source, [(start, stop, f"(ir_mutated (@) ? {other} : ", ")")], whole)


def swaps(source, begin, end):
  """Operands of a difference or a quotient swapped, but for those whose absolute value is taken."""
  pattern = re.compile(rf"(?:(?<=[(,=] )|(?<=\()|(?<=return ))(?P<a>{TERM}) (?P<o>[-/%]) (?P<b>{TERM})(?=\)|;|,)")
  for found in pattern.finditer(source.code, begin, end):
    start, stop = found.span()
    whole = source.text[start:stop]
    absolute = found["o"] == "-" and re.search(r"(?:abs|ABS) \($", source.code[:start]) and source.code[stop] == ")"
    if found["a"] != found["b"] and not absolute and \
       not (found["o"] == "-" and found["b"] == "1" and "n_" in found["a"]):
      other = f"({found['b']}) {found['o']} ({found['a']})"
      yield Place("operands", source, [(start, stop, f"(ir_mutated (@) ? {other} : ", ")")], whole)


def decisions(source, begin, end):
  """A decision inverted: what a predicate returns."""
  head = next(f[3] for f in source.functions if f[0] == begin)
  if not re.search(r"^(static |inline )*gboolean$", head, re.M) or "GError" in head:
    return
  for found in re.finditer(r"\breturn ([^;]+);", source.code[begin:end]):
    a, b = begin + found.start(1), begin + found.end(1)
    before = f"(ir_mutated (@) ? !({' '.join(source.text[a:b].split())}) : ("
    yield Place("decision", source, [(a, b, before, "))")], source.text[begin + found.start():b])


def records(source, begin, end):
  """A statement of bookkeeping left out."""
  for found in re.finditer(r"^ +((\w+) \((?:[^;{}])*\));$", source.code[begin:end], re.M):
    if found.group(2) in NOT_CALLS or re.match(r"g_return|g_assert|va_|G_|__builtin_prefetch|.*(free|unref|clear|delete)", found.group(2), re.I):
      continue
    a, b = begin + found.start(1), begin + found.end(1)
    if source.code[b:b + 1] != ";" or closing(source.code, source.code.index("(", a)) != b - 1:
      continue
    yield Place("record", source, [(a, b, NOTHING, ")")], source.text[a:b])


def locks(source, begin, end):
  """A lock left out, with its unlocking, in one function; a barrier or an atomic update left out."""
  found_locks = {}
  for found in re.finditer(r"g_mutex_(?:un)?lock (\(.*\));", source.code[begin:end]):
    found_locks.setdefault(found.group(1), []).append((begin + found.start(), begin + found.end() - 1))
  for name, spans in found_locks.items():
    yield Place("lock", source, [(a, b, NOTHING, ")") for a, b in spans], f"g_mutex_lock {name}")
  for found in re.finditer(r"(g_mutex_locker_new \(.*\));", source.code[begin:end]):
    a, b = begin + found.start(1), begin + found.end(1)
    yield Place("lock", source, [(a, b, "(ir_mutated (@) ? NULL : ", ")")], source.text[a:b])
  for found in re.finditer(r"^ +((?:g_cond_(?:signal|broadcast|wait)|g_atomic_int_(?:inc|set|add)) \(.*\));$",
                           source.code[begin:end], re.M):
    a, b = begin + found.start(1), begin + found.end(1)
    yield Place("lock", source, [(a, b, NOTHING, ")")], source.text[a:b])


# kind: (how many of 500, folders and files where it happens, finder)
KINDS = {
  "condition": (130, ("passes/rewrites", "passes/rule", "core/op", "core/io"), conditions),
  "bound": (120, ("core", "passes"), bounds),
  "operands": (80, ("core/exec", "core/op", "core/ir", "passes"), swaps),
  "decision": (90, ("core/exec/cpu", "core/exec/plan", "core/exec/memory", "core/exec/lower", "core/exec/schedule",
                    "core/exec/run", "core/exec/recompute"), decisions),
  "record": (60, ("core/ir/edit", "core/ir/history", "core/ir/reconcile", "core/ir/record", "core/ir/lineage",
                  "core/ir/origin"), records),
  "lock": (20, ("core", "passes", "app"), locks),
}


def places(root):
  """All places under ROOT, by kind, in an order that only the source decides."""
  found = {kind: [] for kind in KINDS}
  for file in sorted(p.relative_to(root).as_posix() for folder in ("core", "passes", "app")
                     for p in Path(root, folder).rglob("*.c")):
    source = Source(Path(root), file)
    for kind, (_, where, finder) in KINDS.items():
      if file.startswith(where):
        for begin, end, _, _ in source.functions:
          found[kind] += finder(source, begin, end)
  seen = collections.Counter()
  for place in (p for some in found.values() for p in some):
    key = f"{place.kind} {place.file} {place.function}: {place.what}"
    seen[key] += 1
    place.key = key + (f" ({seen[key]})" if seen[key] > 1 else "")
  return found


def switched(text, places, number):
  """TEXT with a switch for each of PLACES, numbered by NUMBER(place), and those that cross another and are left out."""
  stretches = sorted(((*edit, p) for p in places for edit in p.edits), key=lambda s: (s[0], -s[1]))
  out, opened, at, crossing = [], [], 0, set()
  for a, b, before, behind, place in stretches:
    while opened and opened[-1][0] <= a:
      end, close = opened.pop()
      out += [text[at:end], close]
      at = end
    if opened and opened[-1][0] < b:
      crossing.add(place)
      continue
    out += [text[at:a], before.replace("@", str(number(place)))]
    at = a
    opened.append((b, behind))
  for end, close in reversed(opened):
    out += [text[at:end], close]
    at = end
  return "".join(out) + text[at:], crossing
