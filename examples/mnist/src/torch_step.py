"""Times the same training step in PyTorch. Prints one JSON line: {"version", "medianMs"}."""
import json
import statistics
import sys
import time

import torch

hidden, batch, repeats = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(int(sys.argv[4]))
torch.set_grad_enabled(False)
torch.manual_seed(1)
x = torch.rand(batch, 784)
labels = torch.randint(0, 10, (batch,))
w1 = torch.randn(784, hidden) * 0.05
b1 = torch.zeros(hidden)
w2 = torch.randn(hidden, 10) * 0.05
b2 = torch.zeros(10)
classes = torch.arange(10)
rate = torch.tensor(0.1)


def step():
    h = x.matmul(w1).add(b1).relu()
    logits = h.matmul(w2).add(b2)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    g = (logits.softmax(-1) - labels.unsqueeze(1).eq(classes).float()).div(batch)
    hg = g.matmul(w2.t()).mul(h.gt(0))
    w2.sub_(h.t().matmul(g).mul(rate))
    b2.sub_(g.sum(0).mul(rate))
    w1.sub_(x.t().matmul(hg).mul(rate))
    b1.sub_(hg.sum(0).mul(rate))
    return loss


for _ in range(20):
    step()
for _ in iter(sys.stdin.readline, ""):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"version": torch.__version__, "medianMs": statistics.median(times)}), flush=True)
