#!/usr/bin/env python3
"""Trains the bundled digits network and writes examples/digits.onnx with a few inputs.

Needs Debian's python3-numpy and python3-sklearn (for the 1,797 images of 8x8 pixels only).  The network
is trained here, by back-propagation in numpy with a fixed seed, and written unoptimized as an exporter
would write it: batch normalizations unfolded, the flattening computed from the shape and reshaped once
more, a layer scale as separate Mul and Add, a bias apart from its Gemm, a Dropout, an Identity and a pair
of transposes, so that every first pass of irscope has something to do.

    python3 data/make-digits.py [--epochs 40] [--out data/examples]
    python3 data/make-digits.py --untrained [--out data/examples]

With --untrained it writes what irscope train is tried on: the same network as it was before
(digits-untrained.onnx), and all images and labels (digits-images.npy, float16, whose values are
sixteenths and hence exact; digits-labels.npy, uint8), the 360 that are held out last.
"""

import argparse
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "generators"))

import onnxproto as onnx  # noqa: E402
from builder import Builder  # noqa: E402
from evaluate import evaluate  # noqa: E402

SEED = 20
CLASSES = 10
NARROW, WIDE = 12, 24  # channels after conv1 and after conv2
EPSILON = 1e-5
HELD_OUT = 360


# --- layers: forward keeps what backward needs; gradients lie beside the parameters ------------------


class Conv:
    """3x3 convolution without bias, padded to keep the size; x is [N, C, H, W]."""

    def __init__(self, random, inputs, outputs):
        self.weight = random.standard_normal((outputs, inputs, 3, 3)) * np.sqrt(2 / (9 * inputs))
        self.parameters = ["weight"]

    def forward(self, x, training):
        n, c, h, w = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        taps = [padded[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)]
        self.columns = np.stack(taps, 2).transpose(1, 2, 0, 3, 4).reshape(c * 9, -1)
        self.shape = x.shape
        out = self.weight.reshape(len(self.weight), -1) @ self.columns
        return out.reshape(-1, n, h, w).transpose(1, 0, 2, 3)

    def backward(self, grad):
        n, c, h, w = self.shape
        flat = grad.transpose(1, 0, 2, 3).reshape(len(self.weight), -1)
        self.weight_grad = (flat @ self.columns.T).reshape(self.weight.shape)
        columns = (self.weight.reshape(len(self.weight), -1).T @ flat).reshape(c, 9, n, h, w)
        out = np.zeros((n, c, h + 2, w + 2))
        for tap in range(9):
            i, j = divmod(tap, 3)
            out[:, :, i:i + h, j:j + w] += columns[:, tap].transpose(1, 0, 2, 3)
        return out[:, :, 1:-1, 1:-1]


class BatchNorm:
    def __init__(self, channels):
        self.scale, self.bias = np.ones(channels), np.zeros(channels)
        self.mean, self.variance = np.zeros(channels), np.ones(channels)
        self.parameters = ["scale", "bias"]

    def forward(self, x, training):
        if training:
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean += 0.1 * (mean - self.mean)
            self.variance += 0.1 * (variance - self.variance)
        else:
            mean, variance = self.mean, self.variance
        self.deviation = np.sqrt(variance + EPSILON)[:, None, None]
        self.normal = (x - mean[:, None, None]) / self.deviation
        return self.normal * self.scale[:, None, None] + self.bias[:, None, None]

    def backward(self, grad):
        self.scale_grad = (grad * self.normal).sum((0, 2, 3))
        self.bias_grad = grad.sum((0, 2, 3))
        grad = grad * self.scale[:, None, None]
        centred = grad - grad.mean((0, 2, 3), keepdims=True)
        return (centred - self.normal * (grad * self.normal).mean((0, 2, 3), keepdims=True)) / self.deviation


class Relu:
    parameters = []

    def forward(self, x, training):
        self.open = x > 0
        return x * self.open

    def backward(self, grad):
        return grad * self.open


