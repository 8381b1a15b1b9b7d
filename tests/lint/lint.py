#!/usr/bin/python3
"""What the architecture forbids, found in the sources; prints TAP.

    lint.py SOURCE_ROOT [LIBRARY.a ...]

Each check prints the places where a rule is broken. The libraries are searched for state that can
change: core and passes have none."""

import os
import re
import subprocess
import sys

LAYERS = ['core', 'passes', 'views', 'app']  # each may include itself and what stands before it

# Which folders alone may include a foreign header.
FENCES = [
    (r'gtk/|adwaita|gtksourceview/', ('views/', 'app/gui/', 'tests/gui/')),
    (r'oneapi/|dnnl', ('core/exec/cpu/', 'tests/exec/refusals.c')),
    (r'gdk-pixbuf/|webp/', ('core/image/', 'views/', 'app/gui/')),
    (r'graphviz/|cgraph', ('core/graphviz/',)),
    (r'pango/|cairo', ('core/render/', 'views/', 'app/gui/', 'tests/layout/')),
    (r'cuda|cublas|nvrtc', ('core/exec/gpu/', 'tests/gpu/')),
    (r'cjson/', ('core/io/', 'core/ir/', 'core/exec/', 'core/look/', 'passes/', 'app/', 'views/', 'tests/')),
]

# Rooms from the floor up: a room may include, and call, what stands before it. Files of a room that
# belong to another floor are named; a name that ends in / is a folder with all that is in it.
ROOMS = [
    ('core/ir', ['core/ir/']),
    ('core/op', ['core/op/']),
    ('core/diff', ['core/diff/']),
    ('core/query', ['core/query/']),
    ('core/io', ['core/io/']),
    ('core/io/onnx', ['core/io/onnx/']),
    ('core/io/text', ['core/io/text/']),
    ('core/io/json', ['core/io/json/']),
    ('core/graphviz', ['core/graphviz/']),
    ('core/io, formats', ['core/io/format.c', 'core/io/tensor-file.c', 'core/io/dot-write.c']),
    ('core/act', ['core/act/']),
    ('core/image', ['core/image/']),
    ('core/grad', ['core/grad/']),
    ('core/exec/kernel', ['core/exec/kernel/']),
    ('core/exec/ref', ['core/exec/ref/']),
    ('core/exec/cpu', ['core/exec/cpu/']),
    ('core/exec/gpu', ['core/exec/gpu/']),
    ('core/exec', ['core/exec/']),
    ('core/exec/lower', ['core/exec/lower/']),
    ('core/exec/schedule', ['core/exec/schedule/']),
    ('core/exec/memory/place', ['core/exec/memory/place/']),
    ('core/exec/memory', ['core/exec/memory/']),
    ('core/exec/recompute', ['core/exec/recompute/']),
    ('core/exec/plan', ['core/exec/plan/']),
    ('core/exec/run', ['core/exec/run/']),
    ('core/exec/flow', ['core/exec/flow/']),
    ('core/exec/replay', ['core/exec/replay/']),
    ('core/exec/eval', ['core/exec/eval/']),
    ('core/exec/measure', ['core/exec/measure/']),
    ('core/exec/tape', ['core/exec/tape/']),
    ('core/exec/check', ['core/exec/check/']),
    ('core/exec/train', ['core/exec/train/']),
    ('core/exec, faces', ['core/exec/exec.h']),
    ('core/layout', ['core/layout/']),
    ('core/look', ['core/look/']),
    ('core/render', ['core/render/']),
    ('passes', ['passes/pass.h']),
    ('passes/rule', ['passes/rule/']),
    ('passes/rewrites', ['passes/rewrites/']),
    ('passes/pipeline', ['passes/pipeline/']),
    ('passes/training', ['passes/training/']),
    ('passes/session', ['passes/session/']),
    ('passes/proof', ['passes/proof/']),
    ('passes/debug', ['passes/debug/']),
]
# Arrows that point up on purpose: from a room to a symbol or a header.
UPWARD = {
    # A node keeps a pointer to the row of its operator, and whether it fits the row.
    'core/ir': ('core/op/op.h', 'core/op/check.h', 'ir_op_find', 'ir_node_is_valid'),
    # Bodies of fused operators are written as text in the op table, and exported with the file.
    'core/io/onnx': ('ir_function_from_text',),
    # The one pointer by which runs reach control flow, handed down when they are prepared.
    'core/exec/run': ('ir_subgraph_run',),
}

