"""Small networks of many families in the form that exporters emit, with seeded random weights.

What they are for is breadth: each has the operators and the idioms of its family, at sizes that a
test runs in moments. Every function returns (model, inputs).
"""

import numpy as np

import onnxproto as onnx
from builder import Builder
from nets import (Tokens, batch_norm, bert, classifier, encoder_layer, gelu_tanh, gpt2, he_conv, image_input, mobilenetv2,
                  resnet50)


def conv_bias(b, x, name, inputs, outputs, kernel=3, stride=1, groups=1, dilation=1):
    with b.scope(name):
        fan_in = inputs // groups * kernel * kernel
        weight = b.normal("weight", [outputs, inputs // groups, kernel, kernel], (2 / fan_in)**0.5)
        half = kernel // 2 * dilation
        return b.op("Conv", x, weight, b.normal("bias", [outputs], 0.1), dilations=[dilation] * 2, group=groups,
                    kernel_shape=[kernel] * 2, pads=[half] * 4, strides=[stride] * 2)


def silu(b, x):
    return b.op("Mul", x, b.op("Sigmoid", x))


def unet(size=32, width=16, seed=1):
    """Two levels down and up again, joined by Concat; the way up is a transposed convolution."""
    b = Builder("unet", seed)
    inputs = image_input(b, size, 1, False)

    def double(x, name, channels, outputs):
        for i, c in enumerate((channels, outputs)):
            x = b.op("Relu", batch_norm(b, he_conv(b, x, f"{name}.{i}", c, outputs, 3), f"{name}.bn{i}", outputs))
        return x

    first = double("input", "inc", 3, width)
    second = double(b.op("MaxPool", first, kernel_shape=[2, 2], strides=[2, 2]), "down1", width, width * 2)
    x = double(b.op("MaxPool", second, kernel_shape=[2, 2], strides=[2, 2]), "down2", width * 2, width * 4)
    for name, skip, channels in (("up1", second, width * 4), ("up2", first, width * 2)):
        half = channels // 2
        weight = b.normal(f"{name}.up.weight", [channels, half, 2, 2], (1 / channels)**0.5)
        x = b.op("ConvTranspose", x, weight, b.normal(f"{name}.up.bias", [half], 0.1), kernel_shape=[2, 2], strides=[2, 2])
        x = double(b.op("Concat", skip, x, axis=1), name, channels, half)
    b.output(b.op("Sigmoid", conv_bias(b, x, "outc", width, 2, 1)), "output", [1, 2, size, size])
    return b.model(), inputs


def recurrent(kind="LSTM", direction="bidirectional", seq=12, width=24, hidden=32, seed=2):
    """Two recurrent layers over [seq, batch, width], then a linear layer on the last step."""
    gates, ways = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], 2 if direction == "bidirectional" else 1
    b = Builder(kind.lower(), seed)
    b.input("input", [seq, 2, width])
    x = "input"
    for layer in range(2):
        rows = width if layer == 0 else ways * hidden
        more = {"linear_before_reset": 1} if kind == "GRU" else {}
        with b.scope(f"layer{layer}"):
            y = b.op(kind, x, b.normal("w", [ways, gates * hidden, rows], rows**-0.5),
                     b.normal("r", [ways, gates * hidden, hidden], hidden**-0.5),
                     b.normal("b", [ways, 2 * gates * hidden], 0.1), hidden_size=hidden, direction=direction, **more)
        x = b.reshape(b.op("Transpose", y, perm=[0, 2, 1, 3]), seq, 2, ways * hidden)
    last = b.op("Gather", x, b.constant(-1, np.int64), axis=0)
    b.output(b.op("Softmax", b.linear(last, ways * hidden, 10), axis=-1), "output", [2, 10])
    return b.model(), {"input": b.random.standard_normal((seq, 2, width), np.float32)}


def quantized(size=24, width=16, per_channel=True, seed=3):
    """Convolutions between QuantizeLinear and DequantizeLinear, as a quantizing exporter leaves them."""
    b = Builder("qdq", seed)
    inputs = image_input(b, size, 1, False)

    def around(x, scale, zero=0, kind=np.uint8):
        pair = b.constant(scale), b.constant(zero, kind)
        return b.op("DequantizeLinear", b.op("QuantizeLinear", x, *pair), *pair)

    def conv(x, name, channels, outputs, stride):
        with b.scope(name):
            n = outputs if per_channel else 1
            weight = b.weight("weight_q", b.random.integers(-127, 128, (outputs, channels, 3, 3)).astype(np.int8))
            scale = b.random.uniform(0.5, 1.5, n).astype(np.float32) * np.float32((2 / (9 * channels))**0.5 / 73)
            scale = b.weight("scale", scale if per_channel else scale[0])
            zero = b.weight("zero", np.zeros(n, np.int8) if per_channel else np.int8(0))
            weight = b.op("DequantizeLinear", weight, scale, zero, **({"axis": 0} if per_channel else {}))
            return b.op("Conv", x, weight, b.normal("bias", [outputs], 0.1), kernel_shape=[3, 3], pads=[1] * 4,
                        strides=[stride] * 2)

    x = around("input", 0.03, 128)
    for i, (channels, outputs, stride) in enumerate(((3, width, 1), (width, width * 2, 2), (width * 2, width * 2, 1))):
        x = around(b.op("Relu", conv(x, f"conv{i}", channels, outputs, stride)), 0.02)
    classifier(b, x, width * 2, 10, 1, False, softmax=True)
    return b.model(), inputs


def detector(size=32, width=16, classes=4, seed=4):
    """A head that decodes boxes on a grid, sorts them by score and keeps those that TopK and NMS leave."""
    b = Builder("detector", seed)
    inputs = image_input(b, size, 1, False)
    x = "input"
    for i, (channels, outputs) in enumerate(((3, width), (width, width * 2))):
        x = silu(b, batch_norm(b, he_conv(b, x, f"stem{i}", channels, outputs, 3, 2), f"bn{i}", outputs))
    pools = [x]
    for _ in range(3):
        pools.append(b.op("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    x = silu(b, batch_norm(b, he_conv(b, b.op("Concat", *pools, axis=1), "spp", width * 8, width * 2, 1), "sppbn", width * 2))
    cells = (size // 4)**2
    x = conv_bias(b, x, "head", width * 2, 4 + classes, 1)
    x = b.op("Transpose", b.reshape(x, 1, 4 + classes, cells), perm=[0, 2, 1])
    boxes, scores = b.op("Split", x, b.ints(4, classes), outputs=2, axis=2)
    grid = np.stack(np.meshgrid(np.arange(size // 4), np.arange(size // 4)), -1).reshape(1, cells, 2).astype(np.float32)
    centre, extent = b.op("Split", boxes, b.ints(2, 2), outputs=2, axis=2)
    centre = b.op("Mul", b.op("Add", b.op("Sigmoid", centre), b.weight("grid", grid)), b.constant(4.0))
    extent = b.op("Mul", b.op("Exp", b.op("Clip", extent, b.constant(-4.0), b.constant(2.0))), b.constant(8.0))
    half = b.op("Div", extent, b.constant(2.0))
    boxes = b.op("Concat", b.op("Sub", centre, half), b.op("Add", centre, half), axis=2)
    scores = b.op("Sigmoid", scores)
    chosen = b.op("NonMaxSuppression", boxes, b.op("Transpose", scores, perm=[0, 2, 1]), b.ints(5), b.constant([0.5]),
                  b.constant([0.3]))
    b.output(boxes, "boxes", [1, cells, 4])
    b.output(scores, "scores", [1, cells, classes])
    b.output(chosen, "chosen", ["n", 3], onnx.INT64)
    return b.model(), inputs


def squeeze_excite(size=32, width=16, seed=5):
    """Depthwise blocks with a gate per channel and hard swish, as in MobileNetV3 and EfficientNet."""
    b = Builder("se", seed)
    inputs = image_input(b, size, 1, False)
    x = b.op("HardSwish", batch_norm(b, he_conv(b, "input", "stem", 3, width, 3, 2), "bn", width))
    for i in range(3):
        with b.scope(f"block{i}"):
            y = silu(b, batch_norm(b, he_conv(b, x, "expand", width, width * 4, 1), "bn1", width * 4))
            y = silu(b, batch_norm(b, he_conv(b, y, "dw", width * 4, width * 4, 3, 1, width * 4), "bn2", width * 4))
            gate = b.op("ReduceMean", y, axes=[2, 3], keepdims=1)
            gate = b.op("Relu", conv_bias(b, gate, "fc1", width * 4, width, 1))
            y = b.op("Mul", y, b.op("HardSigmoid", conv_bias(b, gate, "fc2", width, width * 4, 1), alpha=1 / 6, beta=0.5))
            x = b.op("Add", x, batch_norm(b, he_conv(b, y, "project", width * 4, width, 1), "bn3", width))
    classifier(b, x, width, 10, 1, False, softmax=True)
    return b.model(), inputs


def densenet(size=32, growth=12, seed=6):
    """Layers that read all before them: BatchNormalization and Relu stand ahead of each convolution."""
    b = Builder("dense", seed)
    inputs = image_input(b, size, 1, False)
    x, channels = he_conv(b, "input", "conv0", 3, 2 * growth, 3), 2 * growth
    for block in range(2):
        for layer in range(4):
            with b.scope(f"block{block}.{layer}"):
                y = he_conv(b, b.op("Relu", batch_norm(b, x, "norm1", channels)), "conv1", channels, 4 * growth, 1)
                y = he_conv(b, b.op("Relu", batch_norm(b, y, "norm2", 4 * growth)), "conv2", 4 * growth, growth, 3)
            x, channels = b.op("Concat", x, y, axis=1), channels + growth
        x = b.op("Relu", batch_norm(b, x, f"trans{block}", channels))
        x = b.op("AveragePool", he_conv(b, x, f"pool{block}", channels, channels // 2, 1), kernel_shape=[2, 2], strides=[2, 2])
        channels //= 2
    classifier(b, x, channels, 10, 1, False, softmax=True)
    return b.model(), inputs


def shuffle(size=32, width=24, groups=3, seed=7):
    """Grouped convolutions with channels shuffled by Reshape, Transpose and Reshape."""
    b = Builder("shuffle", seed)
    inputs = image_input(b, size, 1, False)
    x, side = b.op("Relu", batch_norm(b, he_conv(b, "input", "stem", 3, width, 3, 2), "bn", width)), size // 2
    for i in range(3):
        with b.scope(f"unit{i}"):
            y = b.op("Relu", batch_norm(b, he_conv(b, x, "g1", width, width, 1, 1, groups), "bn1", width))
            y = b.op("Transpose", b.reshape(y, 1, groups, width // groups, side, side), perm=[0, 2, 1, 3, 4])
            y = b.reshape(y, 1, width, side, side)
            y = batch_norm(b, he_conv(b, y, "dw", width, width, 3, 1, width), "bn2", width)
            x = b.op("Relu", b.op("Add", x, batch_norm(b, he_conv(b, y, "g2", width, width, 1, 1, groups), "bn3", width)))
    classifier(b, x, width, 10, 1, False, softmax=False)
    return b.model(), inputs


def style(size=24, width=12, seed=8):
    """Reflected borders, instance normalization, and Resize on the way up."""
    b = Builder("style", seed)
    inputs = image_input(b, size, 1, False)
    x = b.op("Pad", "input", b.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
    for i, (channels, outputs) in enumerate(((3, width), (width, width), (width, width))):
        with b.scope(f"layer{i}"):
            weight = b.normal("weight", [outputs, channels, 3, 3], (2 / (9 * channels))**0.5)
            x = b.op("Conv", x, weight, b.normal("bias", [outputs], 0.1), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            x = b.op("InstanceNormalization", x, b.uniform("scale", [outputs], 0.5, 1.5), b.normal("shift", [outputs], 0.1))
            x = b.op("LeakyRelu", x, alpha=0.2)
    x = b.op("Resize", x, "", b.constant([1, 1, 2, 2]), mode="nearest", coordinate_transformation_mode="asymmetric",
             nearest_mode="floor")
    b.output(b.op("Tanh", conv_bias(b, x, "out", width, 3)), "output", [1, 3, 2 * size + 4, 2 * size + 4])
    return b.model(), inputs


def vision_transformer(size=32, patch=8, hidden=48, heads=4, layers=2, seed=9):
    """Patches by a strided convolution, a class token, and encoder layers."""
    b = Builder("vit", seed)
    inputs = image_input(b, size, 1, False)
    n = (size // patch)**2
    weight = b.normal("patch.weight", [hidden, 3, patch, patch], (3 * patch * patch)**-0.5)
    x = b.op("Conv", "input", weight, b.normal("patch.bias", [hidden], 0.1), kernel_shape=[patch] * 2, strides=[patch] * 2)
    x = b.op("Transpose", b.reshape(x, 1, hidden, n), perm=[0, 2, 1])
    x = b.op("Concat", b.normal("token", [1, 1, hidden], 0.1), x, axis=1)
    x = b.op("Add", x, b.normal("position", [1, n + 1, hidden], 0.1))
    for layer in range(layers):
        with b.scope(f"layer{layer}"):
            x = encoder_layer(b, x, Tokens(1, n + 1, False), hidden, heads, hidden * 4)
    b.output(b.linear(b.op("Gather", x, b.constant(0, np.int64), axis=1), hidden, 10), "output", [1, 10])
    return b.model(), inputs


def mixer(tokens=16, width=48, layers=3, seed=10):
    """Linear layers over tokens and over channels in turn, with the tanh form of GELU."""
    b = Builder("mixer", seed)
    b.input("input", [1, tokens, width])
    x = "input"
    for layer in range(layers):
        with b.scope(f"layer{layer}"):
            with b.scope("norm1"):
                y = b.op("Transpose", b.layer_norm(x, width), perm=[0, 2, 1])
            with b.scope("tokens"):
                x = b.op("Add", x, b.op("Transpose", gelu_tanh(b, b.linear(y, tokens, tokens)), perm=[0, 2, 1]))
            with b.scope("norm2"):
                y = b.layer_norm(x, width)
            with b.scope("channels"):
                x = b.op("Add", x, gelu_tanh(b, b.linear(y, width, width)))
    b.output(b.op("ReduceMean", x, axes=[1], keepdims=0), "output", [1, width])
    return b.model(), {"input": b.random.standard_normal((1, tokens, width), np.float32)}


def dilated(length=64, width=24, seed=11):
    """Causal convolutions over time with growing dilation, gated by Tanh and Sigmoid."""
    b = Builder("wavenet", seed)
    b.input("input", [1, width, length])
    x, skips = "input", None
    for layer in range(4):
        with b.scope(f"layer{layer}"):
            pad = 1 << layer

            def conv(name, value, kernel=2):
                with b.scope(name):
                    weight = b.normal("weight", [width, width, kernel], (1 / (kernel * width))**0.5)
                    return b.op("Conv", value, weight, b.normal("bias", [width], 0.1), dilations=[pad if kernel > 1 else 1],
                                kernel_shape=[kernel], pads=[pad if kernel > 1 else 0, 0])

            gated = b.op("Mul", b.op("Tanh", conv("filter", x)), b.op("Sigmoid", conv("gate", x)))
            y = conv("out", gated, 1)
            skips = y if skips is None else b.op("Add", skips, y)
            x = b.op("Add", x, y)
    b.output(b.op("Relu", skips), "output", [1, width, length])
    return b.model(), {"input": b.random.standard_normal((1, width, length), np.float32)}


def perceptron(rows=4, width=512, layers=4, seed=12):
    """Gemm after Gemm, normalized by BatchNormalization over columns."""
    b = Builder("mlp", seed)
    b.input("input", [rows, width])
    x = "input"
    for layer in range(layers):
        with b.scope(f"fc{layer}"):
            weight = b.normal("weight", [width, width], (2 / width)**0.5)
            x = b.op("Gemm", x, weight, b.normal("bias", [width], 0.1), alpha=1.0, beta=1.0, transB=1)
            x = b.op("Relu", batch_norm(b, x, "bn", width))
    b.output(x, "output", [rows, width])
    return b.model(), {"input": b.random.standard_normal((rows, width), np.float32)}


# Families at sizes of moments: those of nets.py are made small.
FAMILIES = {
    "resnet": lambda: resnet50(size=32, width=16, layers=2, classes=10),
    "resnet-wide": lambda: resnet50(size=32, width=32, layers=1, classes=10),
    "mobilenet": lambda: mobilenetv2(size=48, width=16, layers=2, classes=10),
    "bert": lambda: bert(layers=2, hidden=64, heads=4, vocab=100, positions=32, seq=16, symbolic=False),
    "bert-symbolic": lambda: bert(layers=2, hidden=96, heads=4, vocab=100, positions=32, seq=24),
    "gpt2": lambda: gpt2(layers=2, hidden=64, heads=4, vocab=200, positions=32, seq=16, symbolic=False),
    "gpt2-arithmetic": lambda: gpt2(layers=2, hidden=96, heads=4, vocab=200, positions=32, seq=24, causal="arithmetic"),
    "unet": unet,
    "lstm": recurrent,
    "lstm-forward": lambda: recurrent(direction="forward", hidden=64),
    "gru": lambda: recurrent("GRU"),
    "rnn": lambda: recurrent("RNN", direction="reverse"),
    "qdq": quantized,
    "qdq-per-tensor": lambda: quantized(per_channel=False),
    "detector": detector,
    "squeeze-excite": squeeze_excite,
    "densenet": densenet,
    "shufflenet": shuffle,
    "style": style,
    "vit": vision_transformer,
    "mixer": mixer,
    "wavenet": dilated,
    "mlp": perceptron,
}
