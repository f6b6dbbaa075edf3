/**
 * What does the playlist of a long recording cost: its size, and the CPU of viewers who follow it after 10 minutes and after 12 hours?
 */
import type { MediaPath } from '#domain/ids.ts';
import { RecordingLibrary } from '#recording/library.ts';
import type { Recorded } from '#recording/recording.ts';
import { RecordingIndex } from '#recording/recording-index.ts';
import { type Answer, atMost, show } from './support/question.ts';
import { median } from './support/statistics.ts';

const SEGMENT_S = 2;
const HOUR_S = 3600;
const LIMITS = { bytes: 300, compressed: 40, delta: 2, renderMs: 5 };
/** The largest cost of a viewer of a long recording, relative to a short one. */
const GROWTH = 1.2;
const RELOADS = 400;
const ROUNDS = 9;
/** Several viewers ask for every version, which is made once for all. */
const VIEWERS = 10;

/** Answers it. */
export async function recordingPlaylistMs(): Promise<readonly Answer[]> {
  const { recording } = await open(4 * HOUR_S);
  const full = recording.playlist('source', {}, { skip: false })!;
  const compressed = await full.gzip();
  const delta = recording.playlist('source', {}, { skip: true })!;
  const renderMs = await newestRenderMs(4 * HOUR_S);
  const short: number[] = [];
  const long: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    short.push(await reloadUs(HOUR_S / 6));
    long.push(await reloadUs(12 * HOUR_S));
  }
  const [shortUs, longUs] = [median(short), median(long)];
  return [
    atMost('EVENT playlist of 4 h', full.text.length / 1000, LIMITS.bytes, 'kB'),
    atMost('EVENT playlist of 4 h, compressed', compressed.length / 1000, LIMITS.compressed, 'kB'),
    atMost('delta update of an EVENT playlist of 4 h', delta.text.length / 1000, LIMITS.delta, 'kB'),
    atMost('rendering an EVENT playlist of 4 h after a new segment', renderMs, LIMITS.renderMs, 'ms'),
    {
      question: `CPU of a DVR viewer's reload after 12 h, against 10 min`,
      measured: `${show(longUs)} us`,
      against: `${show(shortUs)} us after 10 min`,
      ratio: longUs / shortUs,
      mustReach: `<= ${GROWTH}x`,
      reached: longUs <= GROWTH * shortUs,
    },
  ];
}

/** The time of one new segment and the reloads of it, in microseconds of CPU for each viewer. */
async function reloadUs(lengthS: number): Promise<number> {
  const { recording, grow } = await open(lengthS);
  recording.playlist('source', {}, { skip: true });
  const before = process.cpuUsage();
  for (let reload = 0; reload < RELOADS; reload += 1) {
    grow();
    for (let viewer = 0; viewer < VIEWERS; viewer += 1) {
      await recording.playlist('source', {}, { skip: true })!.gzip();
    }
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / RELOADS / VIEWERS;
}

async function newestRenderMs(lengthS: number): Promise<number> {
  const { recording, grow } = await open(lengthS);
  const took: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    grow();
    const from = performance.now();
    recording.playlist('source', {}, { skip: false });
    took.push(performance.now() - from);
  }
  return median(took);
}

/** Makes a running recording of the given length in memory. */
async function open(lengthS: number): Promise<{ recording: Recorded; grow: () => void }> {
  const index = new RecordingIndex();
  const track = {
    kind: 'video',
    codec: 'h264',
    rfc6381: 'avc1.64001f',
    timescale: 90_000,
    width: 1280,
    height: 720,
    declaredFrameRate: 30,
    videoRange: undefined,
  } as const;
  index.apply({ type: 'init', rendition: 0, id: 'source', number: 0, track, bytes: new Uint8Array(700) });
  let number = 0;
  const grow = () => {
    const startTicks = number * SEGMENT_S * 90_000;
    const programDateTimeMs = 1_790_000_000_000 + number * SEGMENT_S * 1000;
    const place = { volume: Math.floor(number / 30), offset: 0, init: 0 };
    const flags = { discontinuity: false, independent: true };
    index.apply({ type: 'segment', rendition: 0, number, ...place, startTicks, programDateTimeMs, ...flags });
    index.apply({ type: 'part', rendition: 0, sizeBytes: 750_000, samples: 60, durationTicks: SEGMENT_S * 90_000 });
    index.apply({ type: 'segment_end', rendition: 0, durationTicks: SEGMENT_S * 90_000 });
    number += 1;
  };
  while (number < lengthS / SEGMENT_S) grow();
  const manifest = { version: 1, sessionId: 'session', epoch: 1_790_000_000_000, targetDurationS: SEGMENT_S } as const;
  const nothing = () => Promise.reject(new Error('nothing is read'));
  const library = new RecordingLibrary({
    reader: { index: async () => ({ index: index.data, manifest }), read: nothing, movie: nothing },
    recorders: { running: () => undefined },
  });
  return { recording: (await library.open('somewhere' as MediaPath))!, grow };
}
