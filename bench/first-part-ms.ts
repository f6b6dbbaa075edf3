/**
 * How long after the first keyframe was sent does a client that starts at `index.m3u8` hold its first part?
 */
import { startServerProcess, type TestServer } from '../test/support/server.ts';
import { broadcast } from './support/broadcast.ts';
import { type Answer, atMost } from './support/question.ts';
import { readParts, renditionUrls } from './support/rendition-reader.ts';
import { readStamps } from './support/stamped-media.ts';
import { percentile } from './support/statistics.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const ROUNDS = 20;

/** Answers the question above. */
export async function firstPartMs(): Promise<readonly Answer[]> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await startOnce(server));
  const question = `first keyframe sent -> a client that starts at \`index.m3u8\` holds its first part, p95 of ${ROUNDS}`;
  return [atMost(question, percentile(times, 0.95), 700, 'ms')];
}

async function startOnce(server: TestServer): Promise<number> {
  await using live = await broadcast(server, SHAPE);
  const { video } = await renditionUrls(live.url);
  for await (const { body, receivedAtMs } of readParts(video, new AbortController())) {
    const first = readStamps(body)[0]!;
    // A client that comes one part late sees another part first. The time of the keyframe follows from the frame rate.
    return receivedAtMs - (first.sentAtMs - (first.frame * 1000) / SHAPE.fps);
  }
  throw new Error('the playlist ended before its first part');
}
