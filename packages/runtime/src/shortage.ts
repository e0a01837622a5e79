// What to do where the machine fell short, and not the compiler: no space, no descriptors, no memory, or a place from which nothing may
// be run. In: what the system or a compiler said. Out: a hint, or nothing where it says none of this.

const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /ENOSPC|EDQUOT|no space left on device|disk quota exceeded/i,
    'the disk is full: make room on it, or name a directory on another one in `cacheDir` or TORCHINDUCTOR_CACHE_DIR',
  ],
  [
    /EMFILE|ENFILE|too many open files/i,
    'this process may not open enough files: raise the limit before it starts (`ulimit -n 1024`)',
  ],
  [
    /ENOMEM|cannot allocate memory|out of memory|memory exhausted/i,
    'memory is short: give the process more, or fewer compile threads (TORCHINDUCTOR_COMPILE_THREADS=1)',
  ],
  [
    /failed to map segment|EACCES[^;]*probe/i,
    'no code may be run from there, as on a file system that is mounted with noexec: name a directory elsewhere in `cacheDir` or TORCHINDUCTOR_CACHE_DIR',
  ],
];

/** The hint for what the machine lacks, if the text says that it lacks something. */
export const shortageHint = (text: string): string | undefined => remedies.find(([pattern]) => pattern.test(text))?.[1];
