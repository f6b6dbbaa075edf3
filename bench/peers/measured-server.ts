/**
 * A whole Millrace in a process that can be asked how much memory it holds once all garbage is gone. Answers with its RTMP
 * port.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startServer, type TestServer } from '../../test/support/server.ts';

/** What it is asked. */
export type Request = 'create' | 'memory';
/** In bytes. */
export interface MemoryAnswer {
  readonly heapBytes: number;
  /** Media still kept for viewers, as the server counts it. */
  readonly mediaBytes: number;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.once('message', (settings: Record<string, string>) => void serve(settings));
process.once('disconnect', () => process.exit());

async function serve(settings: Record<string, string>): Promise<void> {
  const server = await startServer({ settings });
  process.on('message', (request: Request) => void answer(server, request));
  process.send?.(server.rtmpPort);
}

async function answer(server: TestServer, request: Request): Promise<void> {
  if (request === 'create') {
    process.send?.((await server.api.createStream()).streamKey);
    return;
  }
  const metrics = await (await fetch(server.metricsUrl)).text();
  const mediaBytes = Number(/^millrace_media_memory_bytes (\S+)$/m.exec(metrics)?.[1]);
  // The second time takes what the first one's finalizers let go.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heapBytes: heapUsed + external, mediaBytes } satisfies MemoryAnswer);
}
