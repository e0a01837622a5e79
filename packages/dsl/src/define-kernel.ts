// A kernel as it is written: its name, its schema, and the parsed source of its body and of the functions that it may call.
import { badSchema } from './errors.ts';
import { parseKernel } from './parse/kernel-source.ts';
import type { AnyFunction, KernelSource, SourceStart } from './parse/kernel-source.ts';
import { isDType, isIdentifier } from '@tsinductor/base';
import type { Schema, SchemaEntry } from './schema.ts';

export interface KernelDefinition {
  readonly name: string;
  readonly schema: Schema;
  readonly source: KernelSource;
  /** Declared functions by the names that the body's third parameter has for them. */
  readonly functions: Readonly<Record<string, KernelSource>>;
}

interface DefineRequest {
  readonly name: string;
  readonly schema: Schema;
  readonly body: AnyFunction;
  readonly functions?: Readonly<Record<string, AnyFunction>>;
  /** Where a function's text begins in the user's file. */
  readonly locate: (text: string) => SourceStart;
}

/** Checks name and schema, and parses the body. Throws UserError KERNEL_SCHEMA, KERNEL_SOURCE. */
export function defineKernel({ name, schema, body, functions = {}, locate }: DefineRequest): KernelDefinition {
  const text = (fn: AnyFunction): string => Function.prototype.toString.call(fn);
  const start = locate(text(body));
  const { location } = start;
  if (!isIdentifier(name))
    throw badSchema(
      `a kernel is called ${JSON.stringify(name.slice(0, 40))}`,
      'give it a name that a variable could have',
      location,
    );
  for (const [key, entry] of Object.entries(schema)) {
    if (!isIdentifier(key))
      throw badSchema(
        `the schema of ${name} has a parameter ${JSON.stringify(key.slice(0, 40))}`,
        'give it a name that a variable could have',
        location,
      );
    if (!isEntry(entry))
      throw badSchema(
        `the parameter ${key} of ${name} is neither a pointer, a dtype nor a constexpr`,
        'use ptr(f32), i32, f32 ... or constexpr',
        location,
      );
  }
  return {
    name,
    schema,
    source: parseKernel(body, start),
    functions: Object.fromEntries(
      Object.entries(functions).map(([key, fn]) => [key, parseKernel(fn, locate(text(fn)))]),
    ),
  };
}

function isEntry(entry: unknown): entry is SchemaEntry {
  if (typeof entry === 'string') return isDType(entry);
  if (typeof entry !== 'object' || entry === null) return false;
  const { kind, dtype } = entry as { kind?: unknown; dtype?: unknown };
  return kind === 'constexpr' || (kind === 'pointer' && (dtype === undefined || isDType(dtype)));
}
