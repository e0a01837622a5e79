// The line that people wrote: a place in JavaScript that a compiler or a bundler made is one in its source, by the source map
// that the file names. In: a place as stack frames say it. Out: the place in the source, or the same where no map tells more.
// Under `--enable-source-maps`, tsx, ts-node and test runners frames name the source already, which names no map of its own.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { SourceLocation } from '@tsinductor/base';
import { LRUCache } from 'lru-cache';
import { processState } from './process-state.ts';

/** A map, and the address that the names of its sources are relative to. */
export interface FileMap {
  readonly map: SourceMap;
  readonly address: URL;
}

/** How many maps are kept parsed: those of a bundle take megabytes. */
const mostMaps = 16;

export function sourcePlace(place: SourceLocation): SourceLocation {
  const found = mapOf(place.file);
  if (found === undefined) return place;
  // A map counts from zero.
  const entry = found.map.findEntry(place.line - 1, (place.column ?? 1) - 1);
  if (!('originalSource' in entry) || typeof entry.originalSource !== 'string') return place;
  const file = nameOf(entry.originalSource, found.address);
  return { file, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

/** The path of a source; what a bundler made up, as `webpack://app/./model.ts`, stays as it is. */
function nameOf(source: string, address: URL): string {
  const url = new URL(source, address);
  return url.protocol === 'file:' ? fileURLToPath(url) : source;
}

function mapOf(file: string): FileMap | undefined {
  processState.sourceMaps ??= new LRUCache({ max: mostMaps });
  const known = processState.sourceMaps.get(file);
  if (known !== undefined) return known === 'none' ? undefined : known;
  const read = readMap(file);
  processState.sourceMaps.set(file, read ?? 'none');
  return read;
}

/** Where the map of a file is: the last line says it. */
const reference = /\n\/\/[#@] sourceMappingURL=(\S+)\s*$/;

function readMap(file: string): FileMap | undefined {
  if (!/\.[cm]?jsx?$/.test(file)) return undefined;
  try {
    const [, written] = reference.exec(readFileSync(file, 'utf8')) ?? [];
    if (written === undefined) return undefined;
    const address = new URL(written, pathToFileURL(file));
    const payload = JSON.parse(textAt(address)) as SourceMapPayload;
    return { map: new SourceMap(payload), address: address.protocol === 'data:' ? pathToFileURL(file) : address };
  } catch {
    // A map that is gone or damaged says nothing: the place is the one in the file.
    return undefined;
  }
}

/** The text of a file, or of an address that holds it. */
function textAt(address: URL): string {
  if (address.protocol !== 'data:') return readFileSync(address, 'utf8');
  const [, form = '', content = ''] = /^([^,]*),(.*)$/s.exec(address.pathname) ?? [];
  return form.endsWith(';base64') ? Buffer.from(content, 'base64').toString('utf8') : decodeURIComponent(content);
}
