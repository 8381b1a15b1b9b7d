#!/usr/bin/env python3
"""Random models of the domain ai.onnx.ml, against ONNX Runtime and the ONNX reference implementation.

An extra oracle for developers; nothing in ./check depends on it.  It needs packages from PyPI:

    python3 -m venv /tmp/ort && /tmp/ort/bin/pip install numpy onnx onnxruntime
    /tmp/ort/bin/python tests/oracle/ml-onnxruntime.py build/irscope [--cases 40] [--seed 1] [--keep DIR]

Each case is written as the ONNX backend tests are, with what ONNX Runtime computes as the expected
output, and `irscope conformance` runs them all.  Where ONNX Runtime leaves out what the model asks for,
the reference implementation is the judge instead (WHY below says which), or the case is not made:

- One set of votes or coefficients for two classes: ONNX Runtime applies neither SOFTMAX nor
  SOFTMAX_ZERO, and with votes for both classes its label is not the one with the highest score.
- A regressor with one target applies only PROBIT there, and SVMRegressor applies nothing.
- A comparison "not equal" with NaN holds there, whatever nodes_missing_value_tracks_true says.
- Sets of neighbouring integers hold what lies between them, too; the reference implementation ends a
  set at 0, so no set has one.
- TreeEnsemble's post_transform 1 is LOGISTIC there and 2 SOFTMAX, the other way round than in the standard.
- Two classes of a linear SVM: its label is the second as soon as one score is positive; with weights
  that are all positive, that of the reference implementation, too.
- PROBIT is left to the unit tests: near 0.5 both lose too many digits.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    sys.exit(f"ml-onnxruntime: {error.name} is missing; see the top of this file for how to get it")

WHY = "the reference implementation is the judge"
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
BRANCHES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Case:
    """One node: its inputs, attributes and which oracle decides."""

    def __init__(self, op, inputs, n_outputs=1, version=3, reference=False, **attributes):
        self.op, self.inputs, self.n_outputs, self.version = op, inputs, n_outputs, version
        self.reference = reference
        self.attributes = {key: value for key, value in attributes.items() if value is not None}

    def model(self, output_types):
        names = [f"x{i}" for i in range(len(self.inputs))]
        outputs = [f"y{i}" for i in range(self.n_outputs)]
        node = helper.make_node(self.op, names, outputs, domain="ai.onnx.ml", **self.attributes)

        def info(name, array):
            kind = 8 if array.dtype.kind in "OUS" else helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, kind, array.shape)

        graph = helper.make_graph([node], "g", [info(n, x) for n, x in zip(names, self.inputs)],
                                  [helper.make_tensor_value_info(n, t, None) for n, t in zip(outputs, output_types)])
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", self.version)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)

    def output_types(self):
        if self.n_outputs == 2:
            return [8 if "classlabels_strings" in self.attributes else 7, 1]
        a, x = self.attributes, self.inputs[0]
        if self.op in ("LabelEncoder", "CategoryMapper"):
            if "values_tensor" in a:
                return [a["values_tensor"].data_type]
            if self.op == "CategoryMapper" or "classes_strings" in a:
                return [7 if x.dtype.kind in "OUS" else 8]
            return [8 if "values_strings" in a else 7 if "values_int64s" in a else 1]
        if self.op in ("ArrayFeatureExtractor", "Binarizer", "Imputer", "TreeEnsemble"):
            return [8 if x.dtype.kind in "OUS" else helper.np_dtype_to_tensor_dtype(x.dtype)]
        return [1]

    def expected(self):
        model = self.model(self.output_types())
        feeds = {f"x{i}": x for i, x in enumerate(self.inputs)}
        if self.reference:
            result = ReferenceEvaluator(model).run(None, feeds)
        else:
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            result = session.run(None, feeds)
        kinds = [helper.tensor_dtype_to_np_dtype(t) for t in self.output_types()]
        return model, [np.asarray(y).astype(object if t == object else t) for y, t in zip(result, kinds)]


# -- features --


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def listed(array):
    return np.asarray(array, np.float32).ravel().tolist()


def pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def labels(rng, n, ints):
    if rng.random() < 0.5:
        return {"classlabels_strings": [f"class {i}" for i in range(n)]}
    return {ints: (rng.permutation(50)[:n] - 20).tolist()}


def array_feature_extractor(rng):
    x = floats(rng, 3, 4) if rng.random() < 0.7 else np.array([["a", "b", "c"]] * 2, dtype=object)
    return Case("ArrayFeatureExtractor", [x, rng.integers(0, x.shape[-1], size=(1, rng.integers(1, 6)))])


def binarizer(rng):
    return Case("Binarizer", [floats(rng, 2, 5)], threshold=float(rng.normal()))


def category_mapper(rng):
    x = rng.integers(0, 6, size=(2, 3))
    names = [f"n{i}" for i in range(4)]
    if rng.random() < 0.5:
        x = np.array([[f"n{i}" for i in row] for row in x], dtype=object)
    return Case("CategoryMapper", [x], cats_int64s=[0, 1, 2, 3], cats_strings=names, default_int64=-7,
                default_string="none")


def feature_vectorizer(rng):
    kind = pick(rng, np.float32, np.float64, np.int32, np.int64)
    inputs = [(9 * floats(rng, 3, rng.integers(1, 5))).astype(kind) for _ in range(rng.integers(1, 4))]
    return Case("FeatureVectorizer", inputs, version=1,
                inputdimensions=[int(x.shape[1] + rng.integers(0, 2)) for x in inputs])


def imputer(rng):
    if rng.random() < 0.5:
        return Case("Imputer", [rng.integers(0, 3, size=(4, 3))], replaced_value_int64=1,
                    imputed_value_int64s=pick(rng, [9], [7, 8, 9]))
    x = np.where(rng.random((4, 3)) < 0.4, np.float32("nan"), floats(rng, 4, 3))
    return Case("Imputer", [x], replaced_value_float=float("nan"), imputed_value_floats=pick(rng, [9.0], [7.0, 8, 9]))


def label_encoder(rng):
    keys = {"keys_strings": np.array(["a", "b", "c"], dtype=object), "keys_int64s": np.array([5, -3, 8]),
            "keys_floats": np.array([0.5, np.nan, 3], np.float32)}
    values = {"values_strings": ["u", "v", "w"], "values_int64s": [7, 8, 2**60 + 1], "values_floats": [0.25, -1.5, 3]}
    key = pick(rng, *keys)
    value = pick(rng, *values)
    pool = np.concatenate([keys[key], keys[key].astype(object)[:1] + (" z" if key == "keys_strings" else 1)])
    x = pool[rng.integers(0, 4, size=(2, 3))].astype(keys[key].dtype)
    if rng.random() < 0.3 and key == "keys_int64s":  # types that only tensors have
        kind = pick(rng, np.int16, np.int64, np.float64)
        make = numpy_helper.from_array
        return Case("LabelEncoder", [x.astype(kind)], version=4, keys_tensor=make(keys[key].astype(kind), "k"),
                    values_tensor=make(np.array([1.5, 2.5, 3.5]).astype(kind), "v"),
                    default_tensor=make(np.array([42]).astype(kind), "d"))
    version = 4 if key == "keys_floats" else pick(rng, 2, 4)  # only version 4 says that NaN equals NaN
    return Case("LabelEncoder", [x], version=version, **{key: keys[key].tolist(), value: values[value]},
                default_string="other", default_int64=-5, default_float=0.125)


def normalizer(rng):
    x = floats(rng, 4, 3)
    x[0] = 0
    return Case("Normalizer", [pick(rng, x, x.astype(np.float64), (x * 9).astype(np.int64))],
                norm=pick(rng, "MAX", "L1", "L2"))


def one_hot_encoder(rng):
    if rng.random() < 0.5:
        return Case("OneHotEncoder", [np.array([["a", "z"], ["c", "b"]], dtype=object)], cats_strings=["a", "b", "c"])
    x = rng.integers(0, 5, size=(3, 2))
    return Case("OneHotEncoder", [pick(rng, x, x.astype(np.float32), x.astype(np.float64), x.astype(np.int32))],
                cats_int64s=[3, 0, 1])


def scaler(rng):
    x = floats(rng, 3, 4)
    n = pick(rng, 1, 4)
    return Case("Scaler", [pick(rng, x, x.astype(np.float64), (9 * x).astype(np.int32))],
                offset=listed(floats(rng, n)), scale=listed(floats(rng, n)))


# -- linear models and support vectors --


def linear_classifier(rng):
    n = int(rng.integers(2, 5))
    one_row = n == 2 and rng.random() < 0.5
    rows, transform = 1 if one_row else n, pick(rng, *TRANSFORMS[:4])
    x = floats(rng, 5, 3)
    return Case("LinearClassifier", [pick(rng, x, x.astype(np.float64))], 2, reference=one_row,
                coefficients=listed(floats(rng, rows, 3)), intercepts=listed(floats(rng, rows)),
                post_transform=transform, **labels(rng, n, "classlabels_ints"))


def linear_regressor(rng):
    n = int(rng.integers(1, 4))
    return Case("LinearRegressor", [floats(rng, 4, 3)], coefficients=listed(floats(rng, n, 3)),
                intercepts=listed(floats(rng, n)), targets=n,
                post_transform=pick(rng, *TRANSFORMS[:4]) if n > 1 else "NONE")


def kernel(rng):
    name = pick(rng, "LINEAR", "POLY", "RBF", "SIGMOID")
    return {"kernel_type": name, "kernel_params": [0.5, 0.25, float(rng.integers(1, 4))]}


def svm_regressor(rng):
    if rng.random() < 0.3:
        return Case("SVMRegressor", [floats(rng, 4, 3)], coefficients=listed(floats(rng, 3)), n_supports=0,
                    rho=[0.25], one_class=int(rng.integers(2)), kernel_type="LINEAR", kernel_params=[0.0, 0, 0])
    n = int(rng.integers(1, 7))
    return Case("SVMRegressor", [floats(rng, 4, 3)], coefficients=listed(floats(rng, n)), n_supports=n, rho=[0.25],
                support_vectors=listed(floats(rng, n, 3)), one_class=int(rng.integers(2)), **kernel(rng))


def svm_classifier(rng):
    n = int(rng.integers(2, 5))
    x = floats(rng, 5, 3)
    if rng.random() < 0.25:
        return Case("SVMClassifier", [x], 2, coefficients=[-1.0] + listed(floats(rng, n, 3))[1:], rho=[0.25], reference=n == 2,
                    kernel_type="LINEAR", kernel_params=[0.0, 0, 0], post_transform=pick(rng, *TRANSFORMS[:4]), **labels(rng, n, "classlabels_ints"))
    sizes = rng.integers(1, 4, size=n)
    total, pairs = int(sizes.sum()), n * (n - 1) // 2
    likely = rng.random() < 0.5
    transform = "NONE" if likely else pick(rng, *TRANSFORMS[:4])
    return Case("SVMClassifier", [pick(rng, x, x.astype(np.float64))], 2, vectors_per_class=sizes.tolist(),
                support_vectors=listed(floats(rng, total, 3)), coefficients=listed(floats(rng, n - 1, total)),
                rho=listed(floats(rng, pairs)), post_transform=transform,
                prob_a=listed(-1 - rng.random(pairs)) if likely else None,
                prob_b=listed(floats(rng, pairs)) if likely else None,
                reference=n == 2 and not likely and transform != "NONE", **kernel(rng),
                **labels(rng, n, "classlabels_ints"))


# -- trees --


def grow(rng, depth):
    """(feature, mode, split, missing, true, false), or None for a leaf."""
    if depth == 0 or rng.random() < 0.15:
        return None
    mode = int(rng.integers(6))
    split = float(rng.integers(-1, 3)) if mode >= 4 else float(np.float32(rng.normal()))
    # NaN is a member of "not equal" in ONNX Runtime: let it be one here, too.
    missing = 1 if mode == 5 else int(rng.integers(2))
    return int(rng.integers(3)), mode, split, missing, grow(rng, depth - 1), grow(rng, depth - 1)


def samples(rng, missing):
    x = np.where(rng.random((12, 3)) < 0.5, rng.integers(-1, 3, size=(12, 3)), rng.normal(size=(12, 3)))
    if missing:
        x = np.where(rng.random((12, 3)) < 0.25, np.nan, x)
    return x.astype(np.float32)


def flatten(rng, trees):
    """The attributes nodes_* of TreeEnsembleClassifier and Regressor, and the (tree, node) of each leaf."""
    nodes, leaves = [], []

    def add(tree, number, node):
        here = next(number)
        place = len(nodes)
        nodes.append(None)
        if node is None:
            nodes[place] = (tree, here, 0, "LEAF", 0.0, 0, 0, 0)
            leaves.append((tree, here))
            return here
        feature, mode, split, missing, yes, no = node
        left, right = add(tree, number, yes), add(tree, number, no)
        nodes[place] = (tree, here, feature, BRANCHES[mode], split, left, right, missing)
        return here

    for tree, root in enumerate(trees):
        add(tree, iter(range(10_000)), root)
    keys = ["treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
            "missing_value_tracks_true"]
    return {f"nodes_{key}": list(column) for key, column in zip(keys, zip(*nodes))}, leaves


def as_doubles(attributes, names):
    for name in names:
        if name in attributes:
            attributes[name + "_as_tensor"] = numpy_helper.from_array(np.array(attributes.pop(name), np.float64), name)


def tree_classifier(rng):
    n = int(rng.integers(2, 5))
    trees = [grow(rng, 4) for _ in range(n * int(rng.integers(1, 4)))]
    attributes, leaves = flatten(rng, trees)
    style = pick(rng, "all", "boosted")
    votes = []
    for tree, leaf in leaves:
        if style == "all":
            votes += [(tree, leaf, k, float(w)) for k, w in enumerate(rng.dirichlet(np.ones(n)))]
        else:
            votes.append((tree, leaf, tree % n if n > 2 else 0, float(np.float32(rng.normal()))))
    transform = pick(rng, *TRANSFORMS[:4])
    attributes.update(class_treeids=[v[0] for v in votes], class_nodeids=[v[1] for v in votes],
                      class_ids=[v[2] for v in votes], class_weights=[v[3] for v in votes])
    reference = n == 2 and (style == "all" or transform != "NONE")
    if n > 2 and rng.random() < 0.5:
        attributes["base_values"] = listed(floats(rng, n))
    x = samples(rng, rng.random() < 0.5)
    if not reference and rng.random() < 0.3:
        x = x.astype(np.float64)
        as_doubles(attributes, ["nodes_values", "class_weights", "base_values"])
    return Case("TreeEnsembleClassifier", [x], 2, reference=reference, post_transform=transform, **attributes,
                **labels(rng, n, "classlabels_int64s"))


def tree_regressor(rng):
    n = int(rng.integers(1, 4))
    attributes, leaves = flatten(rng, [grow(rng, 4) for _ in range(n * int(rng.integers(1, 4)))])
    attributes.update(target_treeids=[tree for tree, _ in leaves], target_nodeids=[leaf for _, leaf in leaves],
                      target_ids=[tree % n for tree, _ in leaves], target_weights=listed(floats(rng, len(leaves))))
    if rng.random() < 0.5:
        attributes["base_values"] = listed(floats(rng, n))
    x = samples(rng, rng.random() < 0.5)
    if rng.random() < 0.3:
        x = x.astype(np.float64)
        as_doubles(attributes, ["nodes_values", "target_weights", "base_values"])
    return Case("TreeEnsembleRegressor", [x], n_targets=n, aggregate_function=pick(rng, "SUM", "AVERAGE", "MIN", "MAX"),
                post_transform=pick(rng, *TRANSFORMS[:4]) if n > 1 else "NONE", **attributes)


def tree_ensemble(rng):
    n, kind = int(rng.integers(1, 4)), pick(rng, np.float32, np.float64)
    nodes, leaves, roots, members = [], [], [], []

    def add(node, target):
        if node is None:
            leaves.append((target, rng.normal()))
            return len(leaves) - 1, 1
        place = len(nodes)
        nodes.append(None)
        feature, mode, split, missing, yes, no = node
        if mode == 4 and rng.random() < 0.5:
            mode = 6
        (left, left_leaf), (right, right_leaf) = add(yes, target), add(no, target)
        nodes[place] = (feature, mode, split, missing, left, left_leaf, right, right_leaf)
        return place, 0

    for tree in range(n * int(rng.integers(1, 4))):
        root = None
        while root is None:
            root = grow(rng, 4)
        roots.append(add(root, tree % n)[0])
    for node in nodes:
        if node[1] == 6:
            members += [float(m) for m in rng.permutation([-1, 1, 2])[: rng.integers(1, 4)]] + [float("nan")]

    def tensor(values, dtype=kind):
        return numpy_helper.from_array(np.array(values, dtype), "t")

    columns = [list(column) for column in zip(*nodes)]
    return Case("TreeEnsemble", [samples(rng, rng.random() < 0.5).astype(kind)], version=5, n_targets=n,
                reference=bool(members),
                aggregate_function=int(rng.integers(4)),
                post_transform=pick(rng, 0, 3) if n > 1 and not members else 0,
                tree_roots=roots, nodes_featureids=columns[0], nodes_modes=tensor(columns[1], np.uint8),
                nodes_splits=tensor(columns[2]), nodes_missing_value_tracks_true=columns[3],
                nodes_truenodeids=columns[4], nodes_trueleafs=columns[5], nodes_falsenodeids=columns[6],
                nodes_falseleafs=columns[7], leaf_targetids=[leaf[0] for leaf in leaves],
                leaf_weights=tensor([leaf[1] for leaf in leaves]),
                membership_values=tensor(members) if members else None)


MAKERS = [array_feature_extractor, binarizer, category_mapper, feature_vectorizer, imputer, label_encoder, normalizer,
          one_hot_encoder, scaler, linear_classifier, linear_regressor, svm_regressor, svm_classifier,
          tree_classifier, tree_regressor, tree_ensemble]


def write(directory, case):
    """FALSE if the oracle cannot run the case."""
    try:
        model, outputs = case.expected()
    except Exception as error:  # noqa: BLE001: whatever an oracle throws
        return f"{type(error).__name__}: {str(error)[:200]}"
    data = os.path.join(directory, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(directory, "model.onnx"))
    for kind, arrays in (("input", case.inputs), ("output", outputs)):
        for i, array in enumerate(arrays):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(array, f"{kind}{i}").SerializeToString())
    return None


def main():
    parser = argparse.ArgumentParser(description="Compare random models of ai.onnx.ml with ONNX Runtime.")
    parser.add_argument("irscope", help="the program to test")
    parser.add_argument("--cases", type=int, default=40, help="per operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="write the cases into this new folder and keep them")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    np.seterr(all="ignore")
    skipped, judged = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        root = arguments.keep or scratch
        for maker in MAKERS:
            for i in range(arguments.cases):
                case = maker(np.random.default_rng([arguments.seed, i, MAKERS.index(maker)]))
                reason = write(os.path.join(root, f"{maker.__name__}-{i}"), case)
                judged += reason is None and case.reference
                if reason is not None:
                    skipped.setdefault(maker.__name__, []).append(reason)
        run = subprocess.run([arguments.irscope, "conformance", "--json", root], capture_output=True, text=True)
        report = json.loads(run.stdout)
    for case in report["cases"]:
        if case["status"] != "passed":
            print(f"{case['status']} {case['name']}: {case['reason']}")
    for name, reasons in skipped.items():
        print(f"{name}: the oracle refused {len(reasons)} of {arguments.cases}: {reasons[0]}")
    print(f"{report['passed']} of {report['total']} agree; of {judged} {WHY}")
    return 0 if report["passed"] == report["total"] else 1


if __name__ == "__main__":
    sys.exit(main())
