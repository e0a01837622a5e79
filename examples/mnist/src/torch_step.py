"""Times the same training step in PyTorch. Prints one JSON line: {"version", "medianMs"}."""
import json
import statistics
import sys
import time

import torch

hidden, batch, repeats = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(int(sys.argv[4]))
torch.manual_seed(1)
x = torch.randint(0, 256, (batch, 28, 28), dtype=torch.uint8)
labels = torch.randint(0, 10, (batch,))
model = torch.nn.Sequential(
    torch.nn.Flatten(), torch.nn.Linear(784, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    loss = torch.nn.functional.cross_entropy(model(x.float().div(255)), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
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