# The nouns of the session from the floor up: a file calls its own row and those before it.
SESSION = [
    ['hub'],
    ['position', 'selection', 'problems', 'compare', 'display', 'places', 'frame', 'timeline'],
    ['sizes', 'kept', 'notes'],
    ['inputs'],
    ['request'],
    ['originals', 'bodies', 'records', 'runs', 'run-text'],
    ['data-set'],
    ['run-graph', 'run-control', 'execution', 'values', 'kernel-times', 'play', 'gradients', 'training'],
    ['tensors'],
    ['bisect', 'scoreboard', 'breakpoints', 'why', 'prove'],
    ['what-if', 'draw', 'replace'],
    ['undo'],
    ['file', 'pipeline', 'edit', 'act', 'kernels', 'gain'],
    ['saved'],
    ['session'],
]

# Files that may be longer than 1,000 lines (tests: 1,500), with the reason.
LONG_FILES = {
    'core/ir/edit.c': 'every verb of the only writer of a graph',
    'core/ir/tensor.c': 'one noun with one accessor for every element type',
    'core/layout/layout.c': 'one algorithm in named phases',
    'core/layout/routing.c': 'one algorithm in named phases',
}



INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)

# State that may change although it lies in core: the guard of mapped files hears of a signal, which
# knows nothing else (core/io/mapped-file.c); and a device is there once, whoever runs on it.
MUTABLE = {'mapped-file', 'gpu_runtime'}


def sources(root, *folders, endings=('.c', '.h')):
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith(endings):
                    full = os.path.join(path, name)
                    yield os.path.relpath(full, root), open(full, encoding='utf-8').read()


def includes(text):
    for match in INCLUDE.finditer(text):
        yield text.count('\n', 0, match.start()) + 1, match.group(1), match.group(2)


def layers_point_downwards(root):
    for path, text in sources(root, *LAYERS):
        own = LAYERS.index(path.split('/')[0])
        for line, quote, name in includes(text):
            layer = name.split('/')[0]
            if quote == '"' and layer in LAYERS and LAYERS.index(layer) > own:
                yield f'{path}:{line}: {LAYERS[own]} includes {name}'


def the_command_line_knows_no_views(root):
    for path, text in sources(root, 'app/cli'):
        for line, _, name in includes(text):
            if name.startswith(('views/', 'app/gui/')):
                yield f'{path}:{line}: includes {name}'


def foreign_headers_stay_in_their_folder(root):
    for path, text in sources(root, *LAYERS, 'tests'):
        for line, quote, name in includes(text):
            for pattern, folders in FENCES:
                if quote == '<' and re.match(pattern, name) and not path.startswith(folders):
                    yield f'{path}:{line}: includes <{name}>; only {", ".join(folders)} may'


def no_view_includes_another(root):
    for path, text in sources(root, 'views'):
        parts = path.split('/')
        if len(parts) < 3:
            continue
        for line, _, name in includes(text):
            other = name.split('/')
            if other[0] == 'views' and len(other) == 3 and other[1] not in (parts[1], 'session'):
                yield f'{path}:{line}: includes {name}'


def private_headers_stay_in_their_folder(root):
    for path, text in sources(root, *LAYERS):
        folder = os.path.dirname(path)
        for line, quote, name in includes(text):
            if quote == '"' and name.endswith('-private.h'):
                owner = os.path.dirname(name)
                if folder != owner and not folder.startswith(owner + '/'):
                    yield f'{path}:{line}: includes {name}'


def sources_begin_with_config(root):
    for path, text in sources(root, *LAYERS, endings=('.c',)):
        if path in ('core/op/sort-names.c', 'core/exec/gpu/embed.c'):
            continue  # programs of the build, made before config.h
        first = next(includes(text), (0, '', ''))
        if first[2] != 'config.h':
            yield f'{path}: first include is {first[2] or "none"}, needs config.h'


def headers_are_guarded(root):
    for path, text in sources(root, *LAYERS, endings=('.h',)):
        if '#pragma once' not in text and not re.search(r'^#undef', text, re.M):
            yield f'{path}: no #pragma once'


def no_switch_over_operators(root):
    allowed = ('core/op/', 'core/exec/ref/')
    for path, text in sources(root, *LAYERS):
        if path.startswith(allowed):
            continue
        for match in re.finditer(r'switch \([^)]*(->op->id|op_type|->op\b)[^)]*\)|case IR_OP_[A-Z]', text):
            line = text.count('\n', 0, match.start()) + 1
            if not re.match(r'case IR_OP_(ERROR|NONE)', match.group(0)):
                yield f'{path}:{line}: {match.group(0)}'


