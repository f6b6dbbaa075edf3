/**
 * Recorders in a folder of their own, and media for them.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newMediaPath, newSessionId, newUserId } from '#domain/ids.ts';
import type { Packaged, PartSink } from '#hls/hls.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { volumeName } from '#recording/index-file.ts';
import type { SessionRecorder } from '#recording/recorder.ts';
import { FileRecorders, type FileRecordersOptions } from '#recording/recorders.ts';
import type { RecordingWarning } from '#recording/recording.ts';
import type { RecordedRendition } from '#recording/recording-index.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { Feed, type FeedOptions } from './hls-feed.ts';
import { waitFor } from './wait-for.ts';

/** How sessions are recorded in tests. */
export const RECORDERS = {
  noteFile: undefined,
  volumeS: 10,
  syncS: 2,
  maxHours: 24,
  renditions: 'all',
  minFreeBytes: 0,
  clock: systemClock,
  logger: silentLogger,
} as const;

/** Recorders with a folder of their own. */
export class Studio implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-recording-'));
  readonly path = newMediaPath();
  readonly warnings: [RecordingWarning, boolean][] = [];
  readonly recorders: FileRecorders;

  constructor(options: Partial<FileRecordersOptions> = {}) {
    this.recorders = new FileRecorders({ folder: this.folder, ...RECORDERS, ...options });
  }

  begin(path = this.path, { isContinued = false } = {}): SessionRecorder {
    return this.recorders.begin({
      sessionId: newSessionId(),
      userId: newUserId(),
      path,
      epoch: ms(1_790_000_000_000),
      targetDurationS: 4,
      isContinued,
      warn: (code, isRaised) => void this.warnings.push([code, isRaised]),
    });
  }

  /** Waits until the writer has nothing to do. */
  idle(): Promise<unknown> {
    return waitFor(() => this.recorders.pendingBytes === 0, { what: 'the writer' });
  }

  /** The bytes of a segment on disk. */
  segment(rendition: RecordedRendition, index: number): Buffer {
    const { volume, offset, sizeBytes } = rendition.segments.at(index)!;
    const file = readFileSync(join(this.folder, this.path, volumeName(rendition.id, volume)));
    return file.subarray(offset, offset + sizeBytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.recorders[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }
}

/** Remembers the bytes of every segment that viewers could get. */
export class SegmentMemory implements PartSink {
  readonly segments = new Map<string, Map<number, Uint8Array[]>>();

  write(renditionId: string, packaged: Packaged): void {
    if (packaged.type !== 'part') return;
    const ofRendition = this.segments.get(renditionId) ?? new Map<number, Uint8Array[]>();
    this.segments.set(renditionId, ofRendition);
    ofRendition.set(packaged.msn, [...(ofRendition.get(packaged.msn) ?? []), ...packaged.pieces]);
  }

  bytes(renditionId: string, msn: number): Buffer {
    return Buffer.concat(this.segments.get(renditionId)?.get(msn) ?? []);
  }
}

/** Publishes into a presentation whose parts a recorder gets, and remembers them. */
export function recorded(recorder: PartSink, options: FeedOptions): { feed: Feed; memory: SegmentMemory } {
  const memory = new SegmentMemory();
  const feed = new Feed({
    ...options,
    beforeTracks: (presentation) => {
      presentation.attach(memory);
      presentation.attach(recorder);
    },
  });
  return { feed, memory };
}
