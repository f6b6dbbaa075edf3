/**
 * Publishes recorded media in real time, again and again, at a fraction of the CPU time of an encoder.
 */
import { type FlvFileTag, fixtureTags } from './flv-file.ts';
import { RtmpClient } from './rtmp-client.ts';

/** How often media is sent: about once a frame. */
const SEND_EVERY_MS = 40;
/** The length of the fixture. */
const FIXTURE_MS = 2000;
const SCRIPT = 18;

/** Media to be sent in a loop. */
export interface Loop {
  readonly tags: readonly FlvFileTag[];
  /** After how many milliseconds of media it begins again. */
  readonly lengthMs: number;
}

/** A publisher that sends until it is disposed or stopped, or the server closes the connection. */
export interface LoopedPublisher extends AsyncDisposable {
  readonly client: RtmpClient;
  /** Stops sending, and ends the publish as an encoder does. */
  stop(): Promise<void>;
}

/**
 * Publishes media, by default the two seconds of the fixture.
 * @throws {RtmpRefusedError} when the server refuses the publish
 */
export async function publishLoop(
  rtmpPort: number,
  streamKey: string,
  { tags, lengthMs }: Loop = { tags: fixtureTags(), lengthMs: FIXTURE_MS },
): Promise<LoopedPublisher> {
  const client = await RtmpClient.publish(rtmpPort, streamKey);
  const again = tags.filter(({ type, body }) => type !== SCRIPT && !isSequenceHeader(body));
  const startedAt = performance.now();
  let left = tags;
  let shiftMs = 0;
  const send = () => {
    const untilMs = performance.now() - startedAt - shiftMs;
    const later = left.findIndex(({ timestamp }) => timestamp > untilMs);
    const due = later === -1 ? left : left.slice(0, later);
    client.tags(due, shiftMs);
    left = left.slice(due.length);
    if (left.length > 0 || untilMs < lengthMs) return;
    left = again;
    shiftMs += lengthMs;
    send();
  };
  send();
  const sending = setInterval(send, SEND_EVERY_MS);
  client.socket.once('close', () => clearInterval(sending));
  return {
    client,
    stop: async () => {
      clearInterval(sending);
      client.unpublish(streamKey);
      client.end();
      await client.closed();
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(sending);
      await client[Symbol.asyncDispose]();
    },
  };
}

/** AVC and AAC sequence headers: packet type 0 in the second byte. */
const isSequenceHeader = (body: Buffer): boolean => body[1] === 0;
