// The process that compiles a program's examples: it loads the modules, which make the compiled functions, and compiles all of them for
// what they declare, side by side. In: a request, by the channel to who started it. Out: messages there, and the bundle.
import { collectDeclared, saveCacheArtifacts } from '@tsinductor/compiler';
import type { DeclaredFunction } from '@tsinductor/compiler';
import { messageOf } from './errors.ts';
import { importModule } from './import-module.ts';
import { replaceFile } from './build/replace-file.ts';
import type { BuiltFunction, ExamplesMessage, ExamplesRequest } from './build/examples-protocol.ts';

const tell = (message: ExamplesMessage): void => {
  process.send?.(message);
};

process.once('message', (request) => {
  void compileAll(request as ExamplesRequest).then((end) => {
    // What modules have started, a server say, does not keep this process.
    process.send?.(end, () => process.exit());
  });
});

// Who asked is gone.
process.once('disconnect', () => process.exit());

async function compileAll({ modules, bundle }: ExamplesRequest): Promise<ExamplesMessage> {
  const declared = collectDeclared();
  for (const file of modules) {
    try {
      await importModule(file);
    } catch (error) {
      tell({ kind: 'unloaded', file, reason: messageOf(error) });
    }
  }
  let done = 0;
  const total = declared.length;
  await Promise.all(
    declared.map(async (one) => {
      const place = { file: one.location?.file ?? modules[0] ?? '', line: one.location?.line ?? 1 };
      try {
        const built = await compileOne(one, place);
        tell({ kind: 'progress', done: ++done, total, built });
      } catch (error) {
        tell({ kind: 'failure', failure: { code: 'TSI3002', ...place, message: messageOf(error) } });
      }
    }),
  );
  const saved = saveCacheArtifacts();
  if (saved !== undefined) replaceFile(bundle, saved.bytes);
  return { kind: 'end', bytes: saved?.bytes.length ?? 0, entries: saved?.entries.length ?? 0 };
}

async function compileOne(one: DeclaredFunction, place: Pick<BuiltFunction, 'file' | 'line'>): Promise<BuiltFunction> {
  const started = performance.now();
  const calls = one.examples();
  await Promise.all(calls.map((args) => one.warmup(args)));
  // What is no single graph is compiled as it runs.
  if (one.explain().breaks.length > 0) for (const args of calls) one.run(args);
  const { graphs } = one.explain();
  return {
    name: one.name,
    ...place,
    examples: calls.length,
    graphs: graphs.length,
    kernels: graphs.reduce((sum, { kernels }) => sum + kernels.length, 0),
    milliseconds: performance.now() - started,
  };
}