def only_the_edit_writes_a_graph(root):
    field = re.compile(r'(node|value|graph|model)->(inputs|outputs|attrs|n_inputs|n_outputs|n_attrs|type|'
                       r'initializer|producer|uses|n_uses|name|state|op_type|domain|op|controls|scope|device)'
                       r'(\[[^\]]*\])?\s*=[^=]')
    for path, text in sources(root, 'core/op', 'core/io', 'core/exec', 'core/layout', 'passes', 'views', 'app'):
        for match in re.finditer(r'^.*$', text, re.M):
            found = field.search(match.group(0))
            # Structs of other files may have fields of the same name: only those of the model's types count.
            if found and re.search(rf'Ir(Node|Value|Graph|Model) \*{found.group(1)}\b', text):
                declared = re.findall(rf'\b(\w+) \*(?:const )?{found.group(1)}\b', text)
                if all(d in ('IrNode', 'IrValue', 'IrGraph', 'IrModel') for d in declared):
                    yield f'{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0).strip()}'


def user_input_never_aborts(root):
    for path, text in sources(root, *LAYERS):
        for match in re.finditer(r'\b(g_error|abort|exit) \(', text):
            if path == 'app/cli/main.c' or path.startswith('core/graphviz/'):
                continue  # the second signal; the child process
            yield f'{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)}'


def faces(root):
    """Headers that files of another folder include."""
    files = dict(sources(root, 'core', 'passes', 'views', 'app'))
    for path, text in files.items():
        for _, name in INCLUDE.findall(text):
            if name in files and os.path.dirname(name) != os.path.dirname(path):
                yield name


def functions_of_faces(root):
    """(header, line, function) of what a face declares."""
    found = set(faces(root))
    for path, text in sources(root, 'core', 'passes', 'views', 'app', endings=('.h',)):
        if path in found:
            for match in re.finditer(r'^[A-Za-z][\w \*]*?\b\*?(\w+) \([^;{]*\)[^;{]*;', text, re.M):
                yield path, text.count('\n', 0, match.start()) + 1, match.group(1)


def documented(root, *folders):
    """(file, line, name) of doc blocks."""
    for path, text in sources(root, *folders, endings=('.c', '.h')):
        for match in re.finditer(r'/\*\*\n \* (\w+):', text):
            yield path, text.count('\n', 0, match.start()) + 1, match.group(1)


def exported_functions_are_documented(root):
    """A function that a face of core or passes declares has a doc block in some .c file."""
    blocks = {name for _, _, name in documented(root, 'core', 'passes')}
    for path, line, name in functions_of_faces(root):
        if path.startswith(('core/', 'passes/')) and name.startswith('ir_') and not path.endswith('-private.h') and \
           '/exec/cpu/' not in path and '/exec/ref/' not in path and name not in blocks and \
           not name.startswith(('ir_ref_', 'ir_infer_', 'ir_cost_', 'ir_adapt_')):
            yield f'{path}:{line}: {name} has no doc block'


def inside_one_line_is_enough(root):
    """Doc blocks are for faces; what a folder keeps for itself has a comment of a line or two."""
    declared = set()
    for path in set(faces(root)):
        declared.update(re.findall(r'\b(\w+) \(', open(os.path.join(root, path), encoding='utf-8').read()))
    for path, line, name in documented(root, 'core', 'passes', 'views', 'app'):
        if name not in declared:
            yield f'{path}:{line}: {name} is of no face'


def commands_print_by_one_way(root):
    """What names hold must not reach the terminal as it is: app/cli/print.h."""
    for path, text in sources(root, 'app/cli'):
        if path in ('app/cli/print.c', 'app/cli/output.c'):
            continue  # output.c prints JSON, which has escapes of its own, and progress
        for match in re.finditer(r'(?<![\w>])(printf|puts|fputs|putchar|fputc|fwrite|fprintf|perror|g_print|g_printerr) \(', text):
            yield f'{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(1)}'


