/**
 * The smallest page that plays with hls.js, as anybody would write it, on an origin of its own.
 */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Serves the page until disposed. */
export interface BarePlayer extends AsyncDisposable {
  /** The URL of the page that plays a playlist. @param config settings of hls.js that differ from their defaults */
  pageUrl(playlistUrl: string, config?: object): string;
}

const PAGE = `<!doctype html><title>bare</title><link rel="icon" href="data:,">
<video muted autoplay playsinline></video>
<script type="module">
  import Hls from '/hls.mjs';
  const query = new URLSearchParams(location.search);
  const hls = new Hls(JSON.parse(query.get('config')));
  globalThis.fatal = [];
  hls.on(Hls.Events.ERROR, (_event, { fatal, details }) => fatal && globalThis.fatal.push(details));
  hls.loadSource(query.get('src'));
  hls.attachMedia(document.querySelector('video'));
  globalThis.hls = hls;
</script>`;

/** Listens on a free loopback port. */
export async function serveBarePlayer(): Promise<BarePlayer> {
  const library = await readFile(fileURLToPath(import.meta.resolve('hls.js/dist/hls.mjs')));
  const server = createServer((request, response) => {
    const isLibrary = request.url === '/hls.mjs';
    response.setHeader('content-type', isLibrary ? 'text/javascript' : 'text/html');
    response.end(isLibrary ? library : PAGE);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    pageUrl: (src, config = {}) =>
      `http://127.0.0.1:${port}/?${String(new URLSearchParams({ src, config: JSON.stringify(config) }))}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
