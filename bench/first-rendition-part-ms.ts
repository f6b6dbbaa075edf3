/**
 * How long after the first keyframe was sent does a client that starts at `index.m3u8` hold the first part of every rendition?
 */
import { RtmpClient } from '../test/support/rtmp-client.ts';
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import type { Clip } from './support/clip.ts';
import { LADDER, playlistUrls, RENDITIONS, sourceClip } from './support/ladder.ts';
import { type Answer, atMost, show } from './support/question.ts';
import { readParts } from './support/rendition-reader.ts';
import { replay } from './support/sender.ts';
import { percentile } from './support/statistics.ts';

const ROUNDS = 20;
/** A transcoder starts after a second of media (`src/transcode/transcoder-pool.ts`), and everything else may take 1.2 s. */
const LIMIT_MS = 1000 + 1200;

/** Answers the question above. */
export async function firstRenditionPartMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  const clip = await sourceClip(LADDER);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await startOnce(server, clip));
  const question = `first keyframe sent -> a client holds the first part of the last rendition of ${LADDER.name}, p95 of ${ROUNDS}`;
  const answer = atMost(question, percentile(times, 0.95), LIMIT_MS, 'ms');
  return [{ ...answer, details: `p50 ${show(percentile(times, 0.5))} ms` }];
}

async function startOnce(server: TestServer, clip: Clip): Promise<number> {
  const { streamKey, playbackId } = await server.api.createStream({ profiles: LADDER.profiles });
  await using client = await RtmpClient.publish(server.rtmpPort, streamKey);
  const stop = new AbortController();
  const started = Promise.withResolvers<number>();
  const sending = replay(client, streamKey, clip, { signal: stop.signal, onStart: started.resolve });
  try {
    const urls = await playlistUrls(server.playlistUrl(playbackId), RENDITIONS);
    const arrivals = await Promise.all(LADDER.profiles.map(({ name }) => firstPartAt(urls.get(name)!, stop.signal)));
    return Math.max(...arrivals) - (await started.promise);
  } finally {
    stop.abort();
    await sending;
  }
}

async function firstPartAt(url: URL, signal: AbortSignal): Promise<number> {
  for await (const { receivedAtMs } of readParts(url, { signal })) return receivedAtMs;
  throw new Error('the playlist ended before its first part');
}