def the_project_speaks_of_itself_alone(root):
    words = re.compile(r'/work/|\bsubagent|\bhelper agent|pythonhosted|files\.pythonhosted|\bsandbox session', re.I)
    listed = subprocess.run(['git', '-C', root, 'ls-files'], capture_output=True, text=True)
    for path in listed.stdout.split('\n') if listed.returncode == 0 else []:
        if path == 'tests/lint/lint.py' or not os.path.isfile(os.path.join(root, path)):
            continue
        data = open(os.path.join(root, path), 'rb').read()
        if b'\0' in data[:4096]:
            continue
        for number, line in enumerate(data.decode('utf-8', 'replace').split('\n'), 1):
            if words.search(line):
                yield f'{path}:{number}: {line.strip()[:100]}'


def libraries_have_no_state(root, libraries):
    """Symbols in .data and .bss; constants with relocations (.data.rel.ro) are no state."""
    for library in libraries:
        listed = subprocess.run(['objdump', '-t', library], capture_output=True, text=True)
        member = ''
        for line in listed.stdout.split('\n'):
            found = re.match(r'(\S+)\.o:\s+file format', line)
            member = found.group(1) if found else member
            match = re.match(r'[0-9a-f]+ .{7} (\.data|\.bss|\.data\.\w+|\.bss\.\w+)\s+[0-9a-f]+ (\S+)$', line)
            if not match or match.group(1).startswith('.data.rel') or any(word in member for word in MUTABLE):
                continue
            name = match.group(2)
            if name.startswith('.') or re.match(r'q\.\d+$', name) or re.search(r'quark|type_id|once|^initialized\.', name):
                continue  # set once and the same for all: types, error domains
            yield f'{member}: {name}'


def room_of(path):
    """The index of the room of a file: the longest name that fits."""
    best = (0, None)
    for index, (_, names) in enumerate(ROOMS):
        for name in names:
            if (path == name or name.endswith('/') and path.startswith(name)) and len(name) > best[0]:
                best = (len(name), index)
    return best[1]


def no_include_points_up(root):
    for path, text in sources(root, 'core', 'passes'):
        own = room_of(path)
        if own is None:
            yield f'{path}: in no room of ROOMS'
            continue
        for line, quote, name in includes(text):
            other = room_of(name) if quote == '"' else None
            if other is not None and other > own and name not in UPWARD.get(ROOMS[own][0], ()):
                yield f'{path}:{line}: {ROOMS[own][0]} includes {name}'


def the_session_has_floors(root):
    floors = {name: floor for floor, names in enumerate(SESSION) for name in names}
    texts = {os.path.basename(path)[:-2]: text for path, text in sources(root, 'views/session', endings=('.c',))}
    where = {symbol: name for name, text in texts.items()
             for symbol in re.findall(r'^(?!static)[A-Za-z][^\n;=]*\n(ir_\w+) \(', text, re.M)}
    for name, text in texts.items():
        if name not in floors:
            yield f'views/session/{name}.c: in no row of SESSION'
            continue
        for symbol in sorted(set(re.findall(r'\bir_\w+\b', text))):
            other = where.get(symbol, name)
            if floors.get(other, 0) > floors[name]:
                yield f'views/session/{name}.c: calls {symbol} of {other}.c, which stands above it'


def members(library):
    """(source, defined symbols, undefined symbols) of each object in a library."""
    folder = os.path.basename(os.path.dirname(library))
    listed = subprocess.run(['nm', library], capture_output=True, text=True)
    source, defined, undefined = None, set(), set()
    for line in listed.stdout.split('\n') + ['end.o:']:
        found = re.match(r'(?:.*/)?([^/]+)\.o:$', line)
        if found:
            if source:
                yield source, defined, undefined
            source, defined, undefined = folder + '/' + found.group(1).replace('_', '/'), set(), set()
            continue
        parts = line.split()
        if len(parts) == 3 and parts[1] in 'TDRBVW':
            defined.add(parts[2])
        elif len(parts) == 2 and parts[0] == 'U':
            undefined.add(parts[1])


def no_symbol_points_up(libraries):
    objects = [member for library in libraries for member in members(library)]
    where = {symbol: source for source, defined, _ in objects for symbol in defined}
    for source, _, undefined in objects:
        own = room_of(source)
        for symbol in sorted(undefined):
            other = room_of(where[symbol]) if symbol in where else None
            if own is not None and other is not None and other > own and symbol not in UPWARD.get(ROOMS[own][0], ()):
                yield f'{source}: {ROOMS[own][0]} calls {symbol} of {where[symbol]}'


