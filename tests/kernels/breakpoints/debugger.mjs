// A debugger of the main thread, as editors are: it pauses before scripts that have a source map, looks there for the line of
// the source that has a breakpoint, and sets it where the map says. At the breakpoint it evaluates an expression.
import { Session } from 'node:inspector/promises';
import { SourceMap } from 'node:module';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

const { file, line, expression } = workerData;
const seen = [];
// Listening keeps this thread alive while it waits for the other one.
parentPort.once('message', () => parentPort.postMessage(seen));
const session = new Session();
session.connectToMainThread();

/** Where a script has the line, from its source map. */
function placeOf(url) {
  const map = new SourceMap(JSON.parse(Buffer.from(url.split('base64,')[1], 'base64')));
  for (let lineNumber = 0; lineNumber < 100; lineNumber++) {
    for (let columnNumber = 0; columnNumber < 200; columnNumber++) {
      const entry = map.findEntry(lineNumber, columnNumber);
      const isThere = entry.generatedLine === lineNumber && entry.generatedColumn === columnNumber;
      if (isThere && entry.originalSource === pathToFileURL(file).href && entry.originalLine === line - 1)
        return { lineNumber, columnNumber };
    }
  }
  return undefined;
}

session.on('Debugger.paused', async ({ params: { reason, data, callFrames } }) => {
  if (reason === 'instrumentation') {
    const place = data.sourceMapURL?.startsWith('data:') ? placeOf(data.sourceMapURL) : undefined;
    if (place !== undefined)
      await session.post('Debugger.setBreakpoint', { location: { scriptId: data.scriptId, ...place } });
  } else {
    const { callFrameId } = callFrames[0];
    const { result } = await session.post('Debugger.evaluateOnCallFrame', {
      callFrameId,
      expression,
      returnByValue: true,
    });
    seen.push(result.value ?? result.description ?? null);
  }
  await session.post('Debugger.resume');
});
await session.post('Debugger.enable');
await session.post('Debugger.setInstrumentationBreakpoint', { instrumentation: 'beforeScriptWithSourceMapExecution' });
parentPort.postMessage('ready');
