/**
 * How long does it take to render the playlist of a long recording after a new segment?
 */
import type { MediaPath } from '#domain/ids.ts';
import { RecordingLibrary } from '#recording/library.ts';
import type { Recorded } from '#recording/recording.ts';
import { RecordingIndex } from '#recording/recording-index.ts';
import { type Answer, atMost } from './support/question.ts';
import { median } from './support/statistics.ts';

const SEGMENT_S = 2;
const HOURS = 4;
const ROUNDS = 50;

/** Answers the question above. `dvr-viewers` asks about sizes and the cost of viewers. */
export async function recordingPlaylistMs(): Promise<readonly Answer[]> {
  const { recording, grow } = await open(HOURS * 3600);
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    grow();
    const startedAt = performance.now();
    recording.playlist('source', {}, { skip: false });
    took.push(performance.now() - startedAt);
  }
  return [atMost(`rendering an EVENT playlist of ${HOURS} h after a new segment`, median(took), 5, 'ms')];
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
    makeStill: nothing,
  });
  return { recording: (await library.open('somewhere' as MediaPath))!, grow };
}