class MaxPool:
    """2x2 without overlap."""

    parameters = []

    def forward(self, x, training):
        n, c, h, w = x.shape
        self.shape = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        self.winner = blocks.argmax(-1)
        return blocks.max(-1)

    def backward(self, grad):
        n, c, h, w = self.shape
        blocks = np.where(np.arange(4) == self.winner[..., None], grad[..., None], 0.0)
        return blocks.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(self.shape)


class LayerScale:
    """A trained scale and shift per channel of the residual branch."""

    def __init__(self, channels):
        self.gamma, self.beta = np.full(channels, 0.5), np.zeros(channels)
        self.parameters = ["gamma", "beta"]

    def forward(self, x, training):
        self.x = x
        return x * self.gamma[:, None, None] + self.beta[:, None, None]

    def backward(self, grad):
        self.gamma_grad = (grad * self.x).sum((0, 2, 3))
        self.beta_grad = grad.sum((0, 2, 3))
        return grad * self.gamma[:, None, None]


class Residual:
    """relu (x + branch (x))."""

    parameters = []

    def __init__(self, *branch):
        self.branch = branch
        self.relu = Relu()

    def forward(self, x, training):
        y = x
        for layer in self.branch:
            y = layer.forward(y, training)
        return self.relu.forward(x + y, training)

    def backward(self, grad):
        grad = self.relu.backward(grad)
        inner = grad
        for layer in reversed(self.branch):
            inner = layer.backward(inner)
        return grad + inner


class Dropout:
    parameters = []

    def __init__(self, random, ratio):
        self.random, self.ratio = random, ratio

    def forward(self, x, training):
        keep = self.random.random(x.shape) >= self.ratio if training else np.ones(x.shape, bool)
        self.factor = keep / (1 - self.ratio) if training else keep
        return x * self.factor

    def backward(self, grad):
        return grad * self.factor


class Linear:
    def __init__(self, random, inputs, outputs):
        self.weight = random.standard_normal((outputs, inputs)) * np.sqrt(1 / inputs)
        self.bias = np.zeros(outputs)
        self.parameters = ["weight", "bias"]

    def forward(self, x, training):
        self.x, self.shape = x.reshape(len(x), -1), x.shape
        return self.x @ self.weight.T + self.bias

    def backward(self, grad):
        self.weight_grad, self.bias_grad = grad.T @ self.x, grad.sum(0)
        return (grad @ self.weight).reshape(self.shape)


class Network:
    def __init__(self, random):
        self.named = {
            "conv1": Conv(random, 1, NARROW), "bn1": BatchNorm(NARROW),
            "conv2": Conv(random, NARROW, WIDE), "bn2": BatchNorm(WIDE),
            "block.conv1": Conv(random, WIDE, WIDE), "block.bn1": BatchNorm(WIDE),
            "block.conv2": Conv(random, WIDE, WIDE), "block.bn2": BatchNorm(WIDE),
            "block.scale": LayerScale(WIDE),
            "dropout": Dropout(random, 0.25), "fc": Linear(random, WIDE * 16, CLASSES),
        }
        get = self.named
        self.layers = [
            get["conv1"], get["bn1"], Relu(), get["conv2"], get["bn2"], Relu(), MaxPool(),
            Residual(get["block.conv1"], get["block.bn1"], Relu(), get["block.conv2"], get["block.bn2"],
                     get["block.scale"]),
            get["dropout"], get["fc"],
        ]

    def forward(self, x, training=False):
        for layer in self.layers:
            x = layer.forward(x, training)
        return x

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)


# --- training ----------------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def load_digits():
    """Images [N, 1, 8, 8] in [0, 1] and labels, shuffled by a fixed seed."""
    from sklearn.datasets import load_digits as load

    digits = load()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    return (digits.images[order] / 16.0)[:, None], digits.target[order]


def shifted(random, images):
    """Each image moved by up to one pixel in both directions."""
    out = np.zeros_like(images)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for image, (dy, dx) in enumerate(random.integers(0, 3, (len(images), 2))):
        out[image] = padded[image, :, dy:dy + 8, dx:dx + 8]
    return out


