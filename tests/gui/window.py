"""The window as assistive technology sees it, and the keys and the pointer that drive it, for tests that print TAP.

The whole tree of accessible objects comes in one call (GetItems of org.a11y.atspi.Cache): to ask each object for
itself takes twenty times as long. What is waited for is looked for again until it is there; nothing sleeps for a time
that was guessed.

Needs a display and a session bus of its own, as on-its-own.sh gives it."""

import ast
import collections
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback

import gi

gi.require_version('Atspi', '2.0')
from gi.repository import Atspi, Gio, GLib  # noqa: E402

PATIENCE_S = int(os.environ.get('IRSCOPE_PATIENCE_S', 60))
LOOK_AGAIN_S = 0.03
ROOT = '/org/a11y/atspi/accessible/root'
REFUSALS = 3  # of the display, one behind the other
CALL_MS = 1000 * PATIENCE_S

# Bits of the states of org.a11y.atspi.Accessible
FOCUSABLE, FOCUSED, SENSITIVE, VISIBLE = (1 << bit for bit in (11, 12, 24, 30))

# What the programs print must not come between the lines of the result.
TAP = os.fdopen(int(os.environ['IRSCOPE_TAP_FD']), 'w') if 'IRSCOPE_TAP_FD' in os.environ else sys.stdout

n_checks = 0
failures = 0


def check(what, ok, detail=''):
    global n_checks, failures
    n_checks += 1
    failures += not ok
    print(f'{"ok" if ok else "not ok"} {n_checks} {what}', file=TAP, flush=True)
    if not ok and detail:
        for line in str(detail).splitlines():
            print('#', line, file=TAP, flush=True)
    

def key(*names):
    for name in names:
        subprocess.run(['xdotool', 'key', '--clearmodifiers', name], check=True)


def type_text(text):
    subprocess.run(['xdotool', 'type', '--delay', '5', text], check=True)


STRING = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
# One item of GetItems as GVariant writes it: the object, the application, what it is in, its place there, the number
# of its children, interfaces, name, role, description and states. To unpack them takes many times as long.
ITEM = re.compile(rf"""\(\('[^']*', '([^']*)'\), \('[^']*', '[^']*'\), \('[^']*', '([^']*)'\), (-?\d+), (-?\d+), """
                  rf"""\[([^]]*)\], {STRING}, (\d+), {STRING}, \[(\d+), \d+\]\)""")


@functools.cache
def role_name(number):
    return Atspi.role_get_name(Atspi.Role(int(number)))


class Node:
    """An accessible object as it was when the tree was read."""

    __slots__ = 'window', 'path', 'above', 'place', 'count', 'actions', 'name', 'role', 'states', 'parent', 'children'

    def __init__(self, window, item):
        self.window = window
        self.path, self.above, place, count, interfaces, name, role, _, states = item
        self.place, self.count, self.states = int(place), int(count), int(states)
        self.actions = 'org.a11y.atspi.Action' in interfaces
        self.name = ast.literal_eval(name) if '\\' in name else name[1:-1]
        self.role = role_name(role)
        self.parent = None
        self.children = ()

    def call(self, interface, method, arguments=None):
        return self.window.call(self.path, interface, method, arguments).unpack()[0]

    def has(self, state):
        return bool(self.states & state)

    def property(self, interface, name):
        return self.call('org.freedesktop.DBus.Properties', 'Get', GLib.Variant('(ss)', (interface, name)))

    def name_now(self):
        return self.property('org.a11y.atspi.Accessible', 'Name')

    def text_now(self):
        end = self.property('org.a11y.atspi.Text', 'CharacterCount')  # -1, which means the end, gives nothing
        return self.call('org.a11y.atspi.Text', 'GetText', GLib.Variant('(ii)', (0, end)))

    def extents(self):
        """Left, top, width and height, from the window's corner."""
        return self.call('org.a11y.atspi.Component', 'GetExtents', GLib.Variant('(u)', (1,)))

    def do(self, action=None):
        """The action of that name, or the first one. False: it has none."""
        names = ([name.lower() for name, _, _ in self.call('org.a11y.atspi.Action', 'GetActions')]
                 if self.actions else [])  # as they are shown: Click
        if not names or action is not None and action not in names:
            return False
        self.window.call(self.path, 'org.a11y.atspi.Action', 'DoAction',
                         GLib.Variant('(i)', (0 if action is None else names.index(action),)))
        return True

    def walk(self):
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


