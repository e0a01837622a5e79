# Writes steps.json: what PyTorch's optimisers make of two parameters in five steps, in f64 and f32. Run by hand where PyTorch is:
#   python3 packages/optim/src/test-support/make-fixtures.py
import json
import os
import torch

START = [[0.5, -1.25, 2.0, 0.0], [1.5, -0.75]]


def gradients(step, params):
    """A gradient that depends on the parameter and on the step, and is absent of the second one at step 2."""
    for index, param in enumerate(params):
        if index == 1 and step == 2:
            param.grad = None
            continue
        wave = torch.arange(param.numel(), dtype=param.dtype) * 0.7 + step * 1.3 + index
        param.grad = torch.sin(wave) + param.detach() * 0.1


CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.05, "amsgrad": True, "maximize": True}),
    ("RMSprop", {"lr": 0.02}),
    ("RMSprop", {"lr": 0.02, "momentum": 0.5, "centered": True, "weight_decay": 0.05, "alpha": 0.9}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.05, "initial_accumulator_value": 0.2}),
]

rows = []
for name, options in CASES:
    for dtype in (torch.float64, torch.float32):
        params = [torch.tensor(values, dtype=dtype, requires_grad=True) for values in START]
        optimizer = getattr(torch.optim, name)(params, **options)
        steps = []
        for step in range(5):
            gradients(step, params)
            optimizer.step()
            steps.append([param.tolist() for param in params])
        rows.append({"name": name, "options": options, "dtype": str(dtype)[6:], "steps": steps})

schedules = {}
for name, make in {
    "step": lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5),
    "multiStep": lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [2, 5], 0.1),
    "exponential": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "linear": lambda o: torch.optim.lr_scheduler.LinearLR(o, 0.25, 1.0, 4),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 6, 0.002),
    "oneCycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=10),
}.items():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = make(optimizer)
    rates = []
    for _ in range(9):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    schedules[name] = rates

with open(os.path.join(os.path.dirname(__file__), "steps.json"), "w") as file:
    json.dump({"start": START, "optimizers": rows, "schedules": schedules}, file)
