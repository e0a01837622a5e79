# Writes layers.json: what PyTorch's layers make of inputs, and the gradients of their parameters, in f64. Parameters and inputs are waves
# that the tests make again, so only their shapes are stored. Run by hand where PyTorch is:
#   python3 packages/nn/src/test-support/make-fixtures.py
import json
import math
import os
import torch
from torch import nn

torch.set_default_dtype(torch.float64)


def wave(shape, seed):
    count = math.prod(shape)
    return torch.tensor([math.sin(i * 0.73 + seed * 1.37) for i in range(count)]).reshape(shape)


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, True) + self.eps) * self.weight


def mask(rows, columns, every):
    return torch.tensor([[(i * columns + j) % every == 1 for j in range(columns)] for i in range(rows)])


INTEGERS = torch.tensor([[0, 2, 5], [3, 3, 1]])
CASES = {
    "Linear": (lambda: nn.Linear(5, 3), [[2, 5]]),
    "Linear without bias": (lambda: nn.Linear(5, 3, bias=False), [[2, 4, 5]]),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 5), [[2, 3], [2, 4]]),
    "Embedding": (lambda: nn.Embedding(6, 4, padding_idx=3), [INTEGERS]),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [[2, 4, 9]]),
    "Conv2d": (lambda: nn.Conv2d(3, 4, (3, 2), stride=(1, 2), padding=(1, 0), dilation=(2, 1)), [[2, 3, 7, 6]]),
    "Conv2d same": (lambda: nn.Conv2d(3, 4, (4, 3), padding="same"), [[1, 3, 6, 5]]),
    "Conv2d reflected": (lambda: nn.Conv2d(2, 3, 3, padding=(2, 1), padding_mode="reflect"), [[2, 2, 5, 4]]),
    "Conv2d circular same": (lambda: nn.Conv2d(2, 3, (4, 3), padding="same", padding_mode="circular"), [[1, 2, 5, 6]]),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 2, padding=1), [[1, 2, 3, 3, 4]]),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), [[2, 4, 5]]),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 2, (3, 2), stride=2, dilation=(2, 1)), [[1, 3, 3, 4]]),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 2, 2), [[1, 2, 2, 3, 2]]),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), [[4, 3, 5]]),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), [[2, 3, 4, 2]]),
    "BatchNorm2d over all batches": (lambda: nn.BatchNorm2d(3, momentum=None), [[2, 3, 4, 2]]),
    "BatchNorm2d in evaluation": (lambda: nn.BatchNorm2d(3).eval(), [[2, 3, 4, 2]]),
    "BatchNorm3d without statistics": (lambda: nn.BatchNorm3d(2, affine=False, track_running_stats=False), [[2, 2, 2, 3, 2]]),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True), [[2, 3, 4, 2]]),
    "InstanceNorm1d with statistics": (lambda: nn.InstanceNorm1d(3, track_running_stats=True), [[2, 3, 4]]),
    "LayerNorm": (lambda: nn.LayerNorm([3, 4]), [[2, 3, 4]]),
    "RMSNorm": (lambda: RMSNorm(4, 1e-6), [[2, 3, 4]]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [[2, 4, 5]]),
    "PReLU": (lambda: nn.PReLU(3), [[2, 3, 4]]),
    "RNN": (lambda: nn.RNN(3, 4, num_layers=2, bidirectional=True), [[5, 2, 3]]),
    "RNN with ReLU": (lambda: nn.RNN(3, 4, nonlinearity="relu", bias=False), [[4, 3]]),
    "LSTM": (lambda: nn.LSTM(3, 4, num_layers=2, batch_first=True), [[2, 5, 3]]),
    "LSTM projected": (lambda: nn.LSTM(3, 4, proj_size=2, bidirectional=True), [[5, 2, 3]]),
    "GRU": (lambda: nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True), [[2, 5, 3]]),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(8, 2), [[3, 2, 8], [5, 2, 8], [5, 2, 8]]),
    "MultiheadAttention of other widths": (
        lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=4, batch_first=True, add_bias_kv=True, add_zero_attn=True),
        [[2, 3, 8], [2, 5, 6], [2, 5, 4]],
    ),
    "MultiheadAttention masked": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True, bias=False),
        [[2, 3, 8], [2, 5, 8], [2, 5, 8]],
        {"key_padding_mask": mask(2, 5, 4), "attn_mask": mask(3, 5, 7)},
    ),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), [[5, 2, 8]]),
    "TransformerEncoderLayer norms first": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", norm_first=True, batch_first=True),
        [[2, 5, 8]],
    ),
    "TransformerDecoderLayer": (lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True), [[2, 3, 8], [2, 5, 8]]),
    "TransformerDecoderLayer norms first": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, norm_first=True),
        [[3, 2, 8], [5, 2, 8]],
    ),
}


def flat(tensor):
    return [round(value, 10) for value in tensor.detach().flatten().tolist()]


def tensors_in(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [] if result is None else [one for part in result for one in tensors_in(part)]


def case(name, row):
    make, given = row[0], row[1]
    options = row[2] if len(row) > 2 else {}
    layer = make()
    state = {}
    for position, (key, value) in enumerate(layer.state_dict().items()):
        state[key] = list(value.shape)
        if value.dtype.is_floating_point:
            data = wave(value.shape, position) * 0.5
            value.copy_(data.abs() + 0.5 if "var" in key else data)
    inputs = [one if isinstance(one, torch.Tensor) else wave(one, 7 + i) for i, one in enumerate(given)]
    results = tensors_in(layer(*inputs, **options))
    loss = sum((result * wave(result.shape, 3)).sum() for result in results)
    if any(parameter.requires_grad for parameter in layer.parameters()):
        loss.backward()
    return {
        "name": name,
        "state": state,
        "inputs": [list(one.shape) for one in inputs],
        "results": [{"shape": list(result.shape), "data": flat(result)} for result in results],
        "gradients": {key: flat(parameter.grad) for key, parameter in layer.named_parameters()},
        "buffers": {key: flat(value) for key, value in layer.named_buffers()},
    }


if __name__ == "__main__":
    path = os.path.join(os.path.dirname(__file__), "layers.json")
    with open(path, "w") as file:
        json.dump([case(name, row) for name, row in CASES.items()], file)
        file.write("\n")
