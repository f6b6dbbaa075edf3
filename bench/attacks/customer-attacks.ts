/**
 * Attacks by a customer with stream keys of its own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { HOUR_MS } from '#lib/units.ts';
import { type FlvFileTag, fixtureTags } from '../../test/support/flv-file.ts';
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import { paced, sendPaced } from '../support/sender.ts';
import { StampedMedia } from '../support/stamped-media.ts';
import type { Attack, AttackRun } from './attack.ts';

const FAT = { fps: 30, gopS: 2, bitrateBps: 40_000_000 };
const FAT_STREAMS = 4;
/** A thousand small keyframes a second. After each of them media can begin anew at another time. */
const FAST = { fps: 1000, gopS: 0.001, bitrateBps: 4_500_000 };
/** Media time runs so many times as fast as the clock. Each frame is nearly a second after the previous one; a little more would be a jump. */
const FAST_FORWARD = 900;
/** How long the server is given to read what was sent, without waiting for an answer. */
const READ_AFTER_MS = 50;
const RETRY_MS = 200;

/** The attacks, by their names in the table of results. */
export const CUSTOMER_ATTACKS: Readonly<Record<string, Attack>> = {
  'four streams of 40 Mbit/s': withEach(FAT_STREAMS, async (client, streamKey, { signal, sent }) => {
    await sendPaced(client, streamKey, FAT, { signal }).finally(() => {
      sent.bytes += client.socket.bytesWritten;
    });
  }),
  'eight keys that publish and stop at once': withEach(8, async (client, streamKey) => {
    client.tags(fixtureTags().filter(({ timestamp }) => timestamp < 500));
    client.unpublish(streamKey);
    await sleep(READ_AFTER_MS);
  }),
  'eight keys that publish for two seconds': withEach(8, async (client, streamKey) => {
    const startedAt = performance.now();
    for (const tag of fixtureTags()) {
      const waitMs = startedAt + tag.timestamp - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      client.tag(tag);
    }
    client.unpublish(streamKey);
    client.end();
    await client.closed();
  }),
  'media time that jumps at every packet': sendingAt((frame, atMs) => atMs + (frame % 2 === 0 ? 0 : 8 * HOUR_MS)),
  'media time that goes back and forth by seconds': sendingAt((frame, atMs) => atMs + (frame % 2 === 0 ? 0 : 5000)),
  'media time nine hundred times as fast': sendingAt((_frame, atMs) => atMs * FAST_FORWARD),
};

type Use = (client: RtmpClient, streamKey: string, run: AttackRun) => Promise<void>;

/** An attack that publishes to a number of streams at once, to each again and again. */
function withEach(streams: number, use: Use): Attack {
  return async (run) => {
    const { target, addresses, signal, sent } = run;
    const keepOn = async (streamKey: string) => {
      while (!signal.aborted) {
        sent.connections += 1;
        await publishOnce(streamKey).catch(() => sleep(RETRY_MS)); // refused or disconnected: it comes back
      }
    };
    const publishOnce = async (streamKey: string) => {
      await using client = await RtmpClient.publish(target.rtmpPort, streamKey, 'live', {
        from: addresses[0]!,
      });
      await use(client, streamKey, run);
    };
    await Promise.all(target.streamKeys.slice(0, streams).map(keepOn));
  };
}

/** An attack that sends the small keyframes, each with the timestamp that `timeOf` gives it. */
function sendingAt(timeOf: (frame: number, atMs: number) => number): Attack {
  return withEach(1, async (client, _streamKey, { signal, sent }) => {
    const media = new StampedMedia(FAST);
    client.tags(media.configurations());
    for await (const frame of paced(FAST.fps, signal)) {
      if (client.isClosed) return;
      const tag: FlvFileTag = media.video(frame);
      client.tag({ ...tag, timestamp: Math.round(timeOf(frame, tag.timestamp)) });
      sent.requests += 1;
      sent.bytes += tag.body.length;
    }
  });
}
