"""PyTorch: eager, with the argument `jit` traced, frozen and optimised for inference, with `compile` through torch.compile;
on the CPU, or with the argument `cuda` on the first CUDA device, where every call is waited for."""
import sys

import torch
import torch.nn.functional as F

from serve import inputs_of, serve
from torch_models import MODELS, model_of

JIT = "jit" in sys.argv[1:]
COMPILE = "compile" in sys.argv[1:]
DEVICE = "cuda" if "cuda" in sys.argv[1:] else "cpu"


def normalised(columns):
    return lambda x, gamma, beta: F.layer_norm(x, (columns,), gamma, beta, 1e-5)


def convolution_shapes(p):
    space = [p["height"], p["width"]] if p["dims"] == 2 else [p["width"]]
    kernel = [p["kernel"]] * p["dims"]
    return [
        [p["batch"], p["channels"], *space],
        [p["outputs"], p["channels"] // p["groups"], *kernel],
        [p["outputs"]],
    ]


def convolution(p):
    conv = F.conv2d if p["dims"] == 2 else F.conv1d
    return lambda x, w, b: conv(x, w, b, p["stride"], p["padding"], 1, p["groups"])


def attention(p):
    if hasattr(F, "scaled_dot_product_attention"):
        return lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=p["causal"] == 1)[0]
    # Versions before 2.0 have none: as their users spell it.
    length, scale = p["length"], p["width"] ** -0.5
    mask = torch.full((length, length), float("-inf"), device=DEVICE).triu(1)

    def spelt(q, k, v):
        scores = torch.bmm(q * scale, k.transpose(-1, -2))
        return torch.bmm(torch.softmax(scores + mask if p["causal"] == 1 else scores, -1), v)

    return spelt


def product_shapes(p):
    batch = [p["batch"]] if p["batch"] > 1 else []
    a = [p["k"], p["m"]] if p["turnA"] else [p["m"], p["k"]]
    b = [p["n"], p["k"]] if p["turnB"] else [p["k"], p["n"]]
    return [batch + a, batch + b]


def product(p):
    def turned(x, is_turned):
        return x.transpose(-1, -2) if is_turned else x

    return product_shapes(p), lambda a, b: turned(a, p["turnA"]) @ turned(b, p["turnB"])


GROUP = 32


