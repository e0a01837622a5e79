"""Cases for the oracle: calls of PyTorch functions with what PyTorch makes of them, one JSON object a line.

In: names of the functions wanted (a JSON list on standard input), a seed and how many cases per operator. Out, on
standard output: {"op", "aten", "args", "kwargs", "returns", "outputs", "rtol", "atol"} or, where PyTorch refuses,
{"error"} in place of the results; values are encoded as in the golden data, tensors with their bytes in base64.

Calls come from PyTorch's own operator database (OpInfo): its samples as they are, and samples that were changed at
random (`mutations.py`), so that most of them are nearly valid. Same seed, same cases.
"""

import argparse
import itertools
import json
import math
import random
import signal
import sys
import types
import unittest
import warnings

import torch

from encoding import Unencodable, encode, flat_tensors, tensors_in
from mutations import mutate

warnings.simplefilter("ignore")

DTYPES = [
    torch.float32, torch.float64, torch.int64, torch.int32, torch.bool,
    torch.float16, torch.bfloat16, torch.uint8, torch.int8, torch.int16,
]
LARGEST = 2048  # elements of a tensor: interpreting is slow, and mistakes show in small ones
PER_DTYPE = 30  # samples of a dtype to choose from
TOLERANCE = {
    torch.float64: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.bfloat16: (1.6e-2, 5e-3), torch.float16: (5e-3, 1e-3),
}
# Results that PyTorch leaves open: the places of equal values.
UNSPECIFIED = {"kthvalue": [1], "topk": [1], "median": [1], "nanmedian": [1], "mode": [1], "sort": [1], "argsort": [0]}
# Methods that change the shape of a tensor in place: ours keep it.
RESHAPING = ("squeeze_", "unsqueeze_", "t_", "transpose_", "as_strided_", "swapaxes_", "swapdims_")
# Contents of new memory, random numbers, views of other number types or of memory that a case does not hold.
SKIPPED = ("empty", "rand", "normal", "bernoulli", "multinomial", "complex", "fft.", "uniform", "exponential", "cauchy",
           "geometric", "log_normal", "polar", "dropout", "rrelu", "view_as_real", "sparse", "as_strided")


PLACEMENT = ("_stacklevel", "device", "layout", "pin_memory", "requires_grad", "out", "generator")


class Recorded(Exception):
    """Carries the first public call that an OpInfo's function makes."""


class Recorder(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, kinds, args=(), kwargs=None):
        name = torch.overrides.resolve_name(func) or ""
        if name.endswith((".__get__", ".__set__")):
            name = name[: -len(".__get__")]
        raise Recorded(name, args, kwargs or {})


def load_database():
    """OpInfo's list; its module wants a package of test tools of which it only uses a base class."""
    if "expecttest" not in sys.modules:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase, stand_in.ACCEPT = unittest.TestCase, False
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db
    return op_db


def record(op, sample):
    """The public call behind a sample: (name under torch, args, kwargs), or None."""
    try:
        with Recorder():
            op.op(sample.input, *sample.args, **sample.kwargs)
    except Recorded as found:
        return plain_call(*found.args)
    except Exception:
        return None
    return None


def plain_call(name, args, kwargs):
    """A call without what says where results lie, and subscripts as lists of items."""
    args, kwargs = list(args), {key: value for key, value in kwargs.items() if key not in PLACEMENT}
    for old, new in (("torch.", ""), ("_C._nn.", "nn.functional."), ("_C.", ""), ("_TensorBase.", "Tensor."), ("functional.", "")):
        name = name.removeprefix(old) if new == "" else new + name.removeprefix(old) if name.startswith(old) else name
    if name == "Tensor.__getitem__":
        args[1] = list(args[1]) if isinstance(args[1], tuple) else [args[1]]
    return name, args, kwargs


def offered_name(name, wanted):
    """The name under which the other side has a function, or None."""
    found = (each for each in (name, name.removeprefix("Tensor."), f"Tensor.{name}") if each in wanted)
    return next(found, None)


def function_of(name):
    holder = torch
    for part in name.split("."):
        holder = getattr(holder, part, None)
    if isinstance(holder, property) or type(holder).__name__ == "getset_descriptor":
        return lambda x: getattr(x, name.split(".")[-1])
    return holder


def samples_of(op, dtype):
    """Samples in a dtype; the generators of some are broken for some dtypes."""
    found = []
    for generate in (op.sample_inputs, op.reference_inputs):
        try:
            found += list(itertools.islice(generate("cpu", dtype), PER_DTYPE * 2))
        except Exception:
            pass
    return found


def calls_of(op, rng):
    """Recorded calls of an operator over its dtypes, small ones only."""
    calls = []
    known = [dtype for dtype in DTYPES if dtype in op.dtypes]
    for dtype in known[:1] + rng.sample(known[1:], min(3, len(known[1:]))):
        samples = samples_of(op, dtype)
        for sample in rng.sample(samples, min(PER_DTYPE, len(samples))):
            call = record(op, sample)
            if call is not None and all(t.numel() <= LARGEST for t in tensors_in(call[1:])):
                calls.append(call)
    return calls


