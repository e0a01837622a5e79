"""Changes to calls, so that samples of PyTorch's database lead to cases that are not in it: other strides, dtypes, special
values, sizes 0 and 1, tensors without dims, other numbers and dims. A changed call need not be valid: whether it is
refused is compared too."""

import random

import torch

DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.uint8, torch.int8, torch.int16,
          torch.bfloat16, torch.float16]
FLOAT_SPECIALS = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, -2.5]


def map_tensors(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list):
        return [map_tensors(item, change) for item in value]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map_tensors(item, change) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    return value


def at_random(chance, change, rng):
    return lambda tensor: change(tensor, rng) if rng.random() < chance else tensor


def strided(tensor, rng):
    """Equal elements in another order of memory, with gaps."""
    if tensor.dim() == 0:
        return tensor
    order = list(range(tensor.dim()))
    rng.shuffle(order)
    permuted = tensor.permute(order)
    wide = torch.zeros([size * 2 for size in permuted.shape], dtype=tensor.dtype)
    places = tuple(slice(rng.randrange(2), None, 2) for _ in order)
    wide[places] = permuted
    inverse = sorted(range(len(order)), key=lambda axis: order[axis])
    return wide[places].permute(inverse)


def recast(tensor, target):
    """The elements in another dtype; none for which the conversion is undefined."""
    if tensor.is_floating_point() and not target.is_floating_point:
        return tensor.nan_to_num(0, 3, -3).clamp(-100, 100).to(target)
    return tensor.to(target)


def any_dtype(tensor, rng):
    return recast(tensor, rng.choice(DTYPES))


def special(tensor, rng):
    changed = tensor.clone()
    if tensor.numel() == 0 or tensor.dtype == torch.bool:
        return changed
    flat = changed.reshape(-1)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(flat.numel())
        if tensor.is_floating_point():
            flat[place] = rng.choice(FLOAT_SPECIALS)
        else:
            limits = torch.iinfo(tensor.dtype)
            flat[place] = rng.choice([limits.min, limits.max, 0, 1, limits.max - 1])
    return flat.reshape(tensor.shape)


def resized(args, kwargs, rng):
    """One size, wherever it stands, becomes 0 or 1."""
    sizes = []
    map_tensors([args, kwargs], lambda tensor: sizes.extend(tensor.shape) or tensor)
    if not sizes:
        return args, kwargs
    old, new = rng.choice(sizes), rng.choice([0, 1, 1, 2])

    def narrow(tensor):
        for axis, size in enumerate(tensor.shape):
            if size == old and size > new:
                tensor = tensor.narrow(axis, 0, new)
        return tensor

    return map_tensors(args, narrow), map_tensors(kwargs, narrow)


def reshaped(tensor, rng):
    """Without dims, with one more, with one fewer, or with a dim of 1 that broadcasts."""
    kind = rng.randrange(4)
    if kind == 0 and tensor.numel() > 0:
        return tensor.reshape(-1)[0].clone()
    if kind == 1:
        return tensor.unsqueeze(rng.randint(0, tensor.dim()))
    if tensor.dim() == 0 or min(tensor.shape) == 0:
        return tensor
    axis = rng.randrange(tensor.dim())
    return tensor.select(axis, 0) if kind == 2 else tensor.narrow(axis, 0, 1)


def other_number(value, rng):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, 0, 1, -1, 2, value * 2])
    return rng.choice([value * 0.5, -value, 0.0, 1.0, 2.5, float("inf"), float("nan"), 1e-3])


def map_numbers(value, chance, rng):
    if isinstance(value, (bool, int, float)):
        return other_number(value, rng) if rng.random() < chance else value
    if isinstance(value, torch.dtype):
        return rng.choice(DTYPES) if rng.random() < chance else value
    if isinstance(value, list):
        return [map_numbers(item, chance, rng) for item in value]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map_numbers(item, chance, rng) for item in value)
    if isinstance(value, dict):
        return {key: map_numbers(item, chance, rng) for key, item in value.items()}
    return value


def mutate(call, rng: random.Random):
    """A call with one to three changes."""
    name, args, kwargs = call
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(8)
        per_tensor = {0: strided, 1: any_dtype, 2: special, 3: reshaped}.get(kind)
        try:
            if per_tensor is not None:
                change = at_random(0.6, per_tensor, rng)
                args, kwargs = map_tensors(args, change), map_tensors(kwargs, change)
            elif kind == 4:
                args, kwargs = resized(args, kwargs, rng)
            elif kind == 5:
                target = rng.choice(DTYPES)
                args, kwargs = (map_tensors(each, lambda tensor: recast(tensor, target)) for each in (args, kwargs))
            elif kind == 6:
                args, kwargs = map_numbers(args, 0.4, rng), map_numbers(kwargs, 0.4, rng)
            elif kwargs:
                kwargs = {key: value for key, value in kwargs.items() if rng.random() < 0.6}
        except (RuntimeError, IndexError, TypeError):
            continue
    return name, args, kwargs