def train(images, labels, epochs, report=print):
    """Adam with a cosine schedule and weight decay; returns the trained network."""
    random = np.random.default_rng(SEED)
    network = Network(random)
    slots = [(layer, name) for layer in network.named.values() for name in layer.parameters]
    first = [np.zeros_like(getattr(*slot)) for slot in slots]
    second = [np.zeros_like(getattr(*slot)) for slot in slots]
    batch, step = 32, 0
    total = epochs * (len(images) // batch)
    for epoch in range(epochs):
        order, loss = random.permutation(len(images)), 0.0
        for start in range(0, len(images) - batch + 1, batch):
            pick = order[start:start + batch]
            probabilities = softmax(network.forward(shifted(random, images[pick]), training=True))
            loss -= np.log(probabilities[np.arange(batch), labels[pick]]).mean()
            probabilities[np.arange(batch), labels[pick]] -= 1
            network.backward(probabilities / batch)
            step += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / total))
            for i, (layer, name) in enumerate(slots):
                grad = getattr(layer, name + "_grad")
                first[i] += 0.1 * (grad - first[i])
                second[i] += 0.001 * (grad**2 - second[i])
                update = first[i] / (1 - 0.9**step) / (np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8)
                decay = 0.02 if name == "weight" else 0.0
                setattr(layer, name, getattr(layer, name) - rate * (update + decay * getattr(layer, name)))
        report(f"epoch {epoch + 1:2d}  loss {loss / (len(images) // batch):.4f}")
    return network


# --- export ------------------------------------------------------------------------------------------


