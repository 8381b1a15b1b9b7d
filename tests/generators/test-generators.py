#!/usr/bin/env python3
"""Tests of the generators: the writer, the reader, the float64 evaluator and the bundled examples (TAP)."""

import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP python3-numpy is not installed")
    sys.exit(0)

import light
import onnxproto as onnx
import output
from evaluate import OPS, Unsupported, evaluate
from nets import NETS
from synthetic import SHAPES, synthetic

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")
EXAMPLES = os.path.join(DATA, "examples")
ONNX_CASES = "/usr/share/libonnx-testdata/data/node"
# Cases of element types that are not real numbers here.
FOREIGN_TYPES = ("BFLOAT16", "STRING", "opt", "sequence", "seq")
SMALL = {
    "resnet50": {"size": 32, "layers": 1, "width": 8, "classes": 10},
    "mobilenetv2": {"size": 32, "layers": 1, "width": 8, "classes": 10},
    "bert-base": {"layers": 1, "hidden": 32, "heads": 2, "vocab": 50, "seq": 8, "positions": 16},
    "gpt2": {"layers": 1, "hidden": 32, "heads": 2, "vocab": 50, "seq": 8, "positions": 16},
}


class Skipped(Exception):
    """What the test needs is not here."""


def run_one(op, arrays, opset=17, **attrs):
    """The outputs of a single node on arrays (None for an absent input)."""
    names = ["" if a is None else f"i{k}" for k, a in enumerate(arrays)]
    node = onnx.Node(op, names, ["y"], "node", attrs)
    given = {n: a for n, a in zip(names, arrays) if n}
    graph = onnx.Graph("one", [node], [onnx.ValueInfo(n) for n in given], [onnx.ValueInfo("y")])
    return evaluate(onnx.Model(graph, opsets={"": opset}), given)["y"]


def naive_windows(x, kernel, strides, pads, dilations, out):
    """Yields (output position, values inside, number of places inside the declared padding), by loops."""
    height, width = x.shape
    for oy in range(out[0]):
        for ox in range(out[1]):
            inside, padded = [], 0
            for ky in range(kernel[0]):
                for kx in range(kernel[1]):
                    y = oy * strides[0] - pads[0] + ky * dilations[0]
                    x_ = ox * strides[1] - pads[1] + kx * dilations[1]
                    if 0 <= y < height and 0 <= x_ < width:
                        inside.append(((ky, kx), x[y, x_]))
                    padded += -pads[0] <= y < height + pads[2] and -pads[1] <= x_ < width + pads[3]
            yield (oy, ox), inside, padded


def test_reading_what_was_written_gives_the_same_bytes(folder):
    for name, options in SMALL.items():
        model, _ = NETS[name](**options)
        first, second = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
        onnx.write_model(model, first)
        onnx.write_model(onnx.read_model(first), second)
        with open(first, "rb") as a, open(second, "rb") as b:
            assert a.read() == b.read(), name


def test_odd_tensors_survive_a_round_trip(folder):
    path = os.path.join(folder, "t.pb")
    strings = np.empty(2, object)
    strings[:] = [b"", b"\xff\x00a"]
    for array in (np.array([-(1 << 63), (1 << 63) - 1]), np.array([np.nan, np.inf, -np.inf, -0.0], np.float32),
                  np.zeros((0, 3), np.float32), np.array(True), np.array(1.5, np.float16), strings,
                  np.array([1 << 63], np.uint64), np.array(7, np.int8)):
        onnx.write_tensor(array, path, "name")
        back = onnx.read_tensor(path)
        assert back.dtype == array.dtype and back.shape == array.shape, array
        same = list(back) == list(array) if array.dtype == object else back.tobytes() == array.tobytes()
        assert same, array


def test_truncated_files_are_refused(folder):
    model, _ = NETS["gpt2"](**SMALL["gpt2"])
    path = os.path.join(folder, "m.onnx")
    onnx.write_model(model, path)
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:len(data) // 2])
    try:
        onnx.read_model(path)
    except onnx.FormatError:
        return
    raise AssertionError("half a file was read without an error")


