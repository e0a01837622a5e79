// For tests and measurements: compiles units with g++, and runs an entry in a process of its own on given buffers. The
// driver is a small C++ program with a pool of a few lines, so that no test depends on the bridge of the runtime package.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sha256 } from '@tsinductor/base';

const driver = String.raw`
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <vector>
struct Runtime {
  void (*parallel)(void (*body)(void *, long, long), void *, long, long);
  long threads;
};
static long threads = 1;
static std::atomic<long> generation{0}, next_unit{0}, working{0};
// Who waits keeps its processor only where each thread has one, and time is measured.
static bool spins = false;
static void wait_while(std::atomic<long> &number, long value) {
  while (number.load(std::memory_order_acquire) == value)
    if (spins) __builtin_ia32_pause();
    else number.wait(value, std::memory_order_acquire);
}
static void (*job_body)(void *, long, long);
static void *job_context;
static long job_total, job_grain;
static void take() {
  for (;;) {
    long begin = next_unit.fetch_add(job_grain);
    if (begin >= job_total) return;
    job_body(job_context, begin, begin + job_grain < job_total ? begin + job_grain : job_total);
  }
}
static void worker() {
  long seen = 0;
  for (;;) {
    wait_while(generation, seen);
    ++seen;
    take();
    if (working.fetch_sub(1, std::memory_order_acq_rel) == 1 && !spins) working.notify_one();
  }
}
static void parallel(void (*body)(void *, long, long), void *context, long total, long grain) {
  job_body = body; job_context = context; job_total = total; job_grain = grain;
  next_unit = 0; working = threads - 1;
  generation.fetch_add(1, std::memory_order_release);
  if (!spins) generation.notify_all();
  take();
  for (long left; (left = working.load(std::memory_order_acquire)) != 0;) wait_while(working, left);
}
static double now() { timespec t; clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
// driver lib entry data threads repeats nbuffers bytes... sizes...
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) { std::fprintf(stderr, "%s\n", dlerror()); return 2; }
  auto entry = (int (*)(char *const *, const long *, const Runtime *))dlsym(library, argv[2]);
  if (!entry) { std::fprintf(stderr, "no entry\n"); return 2; }
  threads = atol(argv[4]);
  long repeats = atol(argv[5]), count = atol(argv[6]);
  spins = repeats > 0 && threads <= (long)std::thread::hardware_concurrency();
  for (long t = 1; t < threads; ++t) std::thread(worker).detach();
  std::vector<char *> buffers;
  std::vector<long> bytes, sizes;
  FILE *file = std::fopen(argv[3], "rb");
  for (long i = 0; i < count; ++i) {
    long n = atol(argv[7 + i]);
    char *p = (char *)aligned_alloc(1 << 21, (n + (1 << 21)) & ~((1L << 21) - 1));
    if (n >= 4 << 20) madvise(p, (n + (1 << 21)) & ~((1L << 21) - 1), MADV_HUGEPAGE);
    if (n > 0 && std::fread(p, 1, n, file) != (size_t)n) std::memset(p, 0, n);
    bytes.push_back(n); buffers.push_back(p);
  }
  std::fclose(file);
  for (int i = 7 + count; i < argc; ++i) sizes.push_back(atol(argv[i]));
  Runtime runtime{parallel, threads};
  int status = entry(buffers.data(), sizes.data(), &runtime);
  double best = 1e30;
  for (long r = 0; r < repeats; ++r) {
    double start = now();
    status |= entry(buffers.data(), sizes.data(), &runtime);
    double spent = now() - start;
    if (spent < best) best = spent;
  }
  if (repeats == 0) {
    file = std::fopen(argv[3], "wb");
    for (long i = 0; i < count; ++i) std::fwrite(buffers[i], 1, bytes[i], file);
    std::fclose(file);
  }
  std::printf("%d %.0f\n", status, best);
  std::fflush(stdout);
  _exit(0);
}
`.replace('#include <vector>', '#include <unistd.h>\n#include <vector>');

const flags: readonly string[] = [
  '-std=c++17', '-O2', '-march=native', '-shared', '-fPIC', '-nostdlib', '-fno-math-errno', '-ffp-contract=off', '-fwrapv',
  '-fno-exceptions', '-fno-rtti', '-fno-strict-aliasing', '-Wall', '-Werror', '-Wno-unused-function', '-Wno-unused-variable', '-Wno-tautological-compare', '-Wno-psabi',
]; // prettier-ignore

const scratch = path.join(tmpdir(), 'tsinductor-codegen-tests');

function run(command: string, args: readonly string[], input?: string): string {
  const result = spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')}\n${result.stderr}`);
  return result.stdout;
}

/** Whether this machine can run the host ring. */
export const hasCompiler = (): boolean => spawnSync('g++', ['--version']).status === 0;

function driverPath(): string {
  mkdirSync(scratch, { recursive: true });
  const file = path.join(scratch, `driver-${sha256(driver).slice(0, 12)}`);
  if (existsSync(file)) return file;
  // Other test processes may make it, too: it has its name when it is whole.
  const made = `${file}-${String(process.pid)}`;
  run('g++', ['-x', 'c++', '-', '-std=c++20', '-O2', '-o', made, '-ldl', '-pthread'], driver);
  renameSync(made, file);
  return file;
}

/** Text for the compiler. */
interface NativeUnit {
  readonly name: string;
  readonly source: string;
}

interface NativeCall {
  /** In the order of the entry's table; contents are replaced by what the run left there. */
  readonly buffers: readonly Uint8Array[];
  readonly sizes: readonly number[];
  readonly threads: number;
  /** Above 0: the best time of so many runs is measured, and buffers stay as they are. */
  readonly repeats: number;
}

interface NativeResult {
  readonly status: number;
  readonly nanoseconds: number;
}

/** A compiled program, and how to call it. `dispose` removes its files. */
export interface Compiled {
  readonly library: string;
  call(entry: string, call: NativeCall): NativeResult;
  dispose(): void;
}

export function compileNative(units: readonly NativeUnit[], extra: readonly string[] = []): Compiled {
  mkdirSync(scratch, { recursive: true });
  const folder = mkdtempSync(path.join(scratch, 'run-'));
  const files = units.map(({ name, source }) => {
    const file = path.join(folder, name);
    writeFileSync(file, source);
    return file;
  });
  const library = path.join(folder, 'program.so');
  run('g++', [...flags, ...extra, '-o', library, ...files]);
  return {
    library,
    call: (entry, call) => callNative(path.join(folder, 'data'), library, { entry, ...call }),
    dispose: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function callNative(data: string, library: string, call: NativeCall & { readonly entry: string }): NativeResult {
  const { entry, buffers, sizes, threads, repeats } = call;
  writeFileSync(data, Buffer.concat(buffers.map((buffer) => Buffer.from(buffer))));
  const lengths = buffers.map((buffer) => String(buffer.byteLength));
  const args = [
    library,
    entry,
    data,
    String(threads),
    String(repeats),
    String(buffers.length),
    ...lengths,
    ...sizes.map(String),
  ];
  const [status, nanoseconds] = run(driverPath(), args).split(' ').map(Number);
  if (repeats === 0) {
    const after = readFileSync(data);
    let offset = 0;
    for (const buffer of buffers) {
      buffer.set(after.subarray(offset, offset + buffer.byteLength));
      offset += buffer.byteLength;
    }
  }
  return { status: status ?? 0, nanoseconds: nanoseconds ?? 0 };
}
