/**
 * Writes a recording of hours in seconds: the index of real frame sizes and times, and volumes whose media is a hole, so that they take no disk.
 */
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MediaPath, newMediaPath, type StreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import type { SampleColumns } from '#media/mp4/movie.ts';
import type { Track } from '#media/track.ts';
import { encodeRecord, indexName, volumeName } from '#recording/index-file.ts';
import { describeTrack, type IndexRecord } from '#recording/index-record.ts';
import { MANIFEST_NAME, type Manifest } from '#recording/writer/protocol.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someSession } from '../../test/support/sample-records.ts';
import { startServerProcess } from '../../test/support/server.ts';
import { MEASURED } from './settings.ts';

const CONFIGS = {
  h264: '0164001fffe1001a6764001facd9405005bb0110000003001000000303c0f183196001000668ebe3cb22c0fdf8f800',
  aac: '1190',
} as const;

/** A part is a third of a second, a segment has six, and a volume is a minute. */
const PARTS_PER_S = 3;
const PARTS_PER_SEGMENT = 6;
const PARTS_PER_VOLUME = 180;
/** The number of different parts, which repeat. */
const SHAPES = 20;
const MOOF_BYTES = { video: 250, audio: 180 } as const;

/** When the recording began. */
export const RECORDED_AT_MS = 1_790_000_000_000;

/**
 * Makes a data folder with running recordings of these lengths, as a killed server leaves it: their sessions wait for their publishers.
 * @returns their paths
 */
export async function prepareRecordings(dataDir: string, hours: readonly number[]): Promise<readonly MediaPath[]> {
  const paths = hours.map(newMediaPath);
  {
    await using server = await startServerProcess({ settings: MEASURED, dataDir });
    await using store = await openStore({ dataDir, exclusive: false, logger: silentLogger });
    for (const recordingPath of paths) {
      const { id } = await server.api.createStream({ record: true });
      const stream = (await store.streams.get(id as StreamId, 'everyone'))!;
      const lastSeen = ms(Date.now());
      const reconnectUntil = ms(lastSeen + 3_600_000);
      const session = someSession(stream, { phase: 'reconnecting', reconnectUntil, lastSeen, recordingPath });
      await store.sessions.create(session);
    }
    await server.stop();
  }
  for (const [index, path] of paths.entries()) writeLongRecording(join(dataDir, 'recordings', path), hours[index]!);
  return paths;
}

/** Writes the recording of a stream of 3 Mbit/s, 30 frames per second with B-frames and times rounded to milliseconds, and audio. */
function writeLongRecording(folder: string, hours: number): void {
  mkdirSync(folder, { recursive: true });
  const manifest: Manifest = { version: 1, sessionId: 'bench', epoch: RECORDED_AT_MS, targetDurationS: 4 };
  writeFileSync(join(folder, MANIFEST_NAME), JSON.stringify(manifest));
  const renditions = [
    new Written(folder, 0, 'source', codecOf('h264').parseConfig(Buffer.from(CONFIGS.h264, 'hex'))),
    new Written(folder, 1, 'audio', codecOf('aac').parseConfig(Buffer.from(CONFIGS.aac, 'hex'))),
  ];
  const pieces: Uint8Array[] = renditions.map(({ init }) => encodeRecord(init));
  const add = (record: IndexRecord): void => void pieces.push(encodeRecord(record));
  for (let part = 0; part < hours * 3600 * PARTS_PER_S; part++) {
    for (const rendition of renditions) rendition.part(part, add);
  }
  for (const rendition of renditions) rendition.close();
  add({ type: 'sync' });
  writeFileSync(join(folder, indexName(0)), Buffer.concat(pieces));
}

class Written {
  readonly init: Extract<IndexRecord, { type: 'init' }>;
  readonly #folder: string;
  readonly #kind: Track['kind'];
  readonly #shapes: readonly SampleColumns[];
  readonly #ticksPerPart: number;
  #volume = -1;
  #offset = 0;

  constructor(folder: string, rendition: number, id: string, track: Track) {
    this.#folder = folder;
    this.#kind = track.kind;
    this.init = { type: 'init', rendition, id, number: 0, track: describeTrack(track), bytes: initSegment(track) };
    this.#shapes = Array.from({ length: SHAPES }, (_, shape) =>
      track.kind === 'video' ? frames(shape) : packets(shape),
    );
    this.#ticksPerPart = track.timescale / PARTS_PER_S;
  }

  part(part: number, add: (record: IndexRecord) => void): void {
    const { rendition, bytes } = this.init;
    if (part % PARTS_PER_VOLUME === 0) {
      this.close();
      this.#volume += 1;
      this.#offset = bytes.length;
    }
    if (part % PARTS_PER_SEGMENT === 0) {
      add({
        type: 'segment',
        rendition,
        number: part / PARTS_PER_SEGMENT,
        volume: this.#volume,
        offset: this.#offset,
        init: 0,
        startTicks: part * this.#ticksPerPart,
        programDateTimeMs: RECORDED_AT_MS + Math.round((part * 1000) / PARTS_PER_S),
        discontinuity: false,
        independent: true,
      });
    }
    const shape = this.#shapes[part % SHAPES]!;
    const isFirst = part % PARTS_PER_SEGMENT === 0;
    const samples = isFirst ? { ...shape, keyframes: shape.keyframes.map((bit, at) => (at === 0 ? 1 : bit)) } : shape;
    const moofBytes = MOOF_BYTES[this.#kind];
    const sizeBytes = moofBytes + 8 + samples.sizes.reduce((sum, size) => sum + size, 0);
    const offsetTicks = (part % PARTS_PER_SEGMENT) * this.#ticksPerPart;
    add({ type: 'part', rendition, sizeBytes, moofBytes, crc32: 0x12345678, offsetTicks, samples });
    this.#offset += sizeBytes;
  }

  /** Ends the volume. */
  close(): void {
    if (this.#volume < 0) return;
    const path = join(this.#folder, volumeName(this.init.id, this.#volume));
    writeFileSync(path, this.init.bytes);
    truncateSync(path, this.#offset);
  }
}

/** Ten frames of a third of a second, at times of whole milliseconds. */
function frames(shape: number): SampleColumns {
  const column = Array.from({ length: 10 }, (_, index) => index);
  return {
    sizes: Uint32Array.from(column, (index) => 6000 + ((shape * 977 + index * 3571) % 13_000)),
    durations: Uint32Array.from(column, (index) => (index === 0 ? 3000 : index % 3 === 0 ? 3060 : 2970)),
    compositionOffsets: Int32Array.from(column, (index) => [6030, 9000, 2970][index % 3]!),
    keyframes: new Uint8Array(10),
  };
}

/** Sixteen packets of audio, of which the last is shortened so that parts agree. */
function packets(shape: number): SampleColumns {
  const column = Array.from({ length: 16 }, (_, index) => index);
  return {
    sizes: Uint32Array.from(column, (index) => 300 + ((shape * 31 + index * 17) % 80)),
    durations: Uint32Array.from(column, (index) => (index === 15 ? 640 : 1024)),
    compositionOffsets: new Int32Array(16),
    keyframes: new Uint8Array(16).fill(1),
  };
}
