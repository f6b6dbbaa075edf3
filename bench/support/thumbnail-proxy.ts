/**
 * A proxy before a server that answers for thumbnails itself. A stream has thumbnails only where it is transcoded, and no machine for benches can
 * transcode a hundred.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Different pictures, as those of a transcoder are. */
const PICTURES = 20;
const SIZE = '320x180';

/** A running proxy. */
export interface ThumbnailProxy extends AsyncDisposable {
  readonly url: string;
  /** How many thumbnails were sent so far. */
  thumbnails(): number;
  /** How many requests were passed on so far. */
  others(): number;
}

/** Starts it before a port of this machine. */
export async function startThumbnailProxy(port: number): Promise<ThumbnailProxy> {
  const pictures = jpegs();
  let thumbnails = 0;
  let others = 0;
  const listening = createServer((incoming, outgoing) => {
    if (incoming.url?.includes('/thumbnail.jpg')) {
      thumbnails += 1;
      outgoing.writeHead(200, { 'content-type': 'image/jpeg', 'cache-control': 'max-age=1' });
      outgoing.end(pictures[thumbnails % PICTURES]);
      return;
    }
    others += 1;
    const { method, url, headers } = incoming;
    const passed = request({ port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    thumbnails: () => thumbnails,
    others: () => others,
    async [Symbol.asyncDispose]() {
      listening.closeAllConnections();
      listening.close();
    },
  };
}

/** Pictures that move, by ffmpeg. */
function jpegs(): readonly Buffer[] {
  const source = `testsrc2=size=${SIZE}:rate=1:duration=${PICTURES}`;
  const all = execFileSync(
    'ffmpeg',
    ['-v', 'error', '-f', 'lavfi', '-i', source, '-f', 'image2pipe', '-c:v', 'mjpeg', '-q:v', '4', '-'],
    { maxBuffer: 64 << 20 },
  );
  const starts: number[] = [];
  for (let at = all.indexOf(START); at !== -1; at = all.indexOf(START, at + 1)) starts.push(at);
  return starts.map((start, index) => all.subarray(start, starts[index + 1]));
}

/** How a JPEG begins: start of image, and the marker of its first segment. */
const START = Buffer.from([0xff, 0xd8, 0xff]);
