"""The four reference networks in the decomposed form that exporters emit, with seeded random weights.

Weights are He-normal (standard deviation sqrt (2 / fan in)); batch normalizations have variances and
scales in [0.5, 2].  Every function returns (model, inputs), where inputs maps names to arrays that
suit them.  `dims` set to None means symbolic dimensions, else the model is static at that shape.
"""

import numpy as np

import onnxproto as onnx
from builder import Builder


def he_conv(b, x, name, inputs, outputs, kernel, stride=1, groups=1, gain=2.0):
    """A convolution without bias, its padding keeping the size at stride 1."""
    with b.scope(name):
        fan_in = inputs // groups * kernel * kernel
        weight = b.normal("weight", [outputs, inputs // groups, kernel, kernel], (gain / fan_in)**0.5)
        half = kernel // 2
        return b.op("Conv", x, weight, dilations=[1, 1], group=groups, kernel_shape=[kernel, kernel],
                    pads=[half] * 4, strides=[stride, stride])


def norm_statistics(random, channels):
    """Scale and variance, both within [0.5, 2].

    The scale follows the deviation: drawn independently, the two would make the signal grow 1.6 times
    per layer, which drowns a deep network in its own size.
    """
    variance = random.uniform(0.5, 2.0, channels)
    scale = np.sqrt(variance) * random.uniform(0.75, 1.25, channels)
    return scale.astype(np.float32), variance.astype(np.float32)


def batch_norm(b, x, name, channels):
    scale, variance = norm_statistics(b.random, channels)
    with b.scope(name):
        return b.op("BatchNormalization", x, b.weight("weight", scale), b.normal("bias", [channels], 0.2),
                    b.normal("running_mean", [channels], 0.2), b.weight("running_var", variance),
                    epsilon=1e-5, momentum=0.9)


def image_input(b, size, batch, symbolic):
    b.input("input", ["batch" if symbolic else batch, 3, size, size])
    return {"input": b.random.standard_normal((batch, 3, size, size), np.float32)}


def classifier(b, x, channels, classes, batch, symbolic, softmax):
    """Pooling, one linear layer and the graph output; small weights keep a Softmax from saturating."""
    x = b.op("Flatten", b.op("GlobalAveragePool", x), axis=1)
    with b.scope("fc"):
        weight = b.normal("weight", [classes, channels], (0.25 if softmax else 1.0) * channels**-0.5)
        x = b.op("Gemm", x, weight, b.normal("bias", [classes], 0.1), alpha=1.0, beta=1.0, transB=1)
    if softmax:
        x = b.op("Softmax", x, axis=-1)
    b.output(x, "output", ["batch" if symbolic else batch, classes])


# --- ResNet-50 ---------------------------------------------------------------------------------------


def resnet50(size=224, width=64, layers=None, classes=1000, batch=1, symbolic=False, seed=50):
    """ResNet-50 with a Softmax: 176 nodes, of them 53 Conv, 53 BatchNormalization, 49 Relu and 16 Add.

    layers limits the blocks per stage; width is the channel count of the first stage.
    """
    b = Builder("resnet50", seed)
    inputs = image_input(b, size, batch, symbolic)
    x = b.op("Relu", batch_norm(b, he_conv(b, "input", "conv1", 3, width, 7, 2), "bn1", width), name="relu/Relu")
    x = b.op("MaxPool", x, name="maxpool/MaxPool", ceil_mode=0, dilations=[1, 1], kernel_shape=[3, 3],
             pads=[1, 1, 1, 1], strides=[2, 2])
    channels = width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(min(blocks, layers or blocks)):
            with b.scope(f"layer{stage + 1}"), b.scope(f"layer{stage + 1}.{block}"):
                x = bottleneck(b, x, channels, width << stage, 2 if stage and not block else 1)
            channels = width * 4 << stage
    classifier(b, x, channels, classes, batch, symbolic, softmax=True)
    return b.model(), inputs


def bottleneck(b, x, inputs, width, stride):
    """1x1, 3x3 and 1x1 convolutions around a shortcut; the stride sits on the 3x3, as in torchvision."""
    y = b.op("Relu", batch_norm(b, he_conv(b, x, "conv1", inputs, width, 1), "bn1", width), name="relu/Relu")
    y = b.op("Relu", batch_norm(b, he_conv(b, y, "conv2", width, width, 3, stride), "bn2", width), name="relu/Relu")
    y = batch_norm(b, he_conv(b, y, "conv3", width, width * 4, 1, gain=0.5), "bn3", width * 4)
    if inputs != width * 4 or stride != 1:
        with b.scope("downsample"):
            x = batch_norm(b, he_conv(b, x, "downsample.0", inputs, width * 4, 1, stride, gain=1.0),
                           "downsample.1", width * 4)
    return b.op("Relu", b.op("Add", y, x), name="relu/Relu")


# --- MobileNetV2 -------------------------------------------------------------------------------------


def mobilenetv2(size=224, width=32, layers=None, classes=1000, batch=1, symbolic=False, seed=52):
    """MobileNetV2: inverted residuals with depthwise convolutions and Relu6 as Clip.

    layers limits the repeats per stage; width is the channel count of the stem (32 in the paper).
    """
    def scaled(channels):
        return max(8, channels * width // 32 // 8 * 8)

    b = Builder("mobilenetv2", seed)
    inputs = image_input(b, size, batch, symbolic)
    with b.scope("features"):
        x = relu6(b, batch_norm(b, he_conv(b, "input", "0.0", 3, scaled(32), 3, 2), "0.1", scaled(32)))
        channels, index = scaled(32), 1
        for expand, outputs, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                 (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for repeat in range(min(repeats, layers or repeats)):
                with b.scope(f"features.{index}"):
                    x = inverted_residual(b, x, channels, scaled(outputs), 1 if repeat else stride, expand)
                channels, index = scaled(outputs), index + 1
        last = max(scaled(1280), 64)
        x = relu6(b, batch_norm(b, he_conv(b, x, f"{index}.0", channels, last, 1), f"{index}.1", last))
    classifier(b, x, last, classes, batch, symbolic, softmax=False)
    return b.model(), inputs


def relu6(b, x):
    return b.op("Clip", x, b.constant(0.0), b.constant(6.0))


def inverted_residual(b, x, inputs, outputs, stride, expand):
    shortcut, hidden = x, inputs * expand
    with b.scope("conv"):
        if expand != 1:
            x = relu6(b, batch_norm(b, he_conv(b, x, "conv.0.0", inputs, hidden, 1), "conv.0.1", hidden))
        x = relu6(b, batch_norm(b, he_conv(b, x, "conv.1.0", hidden, hidden, 3, stride, hidden), "conv.1.1", hidden))
        x = batch_norm(b, he_conv(b, x, "conv.2", hidden, outputs, 1, gain=1.0), "conv.3", outputs)
    return b.op("Add", shortcut, x) if stride == 1 and inputs == outputs else x


# --- transformers ------------------------------------------------------------------------------------


class Tokens:
    """The token dimensions of a transformer: numbers, or symbols with the sizes to try them at."""

    def __init__(self, batch, seq, symbolic):
        self.batch, self.seq, self.symbolic = batch, seq, symbolic
        self.shape = ["batch", "sequence"] if symbolic else [batch, seq]

    def dims(self, b, x):
        """Batch and sequence of x for a Reshape: computed from the shape where they are symbols."""
        return [b.dim(x, 0), b.dim(x, 1)] if self.symbolic else [self.batch, self.seq]


def split_heads(b, x, tokens, heads, width, perm):
    """[batch, seq, heads * width] to four axes, then transposed."""
    return b.op("Transpose", b.reshape(x, *tokens.dims(b, x), heads, width), perm=perm)


def merge_heads(b, x, tokens, heads, width):
    x = b.op("Transpose", x, perm=[0, 2, 1, 3])
    return b.reshape(x, *tokens.dims(b, x), heads * width)


def gelu_erf(b, x):
    """x / 2 * (1 + erf (x / sqrt 2)), in five nodes."""
    y = b.op("Add", b.op("Erf", b.op("Div", x, b.constant(2**0.5))), b.constant(1.0))
    return b.op("Mul", b.op("Mul", x, y), b.constant(0.5))


def gelu_tanh(b, x):
    """The tanh approximation with x^3 by Pow, in eight nodes."""
    cube = b.op("Mul", b.op("Pow", x, b.constant(3.0)), b.constant(0.044715))
    y = b.op("Tanh", b.op("Mul", b.op("Add", x, cube), b.constant((2 / np.pi)**0.5)))
    return b.op("Mul", b.op("Mul", x, b.constant(0.5)), b.op("Add", y, b.constant(1.0)))


def encoder_layer(b, x, tokens, hidden, heads, inner, mask=None):
    """One BERT encoder layer: self-attention and feed-forward, each followed by Add and LayerNorm."""
    width = hidden // heads
    with b.scope("attention"):
        with b.scope("self"):
            parts = {}
            for name, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
                with b.scope(name):
                    y = b.linear(x, hidden, hidden)
                parts[name] = split_heads(b, y, tokens, heads, width, perm)
            scores = b.op("MatMul", parts["query"], parts["key"])
            scores = b.op("Div", scores, b.constant(width**0.5))
            scores = scores if mask is None else b.op("Add", scores, mask)
            y = b.op("MatMul", b.op("Softmax", scores, axis=-1), parts["value"])
            y = merge_heads(b, y, tokens, heads, width)
        with b.scope("output"):
            with b.scope("dense"):
                y = b.linear(y, hidden, hidden)
            y = b.op("Add", y, x)
            with b.scope("LayerNorm"):
                x = b.layer_norm(y, hidden, 1e-12)
    with b.scope("intermediate"):
        with b.scope("dense"):
            y = b.linear(x, hidden, inner)
        with b.scope("intermediate_act_fn"):
            y = gelu_erf(b, y)
    with b.scope("output"):
        with b.scope("dense"):
            y = b.linear(y, inner, hidden)
        y = b.op("Add", y, x)
        with b.scope("LayerNorm"):
            return b.layer_norm(y, hidden, 1e-12)


def bert(layers=12, hidden=768, heads=12, vocab=30522, positions=512, batch=1, seq=128, symbolic=True, seed=110):
    """A BERT encoder with embeddings, an attention mask and a pooler (BERT-base by default)."""
    b = Builder("bert", seed)
    tokens = Tokens(batch, seq, symbolic)
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        b.input(name, tokens.shape, onnx.INT64)
    mask = np.ones((batch, seq), np.int64)
    mask[:, seq - seq // 8:] = 0
    inputs = {"input_ids": b.random.integers(0, vocab, (batch, seq)), "attention_mask": mask,
              "token_type_ids": (np.arange(seq) >= seq // 2).astype(np.int64)[None].repeat(batch, 0)}

    with b.scope("embeddings"):
        x = bert_embeddings(b, tokens, hidden, vocab, positions)
    # (1 - mask) * -10000, broadcast over heads and queries.
    extended = b.op("Unsqueeze", b.op("Unsqueeze", "attention_mask", b.ints(1)), b.ints(2))
    extended = b.op("Sub", b.constant(1.0), b.op("Cast", extended, to=onnx.FLOAT))
    # Masked places are chosen by Where, as newer exporters write it.
    masked = b.op("Cast", extended, to=onnx.BOOL)
    mask = b.op("Where", masked, b.constant(-10000.0), b.op("Mul", extended, b.constant(-10000.0)))
    with b.scope("encoder"):
        for layer in range(layers):
            with b.scope(f"layer.{layer}"):
                x = encoder_layer(b, x, tokens, hidden, heads, hidden * 4, mask)
    with b.scope("pooler"):
        first = b.op("Gather", x, b.constant(0, np.int64), axis=1)
        with b.scope("dense"):
            weight = b.normal("weight", [hidden, hidden], hidden**-0.5)
            first = b.op("Gemm", first, weight, b.normal("bias", [hidden], 0.02), alpha=1.0, beta=1.0, transB=1)
        pooled = b.op("Tanh", first)
    b.output(x, "last_hidden_state", tokens.shape + [hidden])
    b.output(pooled, "pooler_output", [tokens.shape[0], hidden])
    return b.model(), inputs


def bert_embeddings(b, tokens, hidden, vocab, positions):
    words = b.op("Gather", b.normal("word_embeddings.weight", [vocab, hidden], 0.5), "input_ids", axis=0)
    types = b.op("Gather", b.normal("token_type_embeddings.weight", [2, hidden], 0.5), "token_type_ids", axis=0)
    ids = b.weight("position_ids", np.arange(positions, dtype=np.int64)[None])
    table = b.normal("position_embeddings.weight", [positions, hidden], 0.5)
    end = b.op("Unsqueeze", b.dim("input_ids", 1), b.ints(0)) if tokens.symbolic else b.ints(tokens.seq)
    used = b.op("Slice", ids, b.ints(0), end, b.ints(1), b.ints(1))
    x = b.op("Add", b.op("Add", words, types), b.op("Gather", table, used, axis=0))
    with b.scope("LayerNorm"):
        return b.layer_norm(x, hidden, 1e-12)


def gpt2(layers=12, hidden=768, heads=12, vocab=50257, positions=1024, batch=1, seq=64, symbolic=True, seed=117,
         causal="where"):
    """A GPT-2 decoder stack with learned positions and logits tied to the token embedding.

    causal chooses the mask: "where" selects by a sliced constant triangle, "arithmetic" multiplies and
    subtracts it, as older exporters do.  Projections alternate between MatMul with Add and a Gemm
    between two Reshapes (the Conv1D of the original).
    """
    b = Builder("gpt2", seed)
    tokens = Tokens(batch, seq, symbolic)
    b.input("input_ids", tokens.shape, onnx.INT64)
    inputs = {"input_ids": b.random.integers(0, vocab, (batch, seq))}
    with b.scope("transformer"):
        table = b.normal("wte.weight", [vocab, hidden], 0.3)
        x = b.op("Gather", table, "input_ids", axis=0)
        end = b.dim("input_ids", 1) if tokens.symbolic else b.constant(seq, np.int64)
        steps = b.op("Range", b.constant(0, np.int64), end, b.constant(1, np.int64))
        steps = b.op("Unsqueeze", steps, b.ints(0))
        x = b.op("Add", x, b.op("Gather", b.normal("wpe.weight", [positions, hidden], 0.1), steps, axis=0))
        for layer in range(layers):
            with b.scope(f"h.{layer}"):
                x = decoder_layer(b, x, tokens, hidden, heads, positions, causal)
        with b.scope("ln_f"):
            x = b.layer_norm(x, hidden)
    with b.scope("lm_head"):
        logits = b.op("MatMul", x, b.op("Transpose", table, perm=[1, 0]))
    b.output(logits, "logits", tokens.shape + [vocab])
    return b.model(), inputs


def conv1d(b, x, tokens, rows, columns):
    """GPT-2's projection: flatten to a matrix, Gemm, and back to three axes."""
    dims = tokens.dims(b, x)
    flat = b.reshape(x, -1, rows)
    weight = b.normal("weight", [rows, columns], rows**-0.5)
    y = b.op("Gemm", flat, weight, b.normal("bias", [columns], 0.02), alpha=1.0, beta=1.0)
    return b.reshape(y, *dims, columns)


def causal_scores(b, scores, query, positions, form):
    """Hides the future: the triangle [1, 1, positions, positions] is sliced to the used part."""
    triangle = np.tril(np.ones((positions, positions), bool))[None, None]
    if form == "arithmetic":
        triangle = triangle.astype(np.float32)
    bias = b.weight("bias", triangle)
    length = b.op("Unsqueeze", b.dim(query, 2), b.ints(0))
    part = b.op("Slice", bias, b.ints(0), length, b.ints(2), b.ints(1))
    part = b.op("Slice", part, b.ints(0), length, b.ints(3), b.ints(1))
    if form == "where":
        return b.op("Where", part, scores, b.constant(-1e9))
    hidden = b.op("Mul", b.op("Sub", b.constant(1.0), part), b.constant(1e4))
    return b.op("Sub", b.op("Mul", scores, part), hidden)


def decoder_layer(b, x, tokens, hidden, heads, positions, causal):
    width = hidden // heads
    with b.scope("ln_1"):
        y = b.layer_norm(x, hidden)
    with b.scope("attn"):
        with b.scope("c_attn"):
            y = conv1d(b, y, tokens, hidden, 3 * hidden)
        parts = b.op("Split", y, b.ints(hidden, hidden, hidden), outputs=3, axis=2)
        query = split_heads(b, parts[0], tokens, heads, width, [0, 2, 1, 3])
        key = split_heads(b, parts[1], tokens, heads, width, [0, 2, 3, 1])
        value = split_heads(b, parts[2], tokens, heads, width, [0, 2, 1, 3])
        scores = b.op("Div", b.op("MatMul", query, key), b.constant(width**0.5))
        scores = causal_scores(b, scores, query, positions, causal)
        y = b.op("MatMul", b.op("Softmax", scores, axis=-1), value)
        y = merge_heads(b, y, tokens, heads, width)
        with b.scope("c_proj"):
            y = b.linear(y, hidden, hidden)
    x = b.op("Add", y, x)
    with b.scope("ln_2"):
        y = b.layer_norm(x, hidden)
    with b.scope("mlp"):
        with b.scope("c_fc"):
            y = conv1d(b, y, tokens, hidden, 4 * hidden)
        with b.scope("act"):
            y = gelu_tanh(b, y)
        with b.scope("c_proj"):
            y = b.linear(y, 4 * hidden, hidden)
    return b.op("Add", x, y)


NETS = {"resnet50": resnet50, "mobilenetv2": mobilenetv2, "bert-base": bert, "gpt2": gpt2}
