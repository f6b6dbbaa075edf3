/**
 * The customers who must not notice an attack: publishers, and a low-latency viewer of each. It answers with their number once each viewer
 * has had a part, and after that with what they have seen since the last time, whenever it is asked.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import { readParts, renditionUrls } from '../support/rendition-reader.ts';
import { sendPaced } from '../support/sender.ts';
import { type MediaShape, readStamps } from '../support/stamped-media.ts';

/** Who the victims are. */
export interface VictimsJob {
  readonly rtmpPort: number;
  readonly streams: readonly { readonly streamKey: string; readonly playlistUrl: string }[];
  readonly shape: MediaShape;
  /** The loopback address they come from. */
  readonly localAddress: string;
  /** The server's own certificate, where it has one. */
  readonly certificate: string | undefined;
}

/** A part that a viewer was waiting for. */
export interface PartLatency {
  /** The number of the viewer, from 1. */
  readonly viewer: number;
  /** When the part's last frame was sent, in wall-clock milliseconds. */
  readonly sentAtMs: number;
  /** How long it took from then until the viewer had the whole part. */
  readonly latencyMs: number;
}

/** What happened to the victims. */
export interface VictimsReport {
  readonly parts: readonly PartLatency[];
  /** A sentence for each publisher that was disconnected and each viewer that got something else than it asked for. */
  readonly faults: readonly string[];
}

/** How long an encoder or a player that was disconnected waits before it connects again. */
const RETRY_MS = 500;

let parts: PartLatency[] = [];
let faults: string[] = [];
const { signal } = new AbortController();

process.on('message', (message: VictimsJob | 'report') => {
  if (message !== 'report') return start(message);
  process.send?.({ parts, faults } satisfies VictimsReport);
  parts = [];
  faults = [];
});
process.once('disconnect', () => process.exit());

function start({ rtmpPort, streams, shape, localAddress, certificate }: VictimsJob): void {
  if (certificate !== undefined) setDefaultCACertificates([...getCACertificates(), certificate]);
  let waiting = streams.length;
  const ready = () => {
    waiting -= 1;
    if (waiting === 0) process.send?.(streams.length);
  };
  for (const [index, { streamKey, playlistUrl }] of streams.entries()) {
    const publish = async () => {
      // Encoders do not all send their frames at the same moment.
      await sleep((1000 / shape.fps / streams.length) * index);
      const client = await RtmpClient.publish(rtmpPort, streamKey, 'live', { from: localAddress });
      await sendPaced(client, streamKey, shape, { signal });
    };
    let isReady = false;
    const watch = async () => {
      const { video } = await renditionUrls(playlistUrl);
      let isFirst = true;
      for await (const { body, receivedAtMs } of readParts(video, { signal, localAddress })) {
        const last = readStamps(body).at(-1);
        // The first part is already old when the viewer first sees it.
        if (!isFirst && last !== undefined) {
          parts.push({ viewer: index + 1, sentAtMs: last.sentAtMs, latencyMs: receivedAtMs - last.sentAtMs });
        }
        if (!isFirst && !isReady) ready();
        isReady ||= !isFirst;
        isFirst = false;
      }
      throw new Error('the playlist ended');
    };
    void again(`publisher ${index + 1}`, () => true, publish);
    void again(`viewer ${index + 1}`, () => isReady, watch);
  }
}

/** Runs a task again whenever it ends. An error is noted as a fault if `counts` returns true by then. */
async function again(who: string, counts: () => boolean, once: () => Promise<void>): Promise<void> {
  for (;;) {
    await once().catch((error: unknown) => {
      if (counts()) faults.push(`${who}: ${error instanceof Error ? error.message : String(error)}`);
    });
    await sleep(RETRY_MS);
  }
}
