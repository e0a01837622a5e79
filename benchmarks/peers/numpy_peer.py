"""NumPy, with preallocated results where its functions take them, and SciPy's erf."""
import numpy as np

from serve import inputs_of, serve


def add(p, x):
    out = np.empty(p["n"], np.float32)
    return lambda: np.add(x[0], x[1], out=out), [out]


def gelu_sigmoid(p, x):
    try:
        from scipy.special import erf
    except ImportError:
        return "needs SciPy for erf: on Debian, apt install python3-scipy"
    u, g, s = (np.empty(p["n"], np.float32) for _ in range(3))
    scale, shift, half, root = (np.float32(v) for v in (1.25, 0.5, 0.5, 0.70710678))

    def run():
        np.multiply(x[0], scale, out=u)
        np.add(u, shift, out=u)
        np.multiply(u, root, out=g)
        erf(g, out=g)
        np.add(g, np.float32(1), out=g)
        np.multiply(g, u, out=g)
        np.multiply(g, half, out=g)
        np.negative(x[1], out=s)
        np.exp(s, out=s)
        np.add(s, np.float32(1), out=s)
        np.divide(g, s, out=g)

    return run, [g]


def softmax(p, x):
    m = x[0].reshape(p["rows"], p["columns"])
    out = np.empty_like(m)

    def run():
        np.subtract(m, m.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    return run, [out]


def layer_norm(p, x):
    m = x[0].reshape(p["rows"], p["columns"])
    out, square = np.empty_like(m), np.empty_like(m)

    def run():
        np.subtract(m, m.mean(axis=1, keepdims=True), out=out)
        np.multiply(out, out, out=square)
        np.multiply(out, 1 / np.sqrt(square.mean(axis=1, keepdims=True) + np.float32(1e-5)), out=out)
        np.multiply(out, x[1], out=out)
        np.add(out, x[2], out=out)

    return run, [out]


def reduction(axis):
    def prepare(p, x):
        m = x[0].reshape(p["rows"], p["columns"])
        out = np.empty(m.shape[1 - axis], np.float32)
        return lambda: np.sum(m, axis=axis, out=out), [out]

    return prepare


def transpose_add(p, x):
    a, b = (v.reshape(p["side"], p["side"]) for v in x)
    out = np.empty_like(b)
    return lambda: np.add(a.T, b, out=out), [out]


def matmul(p, x):
    a, b = x[0].reshape(p["m"], p["k"]), x[1].reshape(p["k"], p["n"])
    out = np.empty((p["m"], p["n"]), np.float32)
    return lambda: np.matmul(a, b, out=out), [out]


def train_step(p, x):
    batch, inner, hidden, classes = (p[k] for k in ("batch", "inner", "hidden", "classes"))
    rate = np.float32(p["rate"])
    data, targets = x[0].reshape(batch, inner), x[1].reshape(batch, classes)
    w1, b1, w2, b2 = x[2].reshape(inner, hidden), x[3], x[4].reshape(hidden, classes), x[5]
    mass = targets.sum(axis=1, keepdims=True)
    outputs = [None] * 4

    def run():
        activation = np.maximum(data @ w1 + b1, 0)
        logits = activation @ w2 + b2
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        gradient = (logits * mass - targets) / np.float32(batch)
        backward = (gradient @ w2.T) * (activation > 0)
        outputs[0] = w1 - rate * (data.T @ backward)
        outputs[1] = b1 - rate * backward.sum(axis=0)
        outputs[2] = w2 - rate * (activation.T @ gradient)
        outputs[3] = b2 - rate * gradient.sum(axis=0)

    return run, outputs


OPERATIONS = {
    "add": add,
    "geluSigmoid": gelu_sigmoid,
    "softmax": softmax,
    "layerNorm": layer_norm,
    "sumRows": reduction(1),
    "sumColumns": reduction(0),
    "transposeAdd": transpose_add,
    "matmul": matmul,
    "trainStep": train_step,
}


def prepare(request):
    operation = OPERATIONS.get(request["op"])
    if operation is None:
        return None
    made = operation(request["params"], inputs_of(request))
    return made if isinstance(made, str) else (made[0], made[1].__getitem__)


serve(np.__version__, prepare)
