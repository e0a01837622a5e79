"""The contender's side of the protocol for contenders in Python: one JSON request per line, one answer per line."""
import json
import math
import sys
import time

import numpy as np


def fill(size, seed, low, high):
    """The inputs that every language generates alike: a hash of index and seed, scaled, rounded to float32."""
    with np.errstate(over="ignore"):
        h = np.arange(size, dtype=np.uint32) + np.uint32((seed * 0x9E3779B9) & 0xFFFFFFFF)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    return (low + (high - low) * (h / 4294967296.0)).astype(np.float32)


def inputs_of(request):
    return [fill(*spec) for spec in zip(request["sizes"], request["seeds"], request["lows"], request["highs"])]


def batch_of(seconds):
    """How many calls take half a millisecond: the first one after a pause, with threads asleep, tells little."""
    return min(1000000, max(1, math.ceil(5e-4 / seconds)))


def time_runs(run, budget_ms):
    """Repeats of a batch that takes half a millisecond, or one call, until the budget is spent."""
    clock = time.perf_counter
    begin = clock()
    run()
    once = max(1e-8, clock() - begin)
    calls = batch_of(once)

    def measure():
        start = clock()
        for _ in range(calls):
            run()
        return (clock() - start) / calls * 1e3

    warm = min(budget_ms / 4, 50) / 1e3
    until = clock() + warm
    while once < warm and clock() < until:
        calls = batch_of(measure() / 1e3)
    times = []
    least = 1 if once * 1e3 > budget_ms else 3
    until = clock() + budget_ms / 1e3
    while clock() < until or len(times) < least:
        times.append(measure())
        if len(times) >= 2000:
            break
    return times


def serve(version, prepare):
    """`prepare(request)` gives (run, output(index) -> array), None for no such operation, or a reason as a string."""
    ready = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "prepare":
                ready = prepare(request)
                if ready is None:
                    answer = {"unsupported": "has no such operation"}
                elif isinstance(ready, str):
                    answer, ready = {"unsupported": ready}, None
                else:
                    ready[0]()
                    answer = {"version": version}
            elif ready is None:
                answer = {"error": "nothing is prepared"}
            elif request["do"] == "time":
                answer = {"times": time_runs(ready[0], request["budgetMs"])}
            else:
                values = np.asarray(ready[1](request["output"])).reshape(-1)
                answer = {"values": [float(values[index]) for index in request["indices"]]}
        except Exception as error:  # the harness shows the reason in the contender's column
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
