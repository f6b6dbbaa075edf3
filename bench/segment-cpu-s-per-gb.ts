/**
 * How much CPU does the server spend to serve a gigabyte in segments of 1 MB, against nginx?
 */

import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { hasNginx, startNginx } from './peers/nginx.ts';
import { broadcast } from './support/broadcast.ts';
import { runHttpLoad } from './support/http-load.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMostTimes, notMeasured } from './support/question.ts';
import { renditionUrls } from './support/rendition-reader.ts';
import { inRounds } from './support/statistics.ts';

const QUESTION = 'server CPU per GB served in segments of 1 MB';
const TARGET = { times: 2.5, unit: 's' };
/** Segments of 2 s hold 1 MB. */
const SHAPE = { fps: 30, gopS: 2, bitrateBps: 4_000_000 };
const ROUNDS = 3;
const ROUND_BYTES = 2e9;
const SEGMENT_BYTES = 1e6;

/** Answers the question above. */
export async function segmentCpuSPerGb(): Promise<readonly Answer[]> {
  if (!hasNginx()) return [notMeasured(QUESTION, 'nginx is not installed', `<= ${TARGET.times}x`)];
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await using live = await broadcast(server, SHAPE);
  const segment = await firstSegment(live.url);
  const bytes = new Uint8Array(await (await fetch(segment)).arrayBuffer());
  await using nginx = await startNginx({ 'segment.m4s': bytes });

  const { ours, theirs } = await inRounds(ROUNDS, {
    // The stream continues meanwhile, and its CPU counts as well, because a server that serves segments has a publisher.
    ours: () => secondsPerGb(server.pid, server.httpPort, segment.pathname),
    theirs: () => secondsPerGb(nginx.pid, nginx.port, '/segment.m4s'),
  });
  return [atMostTimes(QUESTION, ours, { name: 'nginx', value: theirs }, TARGET)];
}

async function firstSegment(url: string): Promise<URL> {
  const { video } = await renditionUrls(url);
  const uri = await waitFor(
    async () => readMediaPlaylist(await (await fetch(video)).text()).segments.find((each) => each.uri)?.uri,
    { what: 'a whole segment' },
  );
  return new URL(uri, video);
}

async function secondsPerGb(pid: number, port: number, path: string): Promise<number> {
  let bytes = 0;
  const spentMs = await cpuMsDuring(pid, async () => {
    ({ bytes } = await runHttpLoad({ port, path, connections: 8, limit: { requests: ROUND_BYTES / SEGMENT_BYTES } }));
  });
  return spentMs / 1000 / (bytes / 1e9);
}