def export(network):
    """The trained network as an ONNX model in the form that exporters emit."""
    b = Builder("digits", SEED)
    x = b.input("image", ["batch", 1, 8, 8])
    x = b.op("Identity", x)
    x = conv_block(b, network, x, "conv1", "bn1")
    x = b.op("Relu", x, name="relu1/Relu")
    x = conv_block(b, network, x, "conv2", "bn2")
    x = b.op("Relu", x, name="relu2/Relu")
    x = b.op("MaxPool", x, name="pool/MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    x = residual(b, network, x)
    # A head that was written for channels-last data: the two transposes cancel.
    x = b.op("Transpose", x, perm=[0, 2, 3, 1])
    x = b.op("Transpose", x, perm=[0, 3, 1, 2])
    x = b.op("Dropout", x, b.constant(0.25), name="dropout/Dropout")
    # x.view (x.size (0), x.size (1), x.size (2) * x.size (3))
    sizes = [b.dim(x, axis) for axis in range(4)]
    x = b.reshape(x, sizes[0], sizes[1], b.op("Mul", sizes[2], sizes[3]))
    # The training loop asked for the batch size once more and never used it.
    b.dim(x, 0)
    fc = network.named["fc"]
    # The head flattens once more, and adds its bias apart from the product.
    x = b.reshape(x, -1, WIDE * 16)
    x = b.op("Gemm", x, b.weight("fc.weight", fc.weight), name="fc/Gemm", transB=1)
    x = b.op("Add", x, b.weight("fc.bias", fc.bias), name="fc/Add")
    x = b.op("Softmax", x, axis=1)
    b.output(x, "probabilities", ["batch", CLASSES])
    return b.model(producer="irscope", producer_version="make-digits.py",
                   doc="Handwritten digits, 8x8 grey pixels in [0, 1] to ten probabilities.")


def conv_block(b, network, x, conv, norm):
    weight = b.weight(f"{conv}.weight", network.named[conv].weight)
    x = b.op("Conv", x, weight, name=f"{conv}/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1],
             dilations=[1, 1], group=1)
    bn = network.named[norm]
    names = [b.weight(f"{norm}.{key}", array) for key, array in
             (("weight", bn.scale), ("bias", bn.bias), ("running_mean", bn.mean), ("running_var", bn.variance))]
    return b.op("BatchNormalization", x, *names, name=f"{norm}/BatchNormalization", epsilon=EPSILON)


def residual(b, network, x):
    shortcut = x
    with b.scope("block"):
        scale = network.named["block.scale"]
        part = Prefixed(network, "block.")
        x = conv_block(b, part, x, "conv1", "bn1")
        x = b.op("Relu", x, name="relu1/Relu")
        x = conv_block(b, part, x, "conv2", "bn2")
        gamma = b.op("Reshape", b.weight("scale.gamma", scale.gamma), b.ints(1, WIDE, 1, 1), name="scale/Reshape")
        x = b.op("Mul", x, gamma, name="scale/Mul")
        x = b.op("Add", x, b.weight("scale.beta", scale.beta.reshape(1, WIDE, 1, 1)), name="scale/Add")
        x = b.op("Add", x, shortcut)
        return b.op("Relu", x, name="relu2/Relu")


class Prefixed:
    """The layers of a network below one scope."""

    def __init__(self, network, prefix):
        self.named = {k[len(prefix):]: v for k, v in network.named.items() if k.startswith(prefix)}


def write_inputs(directory, images, labels, model):
    """The first held-out image of five classes, and what the model says about each."""
    entries = []
    for digit in (0, 2, 3, 7, 8):
        index = int(np.flatnonzero(labels == digit)[0])
        image = images[index:index + 1].astype(np.float32)
        name = f"digits-input-{digit}.npy"
        np.save(os.path.join(directory, name), image)
        probabilities = evaluate(model, {"image": image})["probabilities"][0]
        entries.append({"file": name, "label": digit, "predicted": int(probabilities.argmax()),
                        "probability": round(float(probabilities.max()), 6)})
    return entries


def write_untrained(directory, images, labels):
    """The network before training, and what it is trained and judged by."""
    os.makedirs(directory, exist_ok=True)
    model = export(Network(np.random.default_rng(SEED)))
    path = os.path.join(directory, "digits-untrained.onnx")
    onnx.write_model(model, path)
    halves = images.astype(np.float16)
    if not np.array_equal(halves.astype(float), images):
        sys.exit("make-digits: the images are not exact in float16")
    np.save(os.path.join(directory, "digits-images.npy"), halves)
    np.save(os.path.join(directory, "digits-labels.npy"), labels.astype(np.uint8))
    print(f"{len(labels)} images, the last {HELD_OUT} held out; {os.path.getsize(path)} bytes")


def main():
    parser = argparse.ArgumentParser(description="Train the bundled digits network.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples"))
    parser.add_argument("--untrained", action="store_true", help="write network and images, and train nothing")
    options = parser.parse_args()

    images, labels = load_digits()
    if options.untrained:
        write_untrained(options.out, images, labels)
        return
    network = train(images[:-HELD_OUT], labels[:-HELD_OUT], options.epochs)
    model = export(network)
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, "digits.onnx")
    onnx.write_model(model, path)

    # The accuracy is that of the written file, not of the network in memory.
    held_out = images[-HELD_OUT:].astype(np.float32)
    said = evaluate(onnx.read_model(path), {"image": held_out})["probabilities"]
    if not np.allclose(said, softmax(network.forward(held_out.astype(float))), rtol=1e-3, atol=1e-5):
        sys.exit("make-digits: the written model does not compute what was trained")
    correct = int((said.argmax(1) == labels[-HELD_OUT:]).sum())
    entries = write_inputs(options.out, images[-HELD_OUT:], labels[-HELD_OUT:], model)
    facts = {"model": "digits.onnx", "input": "image", "output": "probabilities", "seed": SEED,
             "epochs": options.epochs, "training_images": len(images) - HELD_OUT, "held_out_images": HELD_OUT,
             "held_out_correct": correct, "held_out_accuracy": round(correct / HELD_OUT, 4),
             "parameters": sum(a.size for a in model.graph.initializers.values()), "inputs": entries}
    with open(os.path.join(options.out, "digits.json"), "w") as file:
        json.dump(facts, file, indent=2)
        file.write("\n")
    print(f"held-out accuracy {correct}/{HELD_OUT} = {correct / HELD_OUT:.2%}, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
