// Finds a CUDA toolkit. In: what the configuration names, the values of CUDA_HOME, CUDA_PATH and PATH. Out: the nvcc that
// works and its version, or every place that was searched and what was found there, as a value.
//
// The order: the configured directory or nvcc; CUDA_HOME; CUDA_PATH; nvcc on PATH; /usr/local/cuda; /usr/local/cuda-*, the
// newest first; /opt/cuda. The first nvcc that runs and is new enough wins. Nothing is kept on disk: it takes one process.
import { accessSync, constants, readdirSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { stableHash } from '@tsinductor/base';
import { cudaToolkitNotFound } from './errors.ts';
import { runCommandSync } from './run-command.ts';

interface CudaToolkitOptions {
  /** A toolkit's directory, or an nvcc, from the configuration. */
  readonly configured?: string | undefined;
  readonly cudaHome?: string | undefined;
  readonly cudaPath?: string | undefined;
  /** The value of PATH. */
  readonly path: string;
  /** Directories in which toolkits lie as `cuda` and `cuda-*`. */
  readonly installed?: readonly string[];
}

export interface CudaToolkit {
  /** The absolute path of nvcc. */
  readonly nvcc: string;
  /** `13.0`. */
  readonly version: string;
  /** Everything that decides what it makes: for cache keys. */
  readonly fingerprint: string;
  /** The environment for its commands: nvcc looks for a C++ preprocessor on PATH. */
  readonly path: string;
  /** What settings change in its commands. */
  readonly flags?: CudaFlags;
}

/** What settings change in the commands of a toolkit. */
export interface CudaFlags {
  /** Added where source becomes PTX. */
  readonly compile: readonly string[];
  /** Added where PTX becomes machine code. */
  readonly assemble: readonly string[];
  /** Whether arithmetic may be approximate, instead of IEEE. */
  readonly fastMath: boolean;
  /** Whether machine code is optimised when it is linked. */
  readonly linkTime: boolean;
}

/** The toolkit under such flags, whose results are others'. */
export function withCudaFlags(toolkit: CudaToolkit, flags: CudaFlags): CudaToolkit {
  const { compile, assemble, fastMath, linkTime } = flags;
  if (compile.length === 0 && assemble.length === 0 && !fastMath && !linkTime) return toolkit;
  return { ...toolkit, flags, fingerprint: stableHash([toolkit.fingerprint, flags]) };
}

type SearchedToolkit = {
  /** What led here: `CUDA_HOME`, `PATH`, `/usr/local/cuda`. */
  readonly origin: string;
  readonly place: string;
} & ({ readonly outcome: 'works' } | { readonly outcome: 'absent' | 'unusable'; readonly detail: string });

export interface CudaToolkitReport {
  readonly toolkit?: CudaToolkit;
  readonly searched: readonly SearchedToolkit[];
}

/** The oldest toolkit that knows sm_90a and C++17. */
const oldestMajor = 12;
const patience = 20_000;
const defaultPlaces: readonly string[] = ['/usr/local', '/opt'];

interface Place {
  readonly origin: string;
  readonly place: string;
}

export function findCudaToolkit(options: CudaToolkitOptions): CudaToolkitReport {
  const searched: SearchedToolkit[] = [];
  for (const { origin, place } of placesOf(options)) {
    if (!isExecutable(place)) {
      searched.push({ origin, place, outcome: 'absent', detail: 'there is no executable file' });
      continue;
    }
    const probed = probe(place, options.path);
    if (typeof probed === 'string') {
      searched.push({ origin, place, outcome: 'unusable', detail: probed });
      continue;
    }
    return { toolkit: probed, searched: [...searched, { origin, place, outcome: 'works' }] };
  }
  return { searched };
}

/** The toolkit of a report, or an error that lists every place searched. */
export function requireCudaToolkit({ toolkit, searched }: CudaToolkitReport): CudaToolkit {
  if (toolkit === undefined) throw cudaToolkitNotFound(searched.map(describeSearched));
  return toolkit;
}

const describeSearched = (searched: SearchedToolkit): string =>
  `${searched.place} (${searched.origin}): ${searched.outcome === 'works' ? 'works' : searched.detail}`;

function placesOf({ configured, cudaHome, cudaPath, path, installed = defaultPlaces }: CudaToolkitOptions): Place[] {
  const named = (origin: string, value: string | undefined): Place[] =>
    value === undefined || value.trim() === '' ? [] : [{ origin, place: nvccOf(value.trim()) }];
  const onPath = path
    .split(delimiter)
    .filter((directory) => isAbsolute(directory))
    .map((directory) => ({ origin: 'PATH', place: join(directory, 'nvcc') }));
  const first = onPath.find(({ place }) => isExecutable(place)) ?? onPath[0];
  return [
    ...named('the configuration', configured),
    ...named('CUDA_HOME', cudaHome),
    ...named('CUDA_PATH', cudaPath),
    ...(first === undefined ? [] : [first]),
    ...installed.flatMap((directory) => installedIn(directory)),
  ];
}

/** The nvcc of a toolkit's directory; a file that is called nvcc is taken as it is. */
const nvccOf = (place: string): string => (/(^|\/)nvcc$/.test(place) ? place : join(place, 'bin', 'nvcc'));

function installedIn(directory: string): readonly Place[] {
  const numbered = listDirectory(directory)
    .flatMap((name) => {
      const version = /^cuda-(\d+)(?:\.(\d+))?$/.exec(name);
      return version === null ? [] : [{ name, order: Number(version[1]) * 1000 + Number(version[2] ?? 0) }];
    })
    .sort((left, right) => right.order - left.order);
  return ['cuda', ...numbered.map(({ name }) => name)].map((name) => {
    const home = join(directory, name);
    return { origin: home, place: join(home, 'bin', 'nvcc') };
  });
}

function listDirectory(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The toolkit behind an nvcc, or why it is none. */
function probe(nvcc: string, path: string): CudaToolkit | string {
  const { end, stdout, stderr } = runCommandSync([nvcc, '--version'], {
    milliseconds: patience,
    environment: { PATH: path, LC_ALL: 'C' },
  });
  if (end.kind !== 'exited' || end.status !== 0)
    return `does not run: ${describeEnd(end)} ${stderr.slice(0, 200)}`.trim();
  const version = /release (\d+)\.(\d+)/.exec(stdout);
  if (version === null) return 'is not nvcc: it tells no release';
  if (Number(version[1]) < oldestMajor)
    return `is CUDA ${version[1] ?? ''}, and ${String(oldestMajor)} or newer is needed`;
  const build = /Build (\S+)/.exec(stdout)?.[1] ?? stdout.trim();
  return {
    nvcc: realpathSync(nvcc),
    version: `${version[1] ?? ''}.${version[2] ?? ''}`,
    fingerprint: build,
    path,
  };
}

function describeEnd(end: ReturnType<typeof runCommandSync>['end']): string {
  switch (end.kind) {
    case 'exited':
      return `status ${String(end.status)}`;
    case 'signalled':
      return `signal ${end.signal}`;
    case 'notStarted':
      return end.reason;
    case 'timedOut':
    case 'aborted':
      return 'no answer in time';
  }
}