def kernels_have_one_text(root):
    """What NVRTC and the C compiler are given is the same: the preludes alone tell them apart."""
    foreign = re.compile(r'#\s*(if|ifdef|ifndef|include)|__CUDACC|threadIdx|blockIdx|__\w+__|__sync|__shfl|\basm\b')
    texts = list(sources(root, 'core/exec/gpu/kernels', endings=('.cu',)))
    # Those that are written by C are its strings.
    texts += [(path, '\n'.join(part if i % 2 else '' for i, part in enumerate(text.split('"'))))
              for path, text in sources(root, 'core/exec/gpu', endings=('.c',)) if 'emit.h"' in text]
    for path, text in texts:
        for match in foreign.finditer(text):
            yield f'{path}: {match.group(0)} in the text of a kernel'


def functions_are_short(root):
    for path, text in sources(root, *LAYERS, 'tests', endings=('.c',)):
        start = None
        for number, line in enumerate(text.split('\n'), 1):
            if line == '{':
                start = number
            elif line == '}' and start is not None:
                if number - start - 1 > 90:
                    yield f'{path}:{start}: a function of {number - start - 1} lines, at most 90'
                start = None


def files_are_short(root):
    for path, text in sources(root, *LAYERS, 'tests', endings=('.c', '.h', '.py')):
        most = 1500 if path.startswith('tests/') else 1000
        lines = text.count('\n')
        if lines > most and path not in LONG_FILES:
            yield f'{path}: {lines} lines, at most {most}'


def no_key_has_two_commands(root):
    """In the canvas and in the window, which both hear a key that is pressed over the graph."""
    key = r'(?:<\w+>)*(?:[a-z0-9]+|F\d+|Home|End|Left|Right|Up|Down|Escape)'
    found = {}
    for path, text in sources(root, 'views/graph', 'app/gui', endings=('.c',)):
        rows = re.findall(rf'\{{ "({key})"(?:, "({key})")? ?\}}|\{{ "({key})", "win\.[^"]+" \}}', text)
        names = [name for row in rows for name in row if name]
        for name in names + re.findall(r'keyval == GDK_KEY_([a-z])\b', text):
            found.setdefault(name, []).append(path)
    for name, paths in sorted(found.items()):
        if len(paths) > 1:
            yield f'{name}: {", ".join(paths)}'


def the_architecture_is_told_shortly(root):
    with open(os.path.join(root, 'ARCHITECTURE.md')) as file:
        prose = re.sub(r'```.*?```', '', file.read(), flags=re.S)
    for paragraph in re.split(r'\n\s*\n', prose):
        words = len(paragraph.split())
        if paragraph.lstrip().startswith('|'):
            continue
        if words > 120:
            yield f'ARCHITECTURE.md: a paragraph of {words} words, at most 120: {paragraph[:60]!r}'
        for sentence in re.split(r'(?<=[.!?])\s+', ' '.join(paragraph.split())):
            if len(sentence.split()) > 30:
                yield f'ARCHITECTURE.md: a sentence of {len(sentence.split())} words, at most 30: {sentence[:60]!r}'


CHECKS = [
    layers_point_downwards,
    the_command_line_knows_no_views,
    foreign_headers_stay_in_their_folder,
    no_view_includes_another,
    private_headers_stay_in_their_folder,
    sources_begin_with_config,
    headers_are_guarded,
    no_switch_over_operators,
    only_the_edit_writes_a_graph,
    user_input_never_aborts,
    exported_functions_are_documented,
    inside_one_line_is_enough,
    commands_print_by_one_way,
    the_project_speaks_of_itself_alone,
    no_include_points_up,
    the_session_has_floors,
    kernels_have_one_text,
    functions_are_short,
    files_are_short,
    no_key_has_two_commands,
    the_architecture_is_told_shortly,
]


def main():
    root, libraries = sys.argv[1], sys.argv[2:]
    checks = [(check.__name__, list(check(root))) for check in CHECKS]
    checks.append(('no_symbol_points_up', list(no_symbol_points_up(libraries))))
    checks.append(('libraries_have_no_state', list(libraries_have_no_state(root, libraries))))
    print(f'1..{len(checks)}')
    for number, (name, found) in enumerate(checks, 1):
        print(f'{"not ok" if found else "ok"} {number} - {name.replace("_", " ")}')
        for place in found[:60]:
            print(f'# {place}')
    return any(found for _, found in checks)


if __name__ == '__main__':
    sys.exit(1 if main() else 0)
