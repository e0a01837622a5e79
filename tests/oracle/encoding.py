"""Values of Python and PyTorch as JSON, in the encoding of the golden data (floats apart from ints, tensors with strides
over their storage). Tensors carry the bytes of the storage that they reach, in base64."""

import base64
import math

import torch

NAMES = {
    torch.float32: "float32", torch.float64: "float64", torch.int64: "int64", torch.int32: "int32", torch.bool: "bool",
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.uint8: "uint8", torch.int8: "int8", torch.int16: "int16",
}
SAFE = 2**53 - 1


class Unencodable(TypeError):
    """A value that has no counterpart: a complex number, a generator, a device."""


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def flat_tensors(result):
    """The results of a call, nested tuples flattened."""
    if isinstance(result, (list, tuple)) and any(isinstance(item, (torch.Tensor, list, tuple)) for item in result):
        return [leaf for item in result for leaf in flat_tensors(item)]
    return [result]


def storage_bytes(tensor):
    """The bytes from the first element of a tensor to its last, and where elements lie in them."""
    if tensor.numel() == 0:
        return b""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    flat = torch.as_strided(tensor, (reach,), (1,), tensor.storage_offset()).clone()
    if flat.dtype == torch.bfloat16:
        flat = flat.view(torch.int16)
    return flat.numpy().tobytes()


def encode_tensor(tensor):
    tensor = tensor.detach()
    if tensor.dtype not in NAMES or tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise Unencodable(f"{tensor.dtype} {tensor.layout} {tensor.device}")
    if tensor.is_neg() or tensor.is_conj():
        tensor = tensor.clone()
    return {"t": {
        "dtype": NAMES[tensor.dtype],
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": 0,
        "base64": base64.b64encode(storage_bytes(tensor)).decode(),
    }}


def encode_number(value):
    if isinstance(value, int):
        return value if -SAFE <= value <= SAFE else {"i": str(value)}
    if math.isfinite(value):
        return {"f": value}
    return {"f": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


def encode(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return encode_number(value)
    if isinstance(value, torch.Tensor):
        return encode_tensor(value)
    if isinstance(value, torch.dtype):
        if value not in NAMES:
            raise Unencodable(str(value))
        return {"dtype": NAMES[value]}
    if isinstance(value, slice):
        return {"slice": [encode(bound) for bound in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, torch.memory_format):
        return {"memory_format": str(value).removeprefix("torch.")}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    raise Unencodable(type(value).__name__)
