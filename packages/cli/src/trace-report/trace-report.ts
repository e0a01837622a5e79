// Makes the page of a trace. In: the directory that TORCH_TRACE named. Out: the page, written; and what is in it.
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { svgDrawer } from '@tsinductor/compiler';
import { plural } from '../table.ts';
import type { Outcome } from '../terminal.ts';
import { tracePage } from './page.ts';
import { readTrace } from './read-trace.ts';

/** Without a name of its own the page is `report.html` in the directory. */
export async function traceReport(directory: string, out: string | undefined): Promise<Outcome> {
  const processes = readTrace(directory);
  const page = tracePage(`Trace of ${resolve(directory)}`, processes, await svgDrawer());
  const file = resolve(out ?? join(directory, 'report.html'));
  writeFileSync(file, page);
  const events = processes.reduce((sum, one) => sum + one.events.length, 0);
  const [count, bytes] = [processes.length, Buffer.byteLength(page)];
  return {
    data: { file, processes: count, events, bytes },
    status: 0,
    text: () => `${file}: ${plural(events, 'event')} of ${plural(count, 'process', 'processes')}`,
  };
}
