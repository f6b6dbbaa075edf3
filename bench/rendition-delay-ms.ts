/**
 * How much later than in the source can a frame be fetched in a transcoded rendition? A frame counts as fetched together with all frames
 * before it, because it cannot be shown earlier.
 */

import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { readTrack } from '../test/support/iso-bmff.ts';
import { LADDER, playlistUrls, RENDITIONS, sourceClip, startLadders } from './support/ladder.ts';
import { type Answer, atMost, show } from './support/question.ts';
import { type ReceivedPart, readParts } from './support/rendition-reader.ts';
import { percentile } from './support/statistics.ts';

const SECONDS = 40;
const LIMIT_MS = 250;

/**
 * Answers the question above for a source whose frames come in presentation order, and for one with B-frames, as OBS sends by default. With
 * B-frames, a decoder outputs a frame two frames later here, because frames that are shown earlier are decoded after it.
 */
export async function renditionDelayMs(): Promise<readonly Answer[]> {
  return [await delayOf(0), await delayOf(2)];
}

async function delayOf(bFrames: number): Promise<Answer> {
  await using ladders = await startLadders(1, LADDER, await sourceClip(LADDER, { bFrames }));
  const { server, streams } = ladders;
  const urls = await playlistUrls(server.playlistUrl(streams[0]!.playbackId), RENDITIONS);
  const [source, ...renditions] = await Promise.all([
    whenFetchable(urls.get('source')!),
    ...LADDER.profiles.map(async ({ name }) => ({ name, times: await whenFetchable(urls.get(name)!) })),
  ]);
  const delays = renditions.map(({ name, times }) => {
    const common = [...times.keys()].filter((tick) => source.has(tick));
    if (common.length < SECONDS * LADDER.source.fps * 0.9)
      throw new Error(`only ${common.length} frames of ${name} to compare`);
    return { name, values: common.map((tick) => times.get(tick)! - source.get(tick)!) };
  });
  const all = delays.flatMap(({ values }) => values);
  const each = delays.map(({ name, values }) => `${name} ${show(percentile(values, 0.95))}`);
  const question = `frame fetchable in a rendition later than in the source, ${LADDER.name}, ${bFrames} B-frames in the source, p95`;
  return {
    ...atMost(question, percentile(all, 0.95), LIMIT_MS, 'ms'),
    details: `p50 ${show(percentile(all, 0.5))} ms; p95 ${each.join(', ')}`,
  };
}

/** When each frame and all frames before it could be fetched as parts, by the tick of the frame. */
async function whenFetchable(url: URL): Promise<ReadonlyMap<number, number>> {
  const parts: ReceivedPart[] = [];
  const until = performance.now() + SECONDS * 1000;
  for await (const part of readParts(url, { signal: AbortSignal.timeout(2 * SECONDS * 1000) })) {
    parts.push(part);
    if (performance.now() > until) break;
  }
  const { segments } = readMediaPlaylist(await (await fetch(url)).text());
  const init = Buffer.from(await (await fetch(new URL(segments[0]!.map!, url))).arrayBuffer());
  // The parts that the first playlist lists are older, so they do not count.
  const frames = parts
    .slice(2)
    .flatMap(({ body, receivedAtMs }) => readTrack(init, body).samples.map(({ pts }) => ({ pts, receivedAtMs })))
    .toSorted((a, b) => a.pts - b.pts);
  let latest = 0;
  return new Map(
    frames.map(({ pts, receivedAtMs }) => {
      latest = Math.max(latest, receivedAtMs);
      return [pts, latest] as const;
    }),
  );
}