def product_int4(p):
    n, k = p["n"], p["k"]

    def unpacked(x, packed, scale):
        halves = torch.stack([packed & 15, packed >> 4], -1).reshape(n, k // GROUP, GROUP)
        return x @ ((halves.float() - 8) * scale.unsqueeze(-1)).reshape(n, k).t()

    return [[p["m"], k], [n, k // 2], [n, k // GROUP]], unpacked


# Operation -> (shapes of the inputs, function).
OPERATIONS = {
    "add": lambda p: ([[p["n"]]] * 2, lambda x, z: x + z),
    "sumOfAll": lambda p: ([[p["n"]]] * p["count"], lambda *xs: sum(xs[1:], xs[0])),
    "multiples": lambda p: ([[p["n"]]], lambda x: tuple(x * (i + 2) for i in range(p["count"]))),
    "geluSigmoid": lambda p: ([[p["n"]]] * 2, lambda x, z: F.gelu(x * 1.25 + 0.5) * torch.sigmoid(z)),
    "softmax": lambda p: ([[p["rows"], p["columns"]]], lambda x: torch.softmax(x, -1)),
    "layerNorm": lambda p: (
        [[p["rows"], p["columns"]], [p["columns"]], [p["columns"]]],
        normalised(p["columns"]),
    ),
    "sumRows": lambda p: ([[p["rows"], p["columns"]]], lambda x: x.sum(1)),
    "sumColumns": lambda p: ([[p["rows"], p["columns"]]], lambda x: x.sum(0)),
    "transposeAdd": lambda p: ([[p["side"], p["side"]]] * 2, lambda a, b: a.T + b),
    "conv": lambda p: (convolution_shapes(p), convolution(p)),
    "attention": lambda p: ([[p["heads"], p["length"], p["width"]]] * 3, attention(p)),
    "matmul": lambda p: ([[p["m"], p["k"]], [p["k"], p["n"]]], lambda a, b: a @ b),
    "product": product,
    "productF64": product,
    "productBf16": product,
    "productInt8": lambda p: (
        [[p["m"], p["k"]], [p["k"], p["n"]], [p["n"]]],
        lambda x, w, scale: x @ (w.float() * scale),
    ),
    "productInt4": product_int4,
}


def matrices(count):
    return lambda p: [[p["rows"], p["columns"]]] * count


def with_rows(p):
    return [[p["rows"], p["columns"]], [p["rows"]]]


def vectors(count):
    return lambda p: [[p["n"]]] * count


def layer_norm_backward(g, x):
    columns = (x.shape[1],)
    mean = x.mean(-1, True)
    rstd = torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
    return torch.ops.aten.native_layer_norm_backward(g, x, columns, mean, rstd, None, None, [True, False, False])[0]


def black_scholes(s, k, t):
    scale = t.sqrt() * 0.3
    d1 = ((s / k).log() + t * 0.065) / scale
    cdf = lambda x: (torch.erf(x * 0.5**0.5) + 1) * 0.5
    return s * cdf(d1) - k * torch.exp(t * -0.02) * cdf(d1 - scale)


def iterate(a, b):
    x, y = a, b
    for _ in range(8):
        x, y = x * x - y * y + a, x * y * 2 + b
    return x * x + y * y


def rms_norm_backward(g, x, gamma):
    scale = torch.rsqrt((x * x).mean(-1, True) + 1e-6)
    weighted = g * gamma
    return (weighted - x * (weighted * x).mean(-1, True) * scale * scale) * scale


def rotary(x, cosine, sine):
    low, high = x.chunk(2, -1)
    return torch.cat([low * cosine - high * sine, high * cosine + low * sine], -1)


def adam(p, g, m, v):
    first = m * 0.9 + g * 0.1
    second = v * 0.999 + g * g * 0.001
    return [p - first * 0.001 / (second.sqrt() + 1e-8), first, second]


def permuted(names, order):
    return lambda p: [[p[name] for name in names]], lambda x: x.permute(order).contiguous()


# The memory-bound suite: operation -> (shapes of the inputs, function).
MEMORY_BOUND = {
    "rmsNorm": (
        lambda p: [[p["rows"], p["columns"]], [p["columns"]]],
        lambda x, gamma: x * torch.rsqrt((x * x).mean(-1, True) + 1e-6) * gamma,
    ),
    "rmsNormBackward": (lambda p: [[p["rows"], p["columns"]]] * 2 + [[p["columns"]]], rms_norm_backward),
    "groupNorm": (
        lambda p: [[p["batch"], p["channels"], p["pixels"]], [p["channels"]], [p["channels"]]],
        lambda x, gamma, beta: F.group_norm(x, 8, gamma, beta),
    ),
    "rotary": (
        lambda p: [[p["rows"], p["positions"], p["columns"]]] + [[p["positions"], p["columns"] // 2]] * 2,
        rotary,
    ),
    "sumMiddle": (lambda p: [[p["rows"] // 16, 16, p["columns"]]], lambda x: x.sum(1)),
    "cumsumColumns": (matrices(1), lambda x: x.cumsum(0)),
    "transpose": (matrices(1), lambda x: x.t().contiguous()),
    "heads": permuted(["batch", "length", "heads", "width"], (0, 2, 1, 3)),
    "reverseAxes": permuted(["a", "b", "c", "d"], (3, 2, 1, 0)),
    "gatherElements": (matrices(2), lambda x, index: x.gather(1, index)),
    "randomDropout": (vectors(1), lambda x: F.dropout(x, 0.1, True)),
    "adam": (vectors(4), adam),
    "addBf16": (vectors(2), lambda x, y: (x + y) * 0.5),
    "softmaxBf16": (matrices(1), lambda x: torch.softmax(x, -1)),
    "dequantize": (
        lambda p: [[p["rows"], p["columns"]], [p["rows"], 1], [p["rows"], 1]],
        lambda x, scale, zero: x.float() * scale + zero,
    ),
    "softmaxBackward": (matrices(2), lambda g, y: torch._softmax_backward_data(g, y, -1, torch.float32)),
    "layerNormBackward": (matrices(2), layer_norm_backward),
    "crossEntropy": (with_rows, lambda x, label: F.cross_entropy(x, label, reduction="none")),
    "sumAll": (matrices(1), lambda x: x.sum()),
    "argmaxRows": (matrices(1), lambda x: x.argmax(1)),
    "cumsumRows": (matrices(1), lambda x: x.cumsum(1)),
    "permute3": (lambda p: [[p["a"], p["b"], p["c"]]], lambda x: x.permute(2, 0, 1).contiguous()),
    "channelsLast": (lambda p: [[p["batch"], p["channels"], p["pixels"]]], lambda x: x.permute(0, 2, 1).contiguous()),
    "catColumns": (matrices(2), lambda x, y: torch.cat([x, y], 1)),
    "gatherRows": (with_rows, lambda table, index: table.index_select(0, index)),
    "indexAddRows": (with_rows, lambda x, index: x.new_zeros(64, x.shape[1]).index_add_(0, index, x)),
    "halveImage": (
        lambda p: [[1, 1, p["rows"], p["columns"]]],
        lambda x: (F.avg_pool2d(x, 2) / 255 - 0.45) / 0.225,
    ),
    "dropout": (vectors(2), lambda x, u: torch.where(u > 0.1, x * (1 / 0.9), 0.0)),
    "blackScholes": (vectors(3), black_scholes),
    "iterate": (vectors(2), iterate),
    "gateBf16": (vectors(2), lambda x, z: F.silu(x) * z),
    "requantize": (vectors(1), lambda x: (x.float() * 0.75).clamp(0, 127).to(torch.int8)),
}
OPERATIONS.update({name: (lambda p, row=row: (row[0](p), row[1])) for name, row in MEMORY_BOUND.items()})


# The suite sorting; the sequence that is searched is 0, 1 and so on.
SORTING = {
    "sort": (vectors(1), lambda x: x.sort()),
    "sortI32": (vectors(1), lambda x: x.sort()),
    "sortI64": (vectors(1), lambda x: x.sort()),
    "argsort": (vectors(1), lambda x: x.gather(0, x.argsort())),
    "median": (vectors(1), lambda x: x.median().reshape(1)),
    "unique": (vectors(1), lambda x: x.unique()),
    "searchsorted": (vectors(2), torch.searchsorted),
    "sortRows": (matrices(1), lambda x: x.sort(-1)),
    "topkRows": (matrices(1), lambda x: x.topk(10)),
    "medianRows": (matrices(1), lambda x: x.median(-1)),
    "sortMiddle": (lambda p: [[10, 100, 100]], lambda x: x.sort(1)),
}
OPERATIONS.update({name: (lambda p, row=row: (row[0](p), row[1])) for name, row in SORTING.items()})
OPERATIONS["topk"] = lambda p: (vectors(1)(p), lambda x: x.topk(p["k"]))
OPERATIONS["kthvalue"] = lambda p: (vectors(1)(p), lambda x: tuple(v.reshape(1) for v in x.kthvalue(int(p["k"]))))


def indices(limit):
    return lambda p, x: [x[0], x[1].floor().clamp(0, limit(p) - 1).long()]


def halves(p, x):
    return [values.bfloat16() for values in x]


# What inputs become before anything is timed: the protocol's are float32.
CONVERSIONS = {
    "crossEntropy": indices(lambda p: p["columns"]),
    "gatherRows": indices(lambda p: p["rows"]),
    "indexAddRows": indices(lambda p: 64),
    "gatherElements": indices(lambda p: p["columns"]),
    "gateBf16": halves,
    "addBf16": halves,
    "softmaxBf16": halves,
    "dequantize": lambda p, x: [x[0].to(torch.int8), *x[1:]],
    "requantize": lambda p, x: [values.to(torch.int8) for values in x],
    "productF64": lambda p, x: [values.double() for values in x],
    "productBf16": halves,
    "productInt8": lambda p, x: [x[0], x[1].to(torch.int8), x[2]],
    "productInt4": lambda p, x: [x[0], x[1].to(torch.uint8), x[2]],
    "sortI32": lambda p, x: [x[0].int()],
    "sortI64": lambda p, x: [x[0].long()],
    "unique": lambda p, x: [x[0].long()],
    "searchsorted": lambda p, x: [torch.arange(p["n"], dtype=torch.float32), x[1]],
}


class Traced(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def traced(function, inputs):
    module = torch.jit.trace(Traced(function).eval(), tuple(inputs))
    return torch.jit.optimize_for_inference(torch.jit.freeze(module))


def waiting(run):
    """A call that is over when it returns."""
    if DEVICE == "cpu":
        return run

    def run_and_wait():
        run()
        torch.cuda.synchronize()

    return run_and_wait


def train_step(p, x):
    batch, inner, hidden, classes = (p[k] for k in ("batch", "inner", "hidden", "classes"))
    data, targets = x[0].reshape(batch, inner), x[1].reshape(batch, classes)
    shapes = [(inner, hidden), (hidden,), (hidden, classes), (classes,)]
    weights = [v.reshape(s).requires_grad_() for v, s in zip(x[2:], shapes)]
    outputs = [None] * 4

    def run():
        w1, b1, w2, b2 = weights
        logits = torch.addmm(b2, torch.relu(torch.addmm(b1, data, w1)), w2)
        loss = F.cross_entropy(logits, targets)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            outputs[:] = [w.sub(g, alpha=p["rate"]) for w, g in zip(weights, gradients)]

    return waiting(run), lambda index: outputs[index].cpu().numpy()


def convolution_loss(p):
    def loss(w, images, targets):
        half = F.max_pool2d(F.relu(F.conv2d(images, w[0], w[1], padding=1)), 2)
        quarter = F.max_pool2d(F.relu(F.conv2d(half, w[2], w[3], padding=1)), 2)
        hidden = F.relu(F.linear(quarter.flatten(1), w[4], w[5]))
        return F.cross_entropy(F.linear(hidden, w[6], w[7]), targets)

    return loss


def block_loss(p):
    batch, length, width, heads = (p[k] for k in ("batch", "length", "width", "heads"))
    mask = torch.full((length, length), float("-inf"), device=DEVICE).triu(1)

    def attend(q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q * (width // heads) ** -0.5) @ k.transpose(-1, -2)
        return torch.softmax(scores + mask, -1) @ v

    def loss(w, x, target):
        parts = F.linear(F.layer_norm(x, (width,), w[0], w[1]), w[2], w[3])
        q, k, v = parts.reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        mixed = attend(q, k, v).transpose(1, 2).reshape(batch, length, width)
        attended = x + F.linear(mixed, w[4], w[5])
        wide = F.gelu(F.linear(F.layer_norm(attended, (width,), w[6], w[7]), w[8], w[9]))
        return F.mse_loss(attended + F.linear(wide, w[10], w[11]), target)

    return loss


def descent(p, x, loss, shapes):
    """A step of gradient descent; the weights come behind input and target."""
    data, targets, *weights = (v.reshape(s) for v, s in zip(x, shapes))
    weights = [w.requires_grad_() for w in weights]
    outputs = [None] * len(weights)

    def run():
        gradients = torch.autograd.grad(loss(weights, data, targets), weights)
        with torch.no_grad():
            outputs[:] = [w.sub(g, alpha=p["rate"]) for w, g in zip(weights, gradients)]

    return waiting(run), lambda index: outputs[index].cpu().numpy()


def adam_step(p, x):
    """torch.optim.Adam over many parameters, by its kernels for lists of tensors; a copy of the last one is the result."""
    shapes = [[p["rows"], 64 + i % 5] if i % 2 == 0 else [p["rows"]] for i in range(p["count"])]
    parameters = [v.reshape(s).clone().requires_grad_() for v, s in zip(x, shapes)]
    for parameter, gradient, shape in zip(parameters, x[p["count"] :], shapes):
        parameter.grad = gradient.reshape(shape)
    optimizer = torch.optim.Adam(parameters, lr=p["rate"], foreach=True)
    output = [None]

    def run():
        optimizer.step()
        output[0] = parameters[-1].detach().clone()

    return waiting(run), lambda index: output[index].cpu().numpy()


def training(request, x):
    """Steps of training by their gradients, which PyTorch derives; None for what is none."""
    p = request["params"]
    if request["op"] in ("trainStep", "derivedStep"):
        return train_step(p, x)
    if request["op"] == "convolutionStep":
        first, second, hidden, classes = (p[k] for k in ("first", "second", "hidden", "classes"))
        images = [(p["batch"], 1, 28, 28), (p["batch"], classes)]
        kernels = [(first, 1, 3, 3), (first,), (second, first, 3, 3), (second,)]
        layers = [(hidden, second * 49), (hidden,), (classes, hidden), (classes,)]
        return descent(p, x, convolution_loss(p), images + kernels + layers)
    if request["op"] == "blockStep":
        width = p["width"]
        given = [(p["batch"], p["length"], width)] * 2
        norm = [(width,), (width,)]
        attention = [(3 * width, width), (3 * width,), (width, width), (width,)]
        layers = [(4 * width, width), (4 * width,), (width, 4 * width), (width,)]
        return descent(p, x, block_loss(p), given + norm + attention + norm + layers)
    return adam_step(p, x)


TRAINING = ("trainStep", "derivedStep", "convolutionStep", "blockStep", "adamStep")


def operation(request, inputs):
    """What inputs become before anything is timed, and a function of them; None where there is none."""
    op = request["op"]
    if op in MODELS:
        return model_of(request, inputs)
    if op not in OPERATIONS:
        return None
    shapes, function = OPERATIONS[op](request["params"])
    inputs = [values.reshape(shape) for values, shape in zip(inputs, shapes)]
    return CONVERSIONS[op](request["params"], inputs) if op in CONVERSIONS else inputs, function


def prepare(request):
    torch.set_num_threads(request["threads"])
    inputs = [torch.from_numpy(values).to(DEVICE) for values in inputs_of(request)]
    if request["op"] in TRAINING:
        return None if JIT or COMPILE else training(request, inputs)
    torch.set_grad_enabled(False)
    prepared = operation(request, inputs)
    if prepared is None:
        return None
    inputs, function = prepared
    result = [None]
    call = traced(function, inputs) if JIT else torch.compile(function) if COMPILE else function

    def run():
        result[0] = call(*inputs)

    def output(index):
        results = result[0] if isinstance(result[0], (list, tuple)) else [result[0]]
        return results[index].float().cpu().numpy()

    return waiting(run), output


serve(torch.__version__, prepare)