def plain_calls_of(op, rng, count):
    """Up to `count` samples of every dtype as they are, every third one with gaps in its memory."""
    for dtype in (dtype for dtype in DTYPES if dtype in op.dtypes):
        samples = samples_of(op, dtype)
        for number, sample in enumerate(rng.sample(samples, min(count, len(samples)))):
            call = record(op, sample.noncontiguous() if number % 3 == 2 else sample)
            if call is not None and all(t.numel() <= LARGEST for t in tensors_in(call[1:])):
                yield call


def errors_of(op):
    try:
        inputs = list(op.error_inputs("cpu")) if op.error_inputs_func is not None else []
    except Exception:
        return []
    calls = [record(op, each.sample_input) for each in inputs]
    return [call for call in calls if call is not None]


def expired(*_):
    raise TimeoutError("the call took too long")


def in_double(value):
    """Arguments with all floats in double precision."""
    if isinstance(value, torch.Tensor):
        return value.double().clone() if value.is_floating_point() else value.clone()
    if isinstance(value, (list, tuple)):
        return [in_double(item) for item in value]
    if isinstance(value, dict):
        return {key: in_double(item) for key, item in value.items()}
    return torch.float64 if value in (torch.float32, torch.float16, torch.bfloat16) else value


def tolerance(call, outputs):
    """PyTorch's own error at the case, twice, but at least the usual one of the dtype."""
    name, args, kwargs = call
    floats = [t for t in outputs if isinstance(t, torch.Tensor) and t.is_floating_point()]
    if not floats:
        return 0, 0
    rtol, atol = (max(pair) for pair in zip(*(TOLERANCE[t.dtype] for t in floats)))
    try:
        exact = flat_tensors(function_of(name)(*in_double(args), **in_double(kwargs)))
    except Exception:
        return rtol, atol
    for mine, theirs in zip(outputs, exact):
        if isinstance(mine, torch.Tensor) and mine.is_floating_point() and mine.shape == theirs.shape:
            apart = (mine.double() - theirs.double()).abs()
            apart = apart[apart.isfinite()]
            if apart.numel() > 0:
                atol = max(atol, 2 * float(apart.max()))
    return rtol, atol if math.isfinite(atol) else 0


def evaluate(op_name, call, written):
    """The case of a call: its results, or that PyTorch refuses it."""
    name, args, kwargs = call
    if name == "Tensor.__getitem__":
        call = name, [args[0], tuple(args[1])], kwargs
    case = {"op": op_name, "aten": name, "args": encode(args), "kwargs": encode(kwargs)}
    signal.alarm(5)
    try:
        result = function_of(name)(*call[1], **kwargs)
        outputs = flat_tensors(result)
        rtol, atol = (0.05, 0.05) if written else tolerance(call, outputs)
        case.update(outputs=encode(outputs), rtol=rtol, atol=atol, unspecified=UNSPECIFIED.get(name.split(".")[-1], []))
    except TimeoutError:
        return None
    except NotImplementedError as error:
        case.update(error=f"not implemented for {error}")
    except Exception as error:
        case.update(error=f"{type(error).__name__}: {error}"[:300])
    finally:
        signal.alarm(0)
    return case


def in_place(call):
    """The same call as a method that writes to its first argument, where PyTorch has it."""
    name, args, kwargs = call
    method = f"Tensor.{name.split('.')[-1]}_"
    if name.split(".")[-1] + "_" in RESHAPING or not args or not isinstance(args[0], torch.Tensor) or function_of(method) is None:
        return None
    return method, [args[0].clone(), *args[1:]], kwargs


def cases_of(op, options, rng):
    yield from ((call, False) for call in errors_of(op))
    if options.plain > 0:
        yield from ((call, False) for call in plain_calls_of(op, rng, options.plain))
        return
    calls = calls_of(op, rng)
    for number in range(options.cases if calls else 0):
        call = rng.choice(calls)
        if number % 8 == 7:
            call = in_place(call) or call
        written = call[0].endswith("_") and not call[0].endswith("__")
        yield (call if number % 4 == 0 else mutate(call, rng), written)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--plain", type=int, default=0, help="unchanged samples of each dtype, in place of changed ones")
    parser.add_argument("--op")
    parser.add_argument("--after", help="go on after this operator")
    options = parser.parse_args()
    wanted = set(json.load(sys.stdin))
    signal.signal(signal.SIGALRM, expired)
    torch.set_num_threads(1)
    waiting = options.after is not None
    for op in load_database():
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if waiting:
            waiting = name != options.after
            continue
        if any(part in op.name for part in SKIPPED) or options.op not in (None, op.name, name):
            continue
        print(json.dumps({"begin": name}), flush=True)
        rng = random.Random(f"{options.seed} {name}")
        torch.manual_seed(options.seed)
        for call, written in cases_of(op, options, rng):
            offered = offered_name(call[0].removesuffix("_") if written else call[0], wanted)
            if offered is None:
                continue
            try:
                case = evaluate(name, call if written else (offered, *call[1:]), written)
            except Unencodable:
                continue
            if case is not None:
                print(json.dumps(case))


if __name__ == "__main__":
    main()
