// A browser without a window, for tests of pages. In: a file or an address. Out: the page as it is after its scripts ran, a picture
// of it, and what it complained about. Where no browser is installed there is nothing to call, and such tests are skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

interface ShownPage {
  readonly dom: string;
  /** A PNG of the page's top. */
  readonly picture: Uint8Array;
  readonly complaints: readonly string[];
}

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Shows pages; undefined where no browser is found. */
export function headlessBrowser(): ((address: string) => ShownPage) | undefined {
  const places = (globalThis.process.env['PATH'] ?? '').split(delimiter);
  const program = names.flatMap((name) => places.map((place) => join(place, name))).find((path) => existsSync(path));
  return program === undefined ? undefined : (address) => shownBy(program, address);
}

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr', '--window-size=1250,1600'];

function shownBy(program: string, address: string): ShownPage {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-browser-'));
  try {
    const run = (flag: string): { readonly stdout: string; readonly stderr: string } =>
      spawnSync(program, [...flags, `--user-data-dir=${directory}/profile`, flag, address], { encoding: 'utf8' });
    const file = join(directory, 'picture.png');
    run(`--screenshot=${file}`);
    const { stdout, stderr } = run('--dump-dom');
    const complaints = stderr.split('\n').filter((line) => line.includes(':CONSOLE'));
    return { dom: stdout, picture: readFileSync(file), complaints };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
