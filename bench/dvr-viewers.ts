/**
 * What does it take to serve viewers who have gone back in a running recording of hours?
 */
import { gunzipSync } from 'node:zlib';
import { startServerProcess } from '../test/support/server.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { LeanConnection } from './support/lean-http.ts';
import { prepareRecordings } from './support/long-recording.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, atMost, atMostTimes } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const HOURS = { short: 1 / 6, middle: 4, long: 12 };
/** The number of measured steps, in each of which a viewer sends the requests for one segment. */
const STEPS = 3000;
const SEGMENT_S = 2;
const KB = 1000;

/** Answers the question above. */
export async function dvrViewers(): Promise<readonly Answer[]> {
  const [short, middle, long] = [await measure(HOURS.short), await measure(HOURS.middle), await measure(HOURS.long)];
  return [
    atMost(`playlist of a recording of ${HOURS.middle} h`, middle.playlistBytes / KB, 300, 'kB'),
    atMost('the same with gzip', middle.gzipBytes / KB, 40, 'kB'),
    atMost('its delta update', middle.deltaBytes / KB, 2, 'kB'),
    atMostTimes(
      `CPU time of a viewer's step (two playlists, two segments) at ${HOURS.long} h`,
      long.stepCpuMs,
      { name: 'at 10 min', value: short.stepCpuMs },
      { times: 1.2, unit: 'ms' },
    ),
  ];
}

async function measure(hours: number) {
  await using folder = await temporaryFolder();
  const [path] = await prepareRecordings(folder.path, [hours]);
  await using server = await startServerProcess({ settings: MEASURED, dataDir: folder.path });
  using connection = await LeanConnection.open(server.httpPort);
  const get = async (file: string) => {
    const { status, body } = await connection.get(`/recordings/${path}/${file}`, { 'accept-encoding': 'gzip' });
    if (status !== 200) throw new Error(`${file}: ${status} ${body.toString()}`);
    return body;
  };
  const full = await get('source.m3u8');
  const delta = await get('source.m3u8?_HLS_skip=YES');
  const segments = Math.floor((hours * 3600) / SEGMENT_S) - 1;
  /** What a player asks for with each segment: both playlists, and a segment of each. */
  const steps = async (count: number) => {
    for (let index = 0; index < count; index += 1) {
      for (const rendition of ['source', 'audio']) {
        await get(`${rendition}.m3u8?_HLS_skip=YES`);
        await get(`${rendition}/${(index * 37) % segments}.m4s`);
      }
    }
  };
  await steps(STEPS / 10);
  return {
    playlistBytes: gunzipSync(full).length,
    gzipBytes: full.length,
    deltaBytes: delta.length,
    stepCpuMs: (await cpuMsDuring(server.pid, () => steps(STEPS))) / STEPS,
  };
}
