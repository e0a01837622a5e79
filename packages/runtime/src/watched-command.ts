// A command whose process group does not outlive this process, however that ends: SIGKILL, an exit, an error. In: a command.
// Out: the command that starts it through a shell, which leaves a watcher in the group and then becomes the command itself.
//
// The watcher of a command beside this thread reads a pipe whose other end only this process has: it ends with the process, and with
// the thread that started the command. While this thread waits there is nobody to keep a pipe apart from the output, so that watcher
// looks once a second whether the command's parent is still this process. Either then ends the group and removes what it was
// working on. A shell is everywhere where native code is: elsewhere a command is started as it is.

/** How the watcher learns of this process's end. */
type WatchedBy = 'pipe' | 'parent';

/** The descriptor of the pipe in the command's shell, which the command itself does not get. */
const watchedDescriptor = 3;

/** What both forms do when this process is gone. The first parameter is a path to remove, the second this process. */
const ending = `kill -TERM 0
  sleep 0.2 || sleep 1
  case "$1" in ?*) rm -rf -- "$1" ;; esac
  kill -KILL 0`;

const waiting: Readonly<Record<WatchedBy, string>> = {
  pipe: `read -r gone <&${String(watchedDescriptor)}`,
  parent: `while while read -r name value; do case "$name" in PPid:) break ;; esac; done </proc/$$/status && [ "$value" = "$2" ]
  do sleep 1 || exit; done`,
};

const script = (by: WatchedBy): string => `(
  trap '' TERM HUP INT
  PATH="$PATH:/usr/bin:/bin"
  ${waiting[by]}
  ${ending}
) </dev/null >/dev/null 2>&1 &
shift 2
unset PWD OLDPWD SHLVL
exec "$@"${by === 'pipe' ? ` ${String(watchedDescriptor)}<&-` : ''}`;

/** Whether commands are watched on this system. */
export const isWatched = (): boolean => process.platform === 'linux';

/** The command with its watcher, which removes `scratch` (a path) when this process is gone. */
export const watchedCommand = (
  command: readonly string[],
  by: WatchedBy,
  scratch: string | undefined,
): readonly string[] => ['/bin/sh', '-c', script(by), 'sh', scratch ?? '', String(process.pid), ...command];
