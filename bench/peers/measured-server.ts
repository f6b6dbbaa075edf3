/**
 * A whole Millrace in a process that can be asked how much memory it holds once all garbage is gone. Answers with its RTMP
 * port.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startServer, type TestServer } from '../../test/support/server.ts';

/**
 * What it can be asked: to create a stream (its key), or one with more to it (its key and its playlist's URL); how many streams
 * have every rendition made; for the media it keeps and for its heap (bytes).
 */
export type Request = 'create' | { readonly create: object } | 'transcoded' | 'media' | 'heap';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.once('message', (settings: Record<string, string>) => void serve(settings));
process.once('disconnect', () => process.exit());

async function serve(settings: Record<string, string>): Promise<void> {
  const server = await startServer({ settings });
  process.on('message', (request: Request) => void answer(server, request));
  process.send?.(server.rtmpPort);
}

const streamIds: string[] = [];

async function answer(server: TestServer, request: Request): Promise<void> {
  if (typeof request === 'object') {
    const { id, streamKey, playbackId } = await server.api.createStream(request.create);
    streamIds.push(id);
    process.send?.({ streamKey, playlistUrl: server.playlistUrl(playbackId) });
    return;
  }
  switch (request) {
    case 'create':
      process.send?.((await server.api.createStream()).streamKey);
      break;
    case 'transcoded': {
      const streams = await Promise.all(streamIds.map((id) => server.api.getStream(id)));
      process.send?.(
        streams.filter(({ health }) => health?.renditions.every(({ state }) => state === 'running')).length,
      );
      break;
    }
    case 'media': {
      const metrics = await (await fetch(server.metricsUrl)).text();
      process.send?.(Number(/^millrace_media_memory_bytes (\S+)$/m.exec(metrics)?.[1]));
      break;
    }
    case 'heap': {
      // The second time takes what the first one's finalizers let go.
      collect();
      collect();
      const { heapUsed, external } = process.memoryUsage();
      process.send?.(heapUsed + external);
    }
  }
}
