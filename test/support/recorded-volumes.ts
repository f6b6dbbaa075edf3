/**
 * Makes in memory what a recording has on disk: the volumes of a rendition and the columns of its index. Reads movies that are cut out of
 * the volumes.
 */
import { box, bytes, serialize } from '#media/mp4/box.ts';
import type { FragmentSample } from '#media/mp4/fragment.ts';
import { readFragment } from '#media/mp4/fragment-reader.ts';
import { readInit } from '#media/mp4/init-reader.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { movieHead } from '#media/mp4/movie.ts';
import { sampleDefaults } from '#media/mp4/sample-defaults.ts';
import type { Track } from '#media/track.ts';
import { LITERAL, type MovieCut } from '#recording/movie-layout.ts';
import type { RecordedSamples } from '#recording/recorded-samples.ts';
import { wholeFragment } from './whole-fragment.ts';

/** A stretch of media with one configuration. Times are session time. */
export interface Stretch {
  readonly track: Track;
  readonly samples: readonly FragmentSample[];
}

/** How media is cut into files. */
export interface VolumeOptions {
  /** Session times, in seconds, from which the next keyframe begins a segment. */
  readonly segmentsAtS: readonly number[];
  readonly samplesPerPart?: number;
  readonly segmentsPerVolume?: number;
}

/** A rendition as it was recorded. */
export interface RecordedVolumes {
  readonly samples: RecordedSamples;
  readonly volumes: readonly Uint8Array[];
}

/** Records a rendition. */
export function recordVolumes(stretches: readonly Stretch[], options: VolumeOptions): RecordedVolumes {
  const { segmentsAtS, samplesPerPart = 10, segmentsPerVolume = 3 } = options;
  const volumes: Uint8Array[][] = [];
  const all = new Columns();
  let segment = -1;
  let volumeBytes = 0;
  const append = (piece: Uint8Array) => {
    volumes.at(-1)!.push(piece);
    volumeBytes += piece.length;
  };
  for (const [configuration, { track, samples }] of stretches.entries()) {
    const init = initSegment(track);
    let part: FragmentSample[] = [];
    const flush = () => {
      if (part.length === 0) return;
      const written = wholeFragment(track, all.parts, part);
      all.add(written, track, { configuration, segment, volume: volumes.length - 1, at: volumeBytes });
      append(written);
      part = [];
    };
    for (const [index, sample] of samples.entries()) {
      const atS = (track.kind === 'video' ? sample.pts : sample.dts) / track.timescale;
      const wanted = segmentsAtS.findLastIndex((boundary) => boundary <= atS + 1e-6);
      const isFirst = index === 0;
      if (isFirst || (sample.keyframe && wanted > segment)) {
        flush();
        segment = Math.max(wanted, 0);
        if (isFirst || segment % segmentsPerVolume === 0) {
          volumes.push([]);
          volumeBytes = 0;
          append(init);
        }
        append(serialize(box('uuid', bytes(new Uint8Array(24)))));
      } else if (part.length === samplesPerPart) flush();
      part.push(sample);
    }
    flush();
  }
  const configurations = stretches.map(({ track }) => readInit(initSegment(track)));
  return { samples: { configurations, ...all.done() }, volumes: volumes.map((pieces) => Buffer.concat(pieces)) };
}

/** Collects the columns of parts. */
class Columns {
  parts = 0;
  readonly #parts = {
    firstSamples: [0],
    decodeTimes: [] as number[],
    segments: [] as number[],
    configurations: [] as number[],
    volumes: [] as number[],
    offsets: [] as number[],
  };
  readonly #samples = {
    sizes: [] as number[],
    durations: [] as number[],
    compositionOffsets: [] as number[],
    keyframes: [] as number[],
  };

  add(
    written: Uint8Array,
    track: Track,
    place: { configuration: number; segment: number; volume: number; at: number },
  ) {
    const read = readFragment(written, sampleDefaults(track));
    this.parts += 1;
    this.#samples.sizes.push(...read.sizes);
    this.#samples.durations.push(...read.durations);
    this.#samples.compositionOffsets.push(...read.compositionOffsets);
    this.#samples.keyframes.push(...read.keyframes);
    this.#parts.firstSamples.push(this.#samples.sizes.length);
    this.#parts.decodeTimes.push(read.baseDecodeTime);
    this.#parts.segments.push(place.segment);
    this.#parts.configurations.push(place.configuration);
    this.#parts.volumes.push(place.volume);
    this.#parts.offsets.push(place.at + read.moofBytes + 8);
  }

  done(): Pick<RecordedSamples, 'parts' | 'samples'> {
    const [parts, samples] = [this.#parts, this.#samples];
    return {
      parts: {
        firstSamples: Uint32Array.from(parts.firstSamples),
        decodeTimes: Float64Array.from(parts.decodeTimes),
        segments: Uint32Array.from(parts.segments),
        configurations: Uint16Array.from(parts.configurations),
        volumes: Uint32Array.from(parts.volumes),
        offsets: Float64Array.from(parts.offsets),
      },
      samples: {
        sizes: Uint32Array.from(samples.sizes),
        durations: Uint32Array.from(samples.durations),
        compositionOffsets: Int32Array.from(samples.compositionOffsets),
        keyframes: Uint8Array.from(samples.keyframes),
      },
    };
  }
}

/** Makes the file of a cut. */
export function assemble({ tracks, ranges }: MovieCut, renditions: readonly RecordedVolumes[]): Uint8Array {
  const mediaBytes = ranges.positions.at(-1)!;
  const pieces = [...ranges.volumes.keys()].map((index) => {
    const sizeBytes = ranges.positions[index + 1]! - ranges.positions[index]!;
    if (ranges.renditions[index] === LITERAL) return ranges.literals[ranges.volumes[index]!]!;
    const volume = renditions[ranges.renditions[index]!]!.volumes[ranges.volumes[index]!]!;
    return volume.subarray(ranges.offsets[index]!, ranges.offsets[index]! + sizeBytes);
  });
  return Buffer.concat([movieHead(tracks, mediaBytes), ...pieces]);
}
