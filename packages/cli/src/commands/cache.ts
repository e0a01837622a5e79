// `tsinductor cache`: what is kept on disk: looked into, checked, explained, bounded, carried elsewhere.
import { writeKeyPair } from '@tsinductor/cache';
import type { Argv } from 'yargs';
import type { AddCommand, Context } from '../context.ts';
import { cacheNeedsCommand } from '../errors.ts';
import { clearCache, collectCache, listCache, showStats, verifyStored } from '../cache/contents.ts';
import type { CacheUser } from '../cache/open-cache.ts';
import { explainKey } from '../cache/why.ts';

export const addCacheCommand: AddCommand = (parser, context) => {
  const opened: Opened = () => ({ config: context.resolve().config, warn: context.warn });
  return parser.command('cache', 'what is kept on disk', (command) =>
    addChanges(addLooks(command, context, opened), context, opened).demandCommand(1, cacheNeedsCommand),
  );
};

type Opened = () => CacheUser;

/** The commands that only look. */
const addLooks = (command: Argv, context: Context, opened: Opened): Argv =>
  command
    .command('ls', 'list compiled graphs and kernels', {}, () => {
      context.finish(listCache(opened()));
    })
    .command('stats', 'how much there is of everything, and what the bounds are', {}, () => {
      context.finish(showStats(opened()));
    })
    .command(
      'why <what>',
      'why something was not found: what of its key differs from the entry that is most like it',
      (own) =>
        own.positional('what', {
          type: 'string',
          demandOption: true,
          describe: 'the beginning of a key, a name, or a module that compiles',
        }),
      async ({ what }) => {
        context.finish(await explainKey(opened(), what));
      },
    );

/** The commands that add or remove. */
const addChanges = (command: Argv, context: Context, opened: Opened): Argv =>
  command
    .command(
      'key <file>',
      'make a key that signs what this machine shares through a server, and FILE.pub, which others trust',
      (own) => own.positional('file', { type: 'string', demandOption: true, describe: 'the file of the private key' }),
      ({ file }) => {
        const { key, trust } = writeKeyPair(file);
        context.finish({
          data: { key, trust },
          status: 0,
          text: () => `${key} is for remoteCacheKey here, ${trust} for remoteCacheTrust elsewhere`,
        });
      },
    )
    .command('verify', 'read every byte; what is damaged is put away', {}, () => {
      context.finish(verifyStored(opened()));
    })
    .command('gc', 'remove what is beyond the bounds, and what nobody needs any more', {}, () => {
      context.finish(collectCache(opened()));
    })
    .command(
      'clear',
      'remove compiled graphs and kernels',
      (own) =>
        own.option('all', {
          type: 'boolean',
          default: false,
          describe: 'also bridges, measurements, and what was found out of compilers',
        }),
      ({ all }) => {
        context.finish(clearCache(opened(), { all }));
      },
    )
    .command(
      'export <file>',
      'write entries into a file, for another machine',
      (own) =>
        own
          .positional('file', { type: 'string', demandOption: true, describe: 'the file to write' })
          .option('key', { type: 'string', array: true, describe: 'beginnings of keys; all entries without it' }),
      async ({ file, key }) => {
        // The compiler is loaded for these commands only.
        const { exportCache } = await import('../cache/carry.ts');
        context.finish(exportCache(opened(), { file, keys: key }));
      },
    )
    .command(
      'import <file>',
      'put the entries of such a file into the cache: it is code that will run',
      (own) => own.positional('file', { type: 'string', demandOption: true, describe: 'what export wrote' }),
      async ({ file }) => {
        const { importCache } = await import('../cache/carry.ts');
        context.finish(importCache(opened(), file));
      },
    );
