/**
 * Folders of recordings, with files as the writer leaves them.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newMediaPath } from '#domain/ids.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { encodeRecord, indexName, volumeName, WHOLE_INDEX } from '#recording/index-file.ts';
import type { TrackDescription } from '#recording/index-record.ts';
import { videoTrack } from './hls-feed.ts';

const TRACK: TrackDescription = {
  kind: 'video',
  codec: 'h264',
  rfc6381: 'avc1.640028',
  timescale: 90_000,
  width: 1280,
  height: 720,
  declaredFrameRate: 30,
  videoRange: undefined,
};

const INIT = initSegment(videoTrack());

/** When the first recorded frame was shown. */
export const RECORDED_FROM_MS = 1_794_000_000_000;
/** How long each period of a recording lasts. */
export const PERIOD_MS = 60_000;

/** A recording that a test writes in the way of the recording's writer. */
export class WrittenRecording {
  readonly path = newMediaPath();
  readonly folder: string;
  readonly renditions: readonly string[];
  #periods = 0;

  /** @param folder of all recordings */
  constructor(folder: string, renditions: readonly string[] = ['source', 'audio']) {
    this.folder = join(folder, this.path);
    this.renditions = renditions;
    mkdirSync(this.folder, { recursive: true });
    this.write('manifest.json', '{"version":1}');
  }

  /** The names of all files of the recording. */
  get names(): readonly string[] {
    return readdirSync(this.folder).sort();
  }

  write(name: string, content: string | Uint8Array): void {
    writeFileSync(join(this.folder, name), content);
  }

  /** Writes a period: a segment of a minute in each rendition. Returns its number. */
  period(volumeBytes = 1000): number {
    const period = this.#periods++;
    const records = this.renditions.flatMap((id, rendition) => {
      const init = { type: 'init', rendition, id, number: 0, track: TRACK, bytes: INIT } as const;
      const segment = { type: 'segment', rendition, number: period, volume: period, offset: 100, init: 0 } as const;
      const flags = { discontinuity: false, independent: true };
      const startTicks = (90 * period * PERIOD_MS) | 0;
      const programDateTimeMs = RECORDED_FROM_MS + period * PERIOD_MS;
      const samples = {
        sizes: Uint32Array.of(volumeBytes - 200),
        durations: Uint32Array.of(90 * PERIOD_MS),
        compositionOffsets: Int32Array.of(0),
        keyframes: Uint8Array.of(1),
      };
      const sizes = { sizeBytes: volumeBytes - 100, moofBytes: 92, crc32: 0, offsetTicks: 0 };
      return [
        ...(period === 0 ? [init] : []),
        { ...segment, ...flags, startTicks, programDateTimeMs },
        { type: 'part', rendition, ...sizes, samples } as const,
        { type: 'segment_end', rendition, durationTicks: 90 * PERIOD_MS } as const,
      ];
    });
    for (const id of this.renditions) this.write(volumeName(id, period), Buffer.alloc(volumeBytes, `${id} ${period} `));
    this.write(indexName(period), Buffer.concat([...records, { type: 'sync' } as const].map(encodeRecord)));
    return period;
  }

  /** Ends the recording: one index replaces those of its periods. */
  end(): void {
    const files = Array.from({ length: this.#periods }, (_, period) => join(this.folder, indexName(period)));
    this.write(WHOLE_INDEX, Buffer.concat([...files.map((file) => readFileSync(file)), encodeRecord({ type: 'end' })]));
    for (const file of files) rmSync(file);
  }
}

/** A folder for recordings that is deleted with the test. */
export function recordingsFolder(t: { after(end: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-recordings-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
