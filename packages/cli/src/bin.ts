#!/usr/bin/env node
// The `tsinductor` command: the process's arguments and streams around `runCli`.
import { runCli } from './cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  streams: {
    out: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    color: process.stdout.isTTY,
  },
});
