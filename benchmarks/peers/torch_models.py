"""The models of the suite `models` in PyTorch, as functions of their inputs: weights are taken one after the other in the order of the workload."""
import torch
import torch.nn.functional as F


class Weights:
    """Hands out what was given, one after the other, in the shapes that are asked for."""

    def __init__(self, values):
        self.values = iter(values)

    def take(self, *shape):
        return next(self.values).reshape(shape)

    def linear(self, inputs, outputs):
        weight, bias = self.take(outputs, inputs), self.take(outputs)
        return lambda x: F.linear(x, weight, bias)

    def norm(self, width, epsilon):
        weight, bias = self.take(width), self.take(width)
        return lambda x: F.layer_norm(x, (width,), weight, bias, epsilon)

    def convolution(self, inputs, outputs, kernel, stride=1, groups=1):
        """A convolution and a norm by the statistics of images before."""
        weight = self.take(outputs, inputs // groups, kernel, kernel)
        factor, term, mean, variance = (self.take(outputs) for _ in range(4))
        pad = (kernel - 1) // 2
        return lambda x: F.batch_norm(
            F.conv2d(x, weight, None, stride, pad, 1, groups), mean, variance, factor, term, False, 0.0, 1e-5
        )


def attend(q, k, v, causal=False):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if causal:
        scores = scores + torch.full((q.shape[-2], k.shape[-2]), float("-inf"), device=q.device).triu(1)
    return torch.softmax(scores, -1) @ v


def in_heads(parts, heads):
    return [part.unflatten(-1, (heads, part.shape[-1] // heads)).transpose(1, 2) for part in parts.chunk(3, -1)]


def joined(mixed):
    return mixed.transpose(1, 2).flatten(-2)


def gpt2_layer(w, width, heads):
    first, into, out = w.norm(width, 1e-5), w.linear(width, 3 * width), w.linear(width, width)
    second, up, down = w.norm(width, 1e-5), w.linear(width, 4 * width), w.linear(4 * width, width)

    def run(x, cache=None):
        q, k, v = in_heads(into(first(x)), heads)
        if cache is None:
            mixed = attend(q, k, v, True)
        else:
            for rows, fresh in zip(cache, (k, v)):
                rows[:, :, -1:] = fresh
            mixed = attend(q, *cache)
        x = x + out(joined(mixed))
        return x + down(F.gelu(up(second(x)), approximate="tanh"))

    return run


def encoder_layer(w, width, heads, norm_first, epsilon):
    into, out = w.linear(width, 3 * width), w.linear(width, width)
    up, down = w.linear(width, 4 * width), w.linear(4 * width, width)
    first, second = w.norm(width, epsilon), w.norm(width, epsilon)

    def attended(x):
        return out(joined(attend(*in_heads(into(x), heads))))

    def run(x):
        if norm_first:
            x = x + attended(first(x))
            return x + down(F.gelu(up(second(x))))
        x = first(x + attended(x))
        return second(x + down(F.gelu(up(x))))

    return run


def gpt2(p, w):
    width, length, cached = p["width"], p["length"], p.get("cached", 0)
    words, places = w.take(p["vocabulary"], width), w.take(p["positions"], width)
    layers = [gpt2_layer(w, width, p["heads"]) for _ in range(p["layers"])]
    last = w.norm(width, 1e-5)
    own_places = torch.arange(cached, cached + length)

    def run(tokens, *caches):
        x = F.embedding(tokens, words) + F.embedding(own_places, places)
        for i, layer in enumerate(layers):
            x = layer(x, caches[2 * i : 2 * i + 2] or None)
        return F.linear(last(x), words)

    cache = [1, p["heads"], cached + 1, width // p["heads"]]
    return [[1, length]] + [cache] * (2 * p["layers"] if cached else 0), run


def gpt2_block(p, w):
    return [[1, p["length"], p["width"]]], gpt2_layer(w, p["width"], p["heads"])


def bert(p, w):
    width, length = p["width"], p["length"]
    words, places, kinds = (w.take(rows, width) for rows in (p["vocabulary"], p["positions"], 2))
    norm = w.norm(width, 1e-12)
    layers = [encoder_layer(w, width, p["heads"], False, 1e-12) for _ in range(p["layers"])]
    own_places, kind = torch.arange(length), torch.zeros(1, dtype=torch.int64)

    def run(tokens):
        x = norm(F.embedding(tokens, words) + F.embedding(own_places, places) + F.embedding(kind, kinds))
        for layer in layers:
            x = layer(x)
        return x

    return [[1, length]], run


def whisper(p, w):
    width, frames, channels = p["width"], p["frames"], p["channels"]
    positions = w.take(frames // 2, width)
    first = [w.take(width, channels, 3), w.take(width)]
    second = [w.take(width, width, 3), w.take(width)]
    layers = [encoder_layer(w, width, p["heads"], True, 1e-5) for _ in range(p["layers"])]
    norm = w.norm(width, 1e-5)

    def run(spectrogram):
        made = F.gelu(F.conv1d(F.gelu(F.conv1d(spectrogram, *first, 1, 1)), *second, 2, 1))
        x = made.transpose(1, 2) + positions
        for layer in layers:
            x = layer(x)
        return norm(x)

    return [[1, channels, frames]], run


def classifier(p, w, channels, features):
    classes = w.linear(channels, p["classes"])
    return [[p["batch"], 3, p["side"], p["side"]]], lambda images: classes(features(images).mean((2, 3)))


def resnet50(p, w):
    stem = w.convolution(3, 64, 7, 2)
    blocks, channels = [], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        inner, outer = 64 << stage, 256 << stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            narrow, window = w.convolution(channels, inner, 1), w.convolution(inner, inner, 3, stride)
            widen = w.convolution(inner, outer, 1)
            shortcut = w.convolution(channels, outer, 1, stride) if block == 0 else None
            blocks.append((narrow, window, widen, shortcut))
            channels = outer

    def features(images):
        x = F.max_pool2d(F.relu(stem(images)), 3, 2, 1)
        for narrow, window, widen, shortcut in blocks:
            made = widen(F.relu(window(F.relu(narrow(x)))))
            x = F.relu(made + (x if shortcut is None else shortcut(x)))
        return x

    return classifier(p, w, channels, features)


MOBILE_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobile_net_v2(p, w):
    stem = w.convolution(3, 32, 3, 2)
    blocks, inputs = [], 32
    for factor, outputs, count, first in MOBILE_STAGES:
        for block in range(count):
            inner, stride = inputs * factor, first if block == 0 else 1
            widen = None if factor == 1 else w.convolution(inputs, inner, 1)
            window, narrow = w.convolution(inner, inner, 3, stride, inner), w.convolution(inner, outputs, 1)
            blocks.append((widen, window, narrow, stride == 1 and inputs == outputs))
            inputs = outputs
    last = w.convolution(inputs, 1280, 1)

    def features(images):
        x = F.relu6(stem(images))
        for widen, window, narrow, is_residual in blocks:
            wide = x if widen is None else F.relu6(widen(x))
            made = narrow(F.relu6(window(wide)))
            x = x + made if is_residual else made
        return F.relu6(last(x))

    return classifier(p, w, 1280, features)


def lstm(p, w):
    layers, width = p["layers"], p["width"]
    module = torch.nn.LSTM(width, width, layers).eval().requires_grad_(False)
    state = {name: w.take(*value.shape) for name, value in module.state_dict().items()}
    module.load_state_dict(state)
    return [[p["length"], p["batch"], width]], lambda x: module(x)[0]


MODELS = {
    "gpt2": gpt2,
    "gpt2Block": gpt2_block,
    "bert": bert,
    "whisper": whisper,
    "resnet50": resnet50,
    "mobileNetV2": mobile_net_v2,
    "lstm": lstm,
}


def model_of(request, values):
    """Its inputs and a function of them."""
    op, p = request["op"], request["params"]
    # The weights come behind the inputs, of which only a cache makes more than one.
    count = 1 + (2 * p["layers"] if p.get("cached", 0) else 0)
    shapes, function = MODELS[op](p, Weights(values[count:]))
    inputs = [value.reshape(shape) for value, shape in zip(values, shapes)]
    if op in ("gpt2", "bert"):
        inputs[0] = inputs[0].floor().long()
    return inputs, function