class Window:
    """A window of its own, with settings, recent files and sessions of its own."""

    def __init__(self, program, settings=None, shots=None, arguments=(), **more):
        home = tempfile.mkdtemp(prefix='irscope-home-')
        self.shots = shots
        self.settings_file = os.path.join(home, 'irscope', 'window.ini')
        if settings is not None:
            os.mkdir(os.path.join(home, 'irscope'))
            with open(self.settings_file, 'w') as f:
                f.write(f'[window]\n{settings}\n')
        environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home,
                           XDG_CACHE_HOME=home, XDG_STATE_HOME=home, GSK_RENDERER='cairo', IRSCOPE_NON_UNIQUE='1', **more)
        environment.pop('GTK_A11Y', None)
        self.console = os.path.join(home, 'console')
        self.bus = accessibility_bus()
        self.moved = []  # paths of what was told to have taken the focus, the last at the end
        self.told = {}  # the children of an object, by what the toolkit's list has of them
        for left in range(REFUSALS, -1, -1):
            with open(self.console, 'w') as f:
                self.process = subprocess.Popen([program, *arguments], env=environment, stderr=f)
            try:
                self.owner = self.wait('the application', self.find_application)
                break
            except RuntimeError as error:  # a display that has only just begun refuses clients now and then
                if left == 0 or 'cannot open display' not in str(error):
                    raise
                time.sleep(1)
        self.bus.signal_subscribe(self.owner, 'org.a11y.atspi.Event.Object', 'StateChanged', None, 'focused',
                                  Gio.DBusSignalFlags.NONE, self.hears_of_focus)
        self.wait('the window', lambda: subprocess.run(
            ['xdotool', 'search', '--onlyvisible', '--pid', str(self.process.pid)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0)

    def hears_of_focus(self, bus, sender, path, interface, signal, arguments):
        if arguments.get_child_value(1).unpack() == 1:
            self.moved.append(path)

    def find_application(self):
        def ask(method, *arguments):
            return self.bus.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', method,
                                      arguments[0] if arguments else None, None, 0, CALL_MS, None).unpack()[0]

        for name in ask('ListNames'):
            if name.startswith(':') and ask('GetConnectionUnixProcessID',
                                            GLib.Variant('(s)', (name,))) == self.process.pid:
                return name
        return None

    def complaints(self):
        """What GTK and the window itself warn of on the console."""
        with open(self.console) as f:
            return [line for line in f if re.search(r'-(WARNING|CRITICAL|ERROR) \*\*', line)]

    def call(self, path, interface, method, arguments=None):
        return self.bus.call_sync(self.owner, path, interface, method, arguments, None, 0, CALL_MS, None)

    def about(self, path):
        """The properties of an object: Name, Parent .."""
        return self.call(path, 'org.freedesktop.DBus.Properties', 'GetAll',
                         GLib.Variant('(s)', ('org.a11y.atspi.Accessible',))).unpack()[0]

    def role_of(self, path):
        return role_name(self.call(path, 'org.a11y.atspi.Accessible', 'GetRole').unpack()[0])

    def children_of(self, path):
        return [path for _, path in self.call(path, 'org.a11y.atspi.Accessible', 'GetChildren').unpack()[0]]

    def root(self):
        """The application, with all that is not hidden below it, in its order."""
        while True:
            items = self.call('/org/a11y/atspi/cache', 'org.a11y.atspi.Cache', 'GetItems').print_(False)
            nodes = {item[0]: Node(self, item) for item in ITEM.findall(items)}
            root = nodes[ROOT]
            if not self.put_in_order(root, nodes):
                return root

    def put_in_order(self, root, nodes):
        """Gives each its children. Returns whether there are others than @nodes: an object is in the toolkit's list
        only after it was asked for, which is done here. Some that are hidden are not marked so, and what is in a stack
        is told to be in its page: the children of an object are asked for where the list was not right of them before."""
        below = collections.defaultdict(list)
        for node in nodes.values():
            if node.has(VISIBLE):
                below[node.above].append(node)
        root.count = None  # what is told of windows is 0
        stack, new = [root], False
        while stack:
            node = stack.pop()
            seen = node.path, node.count, frozenset((child.path, child.place) for child in below[node.path])
            paths = self.told.get(seen)
            if paths is None:
                paths = self.children_of(node.path)
                if len(paths) == len(below[node.path]) and all((path, i) in seen[2] for i, path in enumerate(paths)):
                    self.told[seen] = paths
                unknown = [path for path in paths if path not in nodes]
                new = new or bool(unknown)
                while unknown:
                    unknown += self.children_of(unknown.pop())
            node.children = [nodes[path] for path in paths if path in nodes]
            for child in node.children:
                child.parent = node
            stack.extend(node.children)
        return new

    def shot(self, name):
        if self.shots:
            subprocess.run(f'xwd -root -silent | convert xwd:- {self.shots}/{name}.png', shell=True, check=False)

    def wait(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f'the window ended with {self.process.returncode} before {what}: '
                                   f'{open(self.console).read()[-2000:]}')
            try:
                found = condition()
            except (GLib.Error, AttributeError, IndexError, KeyError, StopIteration):  # it is not there yet, or gone
                found = None
            if found is not None and found is not False:
                return found
            time.sleep(LOOK_AGAIN_S)
        self.shot('timeout')
        raise RuntimeError(f'waited in vain for {what}; there is {self.labels()}')

    def comes_to(self, what, wanted, look):
        """Checks that @look gives @wanted, now or soon."""
        try:
            self.wait(what, lambda: look() == wanted)
            check(what, True)
        except RuntimeError:
            check(what, False, f'{look()}\n{wanted}')

    def walk(self):
        return self.root().walk()

    def windows(self):
        return self.root().children

    def titles(self):
        """The names of the windows, without a look at what is in them."""
        return [self.about(path)['Name'] for path in self.children_of(ROOT)]

    def find(self, role, name):
        pattern = re.compile(name)
        return next((node for node in self.walk() if node.role in role.split('|') and pattern.fullmatch(node.name)),
                    None)

    def expect(self, role, name):
        return self.wait(f'{role} {name!r}', lambda: self.find(role, name))

    def expect_name(self, node, name):
        """Waits until a node that is known already is called @name."""
        return self.wait(name, lambda: node.name_now() == name)

    def labels(self):
        return [node.name for node in self.walk() if node.role == 'label']

    def text_with(self, part):
        text = '\n'.join(self.labels())
        return text if part in text else None

    def click(self, role, name):
        self.wait(f'{role} {name!r} that can be clicked',
                  lambda: any(node.has(SENSITIVE) and node.do('click') for node in self.find(role, name).walk()))

    def act(self, action):
        """An action of a widget by its name."""
        if not any(node.do(action) for node in self.walk()):
            raise RuntimeError(f'nothing has the action {action}')

    def focus(self):
        """What has the focus; in a dialog before the window behind it. (nullable)"""
        return next((node for window in reversed(self.windows()) for node in window.walk() if node.has(FOCUSED)), None)

    def focused(self):
        """The roles and names from what has the focus up to the window."""
        node, path = self.focus(), []
        while node is not None and node.role != 'frame':
            path.append((node.role, node.name))
            node = node.parent
        return path

    def expect_focus(self, role, name='.*'):
        """Waits until that, or what lies in it, has the focus: keys go there."""
        def has_it():
            node = self.focus()
            first = node
            while node is not None and not (node.role in role.split('|') and re.fullmatch(name, node.name)):
                node = node.parent
            return first if node is not None else None

        return self.wait(f'the focus of {role} {name!r}', has_it)

    def focus_after(self, name, before):
        """The path of what has the focus after that key. It is told of; where nothing is, the tree is read. (nullable)"""
        self.moved.clear()
        key(name)
        context, end = GLib.MainContext.default(), time.monotonic() + 2  # it may be the only one that can have the focus
        read_from = time.monotonic() + 0.5
        while time.monotonic() < end:
            while context.iteration(False):
                pass
            if self.moved:
                return self.moved[-1]
            if time.monotonic() > read_from:
                node = self.focus()
                if node is not None and node.path != before:
                    return node.path
            time.sleep(LOOK_AGAIN_S / 3)
        return before

    def names_above(self, path):
        """Paths and names from the object of that path up to the window."""
        found = []
        while path != ROOT:
            told = self.about(path)
            found.append((path, told['Name']))
            path = told['Parent'][1]
        return found[:-1]

    def tab_to(self, role, name, most=80):
        """By the keyboard alone to the widget of that name, or to what lies in it. Returns the names on the way."""
        passed, node = set(), self.focus()
        path = node.path if node is not None else None
        for _ in range(most):
            try:
                above = self.names_above(path) if path is not None else []
                if any(title == name and self.role_of(over) == role for over, title in above):
                    return passed
                passed |= {title for _, title in above}
            except GLib.Error:  # it went meanwhile
                pass
            path = self.focus_after('Tab', path)
        raise RuntimeError(f'Tab does not lead to {role} {name}: {self.focused()}')

    def sheet(self, title):
        """Waits until the window of that title is there, beside the main one, and has the focus."""
        self.wait(f'the sheet {title}', lambda: title in self.titles())
        return self.wait(f'the focus of the sheet {title}', lambda: next(
            (window for window in self.windows() if window.name == title
             and any(node.has(FOCUSED) for node in window.walk())), None))

    def leaves(self, title):
        self.wait(f'the end of the sheet {title}', lambda: title not in self.titles())

    def choose(self, *keys):
        """Opens the list of the drop-down that has the focus, and goes by @keys to the entry to take."""
        before = len([node for node in self.walk() if node.role == 'list item'])
        key('space')
        self.wait('the list', lambda: len([node for node in self.walk() if node.role == 'list item']) > before
                  and self.focus().role == 'list item')
        key(*keys, 'Return')

    def nameless(self, root):
        """What can have the focus and says nothing of itself: no name, or that of a class of the toolkit.
        What scrolls, and lists, hand it on to what is in them; entries of buttons never take it. Sheets have
        tabs and a search of the toolkit's own, which are never shown, and its messages a button to close them."""
        passed_on = ('scroll pane', 'filler', 'label', 'list', 'page tab')
        return [f'{node.role} {node.name!r} in {node.parent.role} {node.parent.name!r}' for node in root.walk()
                if node.has(FOCUSABLE) and node.role not in passed_on
                and re.match(r'$|(Gtk|Adw|Ir)[A-Z]', node.name) and node.name != 'GtkSearchEntry'
                and node.parent.name not in ('GtkListView', 'AdwToastWidget')]  # what drop-downs list: its texts say it

    def canvas(self):
        return self.expect('list', 'Graph')

    def boxes(self):
        """Labels of the boxes of the graph that are in sight."""
        return [node.name for node in self.canvas().children if node.role == 'list item']

    def file_dialog(self, title, path):
        """Answers the dialog of that title."""
        self.sheet(title)
        if self.focus().role == 'text':
            key('ctrl+a')  # a name is proposed
        type_text(path)  # otherwise a slash opens the entry for a path
        self.wait('the path', lambda: self.focus().text_now() == path)
        key('Return')
        self.leaves(title)

    def is_quiet(self):
        complaints = self.complaints()
        check('nothing warns on the console', not complaints, ''.join(complaints))

    def end(self):
        self.process.kill()
        self.process.wait()
        self.is_quiet()


def accessibility_bus():
    session = Gio.bus_get_sync(Gio.BusType.SESSION)
    address = session.call_sync('org.a11y.Bus', '/org/a11y/bus', 'org.a11y.Bus', 'GetAddress', None, None, 0, CALL_MS,
                                None).unpack()[0]
    return Gio.DBusConnection.new_for_address_sync(
        address, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None,
        None)


def run(scenes):
    """Each in a process of its own, which may end anyhow. Returns the exit status."""
    global n_checks, failures
    for scene in scenes:
        began = time.monotonic()
        title = scene.__name__.replace('_', ' ')
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                scene()
            except Exception:  # noqa: BLE001, it is the result
                check(title, False, traceback.format_exc())
            os.write(writer, json.dumps([n_checks, failures]).encode())
            os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        counts = os.read(reader, 100)  # empty: it did not get to its end
        os.close(reader)
        if counts:
            n_checks, failures = json.loads(counts)
        else:
            check(title, False, 'its process ended')
        print(f'# {title}: {time.monotonic() - began:.1f} s', file=TAP, flush=True)
    print(f'1..{n_checks}', file=TAP, flush=True)
    return 1 if failures else 0
