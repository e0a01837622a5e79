"""PyTorch on CPU: eager, or with the argument `jit` traced, frozen and optimised for inference."""
import sys

import torch
import torch.nn.functional as F

from serve import inputs_of, serve

JIT = len(sys.argv) > 1 and sys.argv[1] == "jit"


def normalised(columns):
    return lambda x, gamma, beta: F.layer_norm(x, (columns,), gamma, beta, 1e-5)


# Operation -> (shapes of the inputs, function).
OPERATIONS = {
    "add": lambda p: ([[p["n"]]] * 2, lambda x, z: x + z),
    "geluSigmoid": lambda p: ([[p["n"]]] * 2, lambda x, z: F.gelu(x * 1.25 + 0.5) * torch.sigmoid(z)),
    "softmax": lambda p: ([[p["rows"], p["columns"]]], lambda x: torch.softmax(x, -1)),
    "layerNorm": lambda p: (
        [[p["rows"], p["columns"]], [p["columns"]], [p["columns"]]],
        normalised(p["columns"]),
    ),
    "sumRows": lambda p: ([[p["rows"], p["columns"]]], lambda x: x.sum(1)),
    "sumColumns": lambda p: ([[p["rows"], p["columns"]]], lambda x: x.sum(0)),
    "transposeAdd": lambda p: ([[p["side"], p["side"]]] * 2, lambda a, b: a.T + b),
    "matmul": lambda p: ([[p["m"], p["k"]], [p["k"], p["n"]]], lambda a, b: a @ b),
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

    return run, lambda index: outputs[index].numpy()


def prepare(request):
    torch.set_num_threads(request["threads"])
    inputs = [torch.from_numpy(values) for values in inputs_of(request)]
    if request["op"] == "trainStep":
        return None if JIT else train_step(request["params"], inputs)
    if request["op"] not in OPERATIONS:
        return None
    shapes, function = OPERATIONS[request["op"]](request["params"])
    inputs = [values.reshape(shape) for values, shape in zip(inputs, shapes)]
    result = [None]
    torch.set_grad_enabled(False)
    call = traced(function, inputs) if JIT else function

    def run():
        result[0] = call(*inputs)

    return run, lambda index: result[0].numpy()


serve(torch.__version__, prepare)
