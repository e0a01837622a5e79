// A small stand-in for a Redis server, for tests: it keeps values, notes what it was asked, and misbehaves in a way that is given. As a
// program it prints its port; its arguments are the way and a file for the notes.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** What it answers to GET and SET, in each way: a text or bytes; undefined for nothing. */
const ways = {
  honest: (store, [command, key, value, ...rest]) => {
    if (command === 'GET') return bulk(store.get(key.toString()));
    if (command === 'EXISTS') return store.has(key.toString()) ? ':1\r\n' : ':0\r\n';
    if (isClaim(rest) && store.has(key.toString())) return bulk(undefined);
    store.set(key.toString(), value);
    return '+OK\r\n';
  },
  'no queue': (store, words) => ways.honest(store, words),
  silent: () => undefined,
  garbage: () => Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 37 + 11) % 256)),
  number: () => ':42\r\n',
  error: () => '-ERR no\r\n',
  full: (store, words) =>
    words[0] === 'SET' ? "-OOM command not allowed when used memory > 'maxmemory'.\r\n" : ways.honest(store, words),
  half: (_store, _words, socket) => {
    socket.end('$100\r\nabc');
    return undefined;
  },
  closes: (_store, _words, socket) => {
    socket.destroy();
    return undefined;
  },
  endless: (_store, _words, socket) => {
    socket.write('$4000000000\r\n');
    const more = () => {
      while (!socket.destroyed && socket.write(Buffer.alloc(1 << 20)));
    };
    socket.on('drain', more);
    more();
    return undefined;
  },
  lists: () => `*200000000\r\n${'$1\r\na\r\n'.repeat(1000)}`,
  nested: () => '*1\r\n'.repeat(100_000),
  large: () => '$4294967296\r\n',
  /** What others have put there: it is given by the tests. */
  swaps: (store, [command, key]) =>
    command === 'GET' ? bulk([...store.values()].at(-1)) : ways.honest(store, [command, key]),
};

const isClaim = (words) => words.some((word) => word.toString() === 'NX');

const bulk = (value) =>
  value === undefined ? '$-1\r\n' : Buffer.concat([Buffer.from(`$${value.length}\r\n`), value, Buffer.from('\r\n')]);

/** Starts it on a loopback port; `set` puts a value there, `way` changes how it answers. */
export async function startServer({ way = 'honest', log, delay = 0 } = {}) {
  const store = new Map();
  const commands = [];
  const state = { way, delay, last: [] };
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const read = readCommand(rest);
        if (read === undefined) return;
        rest = rest.subarray(read.length);
        answer(read.words, socket);
      }
    });
  });
  const answer = (words, socket) => {
    const command = words[0].toString().toUpperCase();
    if (!['GET', 'SET', 'EXISTS'].includes(command)) {
      if (state.way === 'no queue' && command === 'CLIENT') socket.write('-NOPERM this user may not\r\n');
      else socket.write(command === 'HELLO' ? '-ERR unknown command\r\n' : '+OK\r\n');
      return;
    }
    state.last = words;
    commands.push(`${command} ${words[1]}`);
    if (log !== undefined) appendFileSync(log, `${command} ${words[1]}\n`);
    setTimeout(() => {
      const reply = ways[state.way](store, [command, ...words.slice(1)], socket);
      if (reply !== undefined && !socket.destroyed) socket.write(reply);
    }, state.delay);
  };
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...{ port: server.address().port, store, commands, state },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** The first whole command in these bytes: an array of bulk strings. */
function readCommand(bytes) {
  let position = 0;
  const line = () => {
    const end = bytes.indexOf('\r\n', position);
    if (end === -1) return undefined;
    const text = bytes.toString('latin1', position, end);
    position = end + 2;
    return text;
  };
  const head = line();
  if (head === undefined) return undefined;
  const words = [];
  for (let count = Number(head.slice(1)); count > 0; count -= 1) {
    const size = line();
    if (size === undefined) return undefined;
    const length = Number(size.slice(1));
    if (bytes.length < position + length + 2) return undefined;
    words.push(bytes.subarray(position, position + length));
    position += length + 2;
  }
  return { words, length: position };
}

if (process.argv[1] === import.meta.filename) {
  const [, , way, log, delay] = process.argv;
  const { port } = await startServer({ way, log: log === '' ? undefined : log, delay: Number(delay ?? 0) });
  console.log(port);
  process.on('disconnect', () => process.exit());
}
