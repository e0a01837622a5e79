import { test } from '@jest/globals';
import { readCases, elements, allClose } from '../../../../shared/golden/read.mjs';
import { allDTypes, dtypeInfo } from '@tsinductor/base';
import { resolveConfig } from '@tsinductor/config';
import { allocateElements, evaluateIndex, int, interpretProgram, interpretSchedule } from '@tsinductor/ir';
import { bindArguments, GraphBuilder, operators, optimize, scalar, decompose } from '@tsinductor/graph';
import { f16FromBits, fromBfloat16Bits } from '@tsinductor/ops';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from './index.ts';
import { writeFileSync } from 'node:fs';

const dtypeNamed = (n) => allDTypes.find((d) => dtypeInfo[d].torchName === n);
class FloatBox {
  constructor(v) {
    this.value = v;
  }
}
const camel = (n) => n.replace(/_([a-z0-9])/g, (_, l) => l.toUpperCase());
const byName = new Map();
for (const op of operators.values()) for (const n of op.torch) if (!byName.has(n)) byName.set(n, op);
const fix = (v) =>
  Array.isArray(v)
    ? v.map(fix)
    : v !== null && typeof v === 'object' && 'dtype' in v && !('shape' in v)
      ? dtypeNamed(v.dtype)
      : v !== null && typeof v === 'object' && 'memory_format' in v
        ? String(v.memory_format)
        : v;
import { readFileSync } from 'node:fs';
import { verifyProgram, verifySchedule } from '@tsinductor/ir';
const failing = process.env.ONLY ? new Set(readFileSync(process.env.ONLY, 'utf8').split('\n')) : undefined;
test('golden', () => {
  const config = resolveConfig({ env: {} });
  const wrong = [],
    errors = [],
    schedWrong = [];
  let ok = 0,
    skipped = 0,
    n = 0;
  const times = { graph: 0, lower: 0, interp: 0, sched: 0, isched: 0 };
  for (const c of readCases(undefined, {
    float: (x) => new FloatBox(x),
    filter: (r) => r.kind === 'forward' && (failing === undefined || failing.has(r.id)),
  })) {
    n += 1;
    const op = byName.get({ trapz: 'trapezoid' }[c.aten] ?? c.aten);
    if (!op) {
      skipped += 1;
      continue;
    }
    const b = new GraphBuilder();
    const inputs = [];
    const env = {
      isTensor: (v) => v !== null && typeof v === 'object' && 'data' in v && 'shape' in v,
      toValue: (v) => {
        inputs.push(v);
        return b.placeholder('x', {
          dtype: dtypeNamed(v.dtype),
          shape: v.shape.map((s) => int(s)),
          strides: v.strides.map((s) => int(s)),
        });
      },
      toScalar: (v) => (v instanceof FloatBox ? scalar(v.value, 'float') : undefined),
    };
    let program,
      outs,
      stage = 'graph',
      want;
    const t0 = performance.now();
    try {
      const named = Object.fromEntries(Object.entries(c.kwargs).map(([k, v]) => [camel(k), fix(v)]));
      const bound = bindArguments(op, c.args.map(fix), { named, environment: env });
      b.output(...b.callAll(bound.operator.name, bound.args, bound.attrs));
      const graph = optimize(decompose(b.finish()));
      const t1 = performance.now();
      times.graph += t1 - t0;
      stage = 'lower';
      program = lowerGraph(graph);
      const t2 = performance.now();
      times.lower += t2 - t1;
      stage = 'interpret';
      const runWith = (execute) => {
        const buffers = new Map();
        program.inputs.forEach((id, k) => {
          const v = inputs[k];
          const d = program.buffers.find((x) => x.id === id);
          const a = allocateElements(d.dtype, evaluateIndex(d.size, { sizes: new Map() }));
          a.set(v.data.subarray(v.offset, v.offset + a.length));
          buffers.set(id, a);
        });
        const outs = program.outputs.map((id) => {
          const d = program.buffers.find((x) => x.id === id);
          const a = allocateElements(d.dtype, evaluateIndex(d.size, { sizes: new Map() }));
          buffers.set(id, a);
          return {
            dtype: dtypeInfo[d.dtype].torchName,
            shape: d.shape.map((s) => s.value),
            strides: d.strides.map((s) => s.value),
            offset: 0,
            data: a,
          };
        });
        execute({ buffers, sizes: new Map() });
        return outs;
      };
      outs = runWith((m) => interpretProgram(program, m));
      const t3 = performance.now();
      times.interp += t3 - t2;
      stage = 'schedule';
      const s = schedule(program, { config });
      const t4 = performance.now();
      times.sched += t4 - t3;
      stage = 'interpretSchedule';
      verifySchedule(s);
      verifyProgram(program);
      const souts = runWith((m) =>
        process.env.ONLY
          ? interpretSchedule(s, m)
          : interpretProgram({ ...program, nodes: s.groups.flatMap((g) => g.nodes) }, m),
      );
      times.isched += performance.now() - t4;
      want = c.outputs.map((o) =>
        typeof o === 'boolean'
          ? { dtype: 'bool', shape: [], strides: [], offset: 0, data: Uint8Array.of(o ? 1 : 0) }
          : o,
      );
      const tol = c.tol ?? c.tolerance ?? {};
      const bad = want.findIndex((w, k) => !close(outs[k], w));
      if (bad !== -1)
        wrong.push(
          `${c.id}: out ${bad}: ${[...elements(outs[bad])].slice(0, 6)} not ${[...elements(want[bad])].slice(0, 6)} (${outs[bad].dtype} ${outs[bad].shape})`,
        );
      else ok += 1;
      const bad2 = outs.findIndex((w, k) => !close(souts[k], w));
      if (bad2 !== -1)
        schedWrong.push(
          `${c.id}: out ${bad2}: ${[...elements(souts[bad2])].slice(0, 6)} not ${[...elements(outs[bad2])].slice(0, 6)} (${souts[bad2].dtype} ${souts[bad2].shape})`,
        );
    } catch (e) {
      errors.push(
        `${c.id} [${stage}]: ${e.code ?? ''} ${String(e.message).slice(0, 200)} ${stage !== 'graph' && !e.code ? String(e.stack).split('\n').slice(1, 3).join(' ') : ''}`,
      );
    }
  }
  function close(a, b) {
    const [x, y] = [elements(a), elements(b)];
    if (x.length !== y.length) return false;
    const eps = { float64: 1e-9, float32: 2e-5, float16: 4e-3, bfloat16: 3e-2 }[b.dtype] ?? 0;
    const scale = Math.max(1, ...Array.from(y, (v) => (Number.isFinite(Number(v)) ? Math.abs(Number(v)) : 0)));
    for (let k = 0; k < x.length; k += 1) {
      const [p, q] = [Number(x[k]), Number(y[k])];
      if (Object.is(p, q) || p === q || (p !== p && q !== q)) continue;
      if (!(Math.abs(p - q) <= eps * Math.max(1, Math.abs(q)) + eps * 0.1 * scale)) return false;
    }
    return true;
  }
  writeFileSync(
    '/tmp/golden.txt',
    `${n} cases, ok ${ok}, skipped ${skipped}, wrong ${wrong.length}, errors ${errors.length}, schedWrong ${schedWrong.length} ${JSON.stringify(times)}\nWRONG\n${wrong.join('\n')}\nERRORS\n${errors.join('\n')}\nSCHED\n${schedWrong.join('\n')}\n`,
  );
}, 600000);