def test_the_same_seed_gives_the_same_network(folder):
    for name, options in SMALL.items():
        sizes = []
        for path in (os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")):
            model, inputs = NETS[name](**options)
            onnx.write_model(model, path)
            with open(path, "rb") as file:
                sizes.append((file.read(), [a.tobytes() for a in inputs.values()]))
        assert sizes[0] == sizes[1], name


def test_resnet50_has_176_nodes(folder):
    model, _ = NETS["resnet50"](width=4, size=32, classes=4)
    assert output.counted(model.graph) == 176, output.counted(model.graph)
    ops = [node.op for node in model.graph.nodes]
    assert [ops.count(op) for op in ("Conv", "BatchNormalization", "Relu", "Add")] == [53, 53, 49, 16]


def test_networks_give_finite_outputs_that_vary(folder):
    for name, options in SMALL.items():
        for symbolic in (True, False):
            model, inputs = NETS[name](symbolic=symbolic, **options)
            for value, array in evaluate(model, inputs).items():
                assert np.isfinite(array).all() and array.std() > 1e-3, (name, value)


def test_symbolic_and_static_networks_compute_the_same(folder):
    for name, options in SMALL.items():
        symbolic, static = (evaluate(*NETS[name](symbolic=s, **options)) for s in (True, False))
        assert all(np.array_equal(symbolic[k], static[k]) for k in symbolic), name


def test_gpt2_never_looks_ahead(folder):
    for causal in ("where", "arithmetic"):
        model, inputs = NETS["gpt2"](causal=causal, **SMALL["gpt2"])
        before = evaluate(model, inputs)["logits"]
        changed = inputs["input_ids"].copy()
        changed[0, 5] = (changed[0, 5] + 1) % 50
        after = evaluate(model, {"input_ids": changed})["logits"]
        assert np.array_equal(before[0, :5], after[0, :5]), causal
        assert np.abs(before[0, 5:] - after[0, 5:]).max() > 1e-3, causal


def test_convolution_agrees_with_loops(folder):
    random = np.random.default_rng(3)
    for groups, strides, pads, dilations in ((1, (1, 1), (0, 0, 0, 0), (1, 1)), (2, (2, 1), (1, 0, 2, 1), (1, 2)),
                                             (4, (1, 2), (1, 1, 1, 1), (1, 1))):
        x, weight = random.standard_normal((2, 4, 7, 6)), random.standard_normal((4, 4 // groups, 3, 2))
        y = run_one("Conv", [x, weight], group=groups, strides=list(strides), pads=list(pads),
                    dilations=list(dilations))
        expected = np.zeros(y.shape)
        for n in range(2):
            for m in range(4):
                for c in range(4 // groups):
                    plane = x[n, m // (4 // groups) * (4 // groups) + c]
                    for at, inside, _ in naive_windows(plane, (3, 2), strides, pads, dilations, y.shape[2:]):
                        expected[(n, m) + at] += sum(weight[m, c][k] * v for k, v in inside)
        assert np.allclose(y, expected, rtol=1e-12, atol=1e-12), groups


def test_pooling_agrees_with_loops(folder):
    x = np.random.default_rng(4).standard_normal((1, 1, 7, 8))
    for pads in ((0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 1, 1)):
        for ceil_mode in (0, 1):
            for include in (0, 1):
                attrs = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": list(pads), "ceil_mode": ceil_mode}
                top = run_one("MaxPool", [x], **attrs)
                mean = run_one("AveragePool", [x], count_include_pad=include, **attrs)
                for at, inside, padded in naive_windows(x[0, 0], (3, 3), (2, 2), pads, (1, 1), top.shape[2:]):
                    values = [v for _, v in inside]
                    assert top[(0, 0) + at] == max(values), (pads, ceil_mode)
                    count = padded if include else len(values)
                    assert math.isclose(mean[(0, 0) + at], sum(values) / count), (pads, ceil_mode, include)


def test_softmax_before_opset_13_works_on_rows_of_the_flattened_input(folder):
    x = np.random.default_rng(5).standard_normal((2, 3, 4))
    old, new = run_one("Softmax", [x], opset=9), run_one("Softmax", [x], opset=13)
    assert np.allclose(old.sum((1, 2)), 1) and np.allclose(new.sum(2), 1)


def test_a_backward_slice_reaches_the_first_element(folder):
    x, index = np.arange(5.0), [np.array([v]) for v in (-1, -(1 << 63), 0, -1)]
    assert list(run_one("Slice", [x] + index)) == [4, 3, 2, 1, 0]


def test_integer_division_truncates_toward_zero(folder):
    assert list(run_one("Div", [np.array([-7, 7]), np.array([2, -2])])) == [-3, -3]


def test_the_evaluator_agrees_with_the_cases_of_onnx(folder):
    if not os.path.isdir(ONNX_CASES):
        raise Skipped("libonnx-testdata is not installed")
    agreed = 0
    for name in sorted(os.listdir(ONNX_CASES)):
        if set(name.split("_")) & set(FOREIGN_TYPES):
            continue
        try:
            outcome = onnx_case(os.path.join(ONNX_CASES, name))
        except (Unsupported, onnx.FormatError):
            continue
        assert outcome is not False, name
        agreed += outcome is True
    assert agreed > 350, agreed


def onnx_case(path):
    """Whether the evaluator gives a case's expected outputs; None where it uses other operators."""
    model = onnx.read_model(os.path.join(path, "model.onnx"))
    graph, data = model.graph, os.path.join(path, "test_data_set_0")
    if any(n.op not in OPS or n.domain or len(n.outputs) > 1 and n.op != "Split" for n in graph.nodes):
        return None
    inputs = {info.name: onnx.read_tensor(os.path.join(data, f"input_{k}.pb"))
              for k, info in enumerate(graph.inputs)}
    for k, actual in enumerate(evaluate(model, inputs).values()):
        expected = onnx.read_tensor(os.path.join(data, f"output_{k}.pb"))
        if actual.shape != expected.shape or not np.allclose(actual, expected, 1e-3, 1e-5, equal_nan=True):
            return False
    return True


def test_synthetic_graphs_have_the_size_asked_for(folder):
    for shape in SHAPES:
        model, inputs = synthetic(shape, 500)
        outputs = evaluate(model, inputs)
        assert len(model.graph.nodes) == 500 and len(outputs) < 70, shape
        assert all(np.isfinite(a).all() for a in outputs.values()), shape


def test_a_transposed_weight_changes_the_output(folder):
    model, inputs = NETS["resnet50"](**SMALL["resnet50"])
    right = evaluate(model, inputs)["output"]
    light.transpose_one(model.graph)
    wrong = evaluate(model, inputs)["output"]
    assert np.abs(right - wrong).max() > 1e-2 * np.abs(right).max()


def test_bundled_graphs_are_what_their_script_writes(folder):
    subprocess.run([sys.executable, os.path.join(DATA, "make-examples.py"), "--out", folder], check=True,
                   stdout=subprocess.DEVNULL)
    for name in ("worked-example.onnx", "worked-example.onnxtxt", "transformer-block.onnx", "if-branch.onnx"):
        with open(os.path.join(folder, name), "rb") as new, open(os.path.join(EXAMPLES, name), "rb") as old:
            assert new.read() == old.read(), name


def test_the_bundled_network_recognizes_its_digits(folder):
    with open(os.path.join(EXAMPLES, "digits.json")) as file:
        facts = json.load(file)
    model = onnx.read_model(os.path.join(EXAMPLES, "digits.onnx"))
    for entry in facts["inputs"]:
        image = np.load(os.path.join(EXAMPLES, entry["file"]))
        probabilities = evaluate(model, {"image": image})["probabilities"][0]
        assert probabilities.argmax() == entry["label"] == entry["predicted"], entry
        assert abs(probabilities.max() - entry["probability"]) < 1e-4, entry
    assert facts["held_out_accuracy"] > 0.97


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        title = "/generators/" + name[5:].replace("_", " ")
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(folder)
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
