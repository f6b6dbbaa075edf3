/**
 * A publisher in this process that sends recorded media in real time, again and again, for tests in which it matters that a stream is live and
 * not what it shows. It costs a small part of the CPU time of {@link file://./publisher.ts}, and when the machine stood still, it sends what is
 * due at once, so that no media is missing.
 */
import { type FlvFileTag, fixtureTags } from './flv-file.ts';
import { recordMedia } from './recorded-media.ts';
import { RtmpClient } from './rtmp-client.ts';

/** The tag types of FLV. */
const [AUDIO, VIDEO] = [8, 9];
const SEND_EVERY_MS = 40;
/** AAC frames of 1024 samples at 48 kHz and frames of whole milliseconds fill a multiple of this exactly. */
const LOOP_S = 8;

/** Media that can be repeated. */
export interface Loop {
  /** What an encoder sends once: metadata and configurations. */
  readonly heads: readonly FlvFileTag[];
  /** In the order in which they are sent. */
  readonly media: readonly FlvFileTag[];
  readonly lengthMs: number;
}

/** Small frames at a low rate, so that a slow machine can decode, encode and draw them in time. */
export const SMALL = { width: 320, height: 180, bitrateBps: 300_000, fps: { num: 15, den: 1 }, gop: 15 } as const;

/** Encodes the media of a loop. @param video what differs from {@link SMALL} */
export async function recordLoop(video: Partial<{ gop: number; width: number; height: number }> = {}): Promise<Loop> {
  return loopOf(await recordMedia({ video: { ...SMALL, ...video }, durationS: LOOP_S }), LOOP_S * 1000);
}

/** The two seconds of the fixture. Nothing need be encoded for it, and its frames have no code. */
export const fixtureLoop = (): Loop => loopOf(fixtureTags(), 2000);

/** The beginning of recorded media, as a loop. @param lengthMs its length, after which the next round begins */
export function loopOf(tags: readonly FlvFileTag[], lengthMs: number): Loop {
  const isMedia = ({ type, body, timestamp }: FlvFileTag) =>
    (type === AUDIO || type === VIDEO) && body[1] !== 0 && timestamp < lengthMs;
  const isEndOfSequence = ({ type, body }: FlvFileTag) => type === VIDEO && body[1] === 2;
  return {
    heads: tags.filter(({ type, body }) => (type !== AUDIO && type !== VIDEO) || body[1] === 0),
    media: tags.filter((tag) => isMedia(tag) && !isEndOfSequence(tag)),
    lengthMs,
  };
}

/** A running publish. Disposing it breaks its connection. */
export interface LoopedPublisher extends AsyncDisposable {
  readonly client: RtmpClient;
  /** Ends the publish as the stop button of an encoder does. */
  stop(): Promise<void>;
}

/**
 * Starts to publish.
 * @param options.loop the fixture by default
 * @param options.aheadMs how much media is sent at once in the beginning; less than the ten seconds by which a publisher may be ahead
 * @throws {RtmpRefusedError} when the server refuses the key
 */
export async function publishLoop(
  rtmpPort: number,
  streamKey: string,
  { loop = fixtureLoop(), aheadMs = 0 }: { readonly loop?: Loop; readonly aheadMs?: number } = {},
): Promise<LoopedPublisher> {
  const client = await RtmpClient.publish(rtmpPort, streamKey);
  client.tags(loop.heads);
  let startedAt = performance.now();
  let sent = 0;
  const send = () => {
    const untilMs = performance.now() - startedAt + aheadMs;
    for (; ; sent += 1) {
      const tag = loop.media[sent % loop.media.length]!;
      const shiftMs = Math.floor(sent / loop.media.length) * loop.lengthMs;
      if (tag.timestamp + shiftMs > untilMs) break;
      client.tag(tag, shiftMs);
    }
  };
  send();
  if (aheadMs > 0) {
    // The session's clock starts when the server reads the first of this media. Later media must not be further ahead of that clock.
    await client.heard();
    startedAt = performance.now();
  }
  const sending = setInterval(send, SEND_EVERY_MS);
  client.socket.once('close', () => clearInterval(sending));
  return {
    client,
    async stop() {
      clearInterval(sending);
      client.unpublish(streamKey);
      client.end();
      await client.closed();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(sending);
      await client[Symbol.asyncDispose]();
    },
  };
}
