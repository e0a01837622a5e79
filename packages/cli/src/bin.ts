#!/usr/bin/env node
// The `tsinductor` command: the process's arguments and streams around `runCli`.
import { runCli } from './cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  streams: {
    out: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    // What goes into a file or another program is plain text; `hasColors` follows the terminal and `NO_COLOR`.
    color: process.stdout.isTTY ? process.stdout.hasColors() : false,
  },
});
