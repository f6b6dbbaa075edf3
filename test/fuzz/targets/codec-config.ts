/**
 * Decoder configuration records: one that is accepted must describe a track that can be announced and packaged.
 */
import assert from 'node:assert/strict';
import { codecOf } from '#media/codecs.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { serialize } from '#media/mp4/box.ts';
import type { Track } from '#media/track.ts';
import { CONFIGS } from '../recorded.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** A codec string as playlists can hold it (RFC 6381). */
const CODEC_STRING = /^[A-Za-z0-9.]{4,64}$/;
/** The most bytes that a sample entry may have in addition to its record. */
const MAX_ENTRY_OVERHEAD_BYTES = 512;

/** The configuration records of one codec. */
export function codecConfig(name: Track['codec']): Target {
  const codec = codecOf(name);
  return {
    name: `${name}-config`,
    corpus: CONFIGS[name],
    maxBytes: 1024,
    expected: [InvalidCodecConfigError],
    open: () => ({
      read(input) {
        const track = codec.parseConfig(input);
        assert.equal(Buffer.compare(track.config, input), 0, 'the track keeps another record');
        assert.match(track.codecString, CODEC_STRING);
        const entry = serialize(codec.sampleEntry(track));
        must(entry.length <= input.length + MAX_ENTRY_OVERHEAD_BYTES, () => `a sample entry of ${entry.length} bytes`);
        return checkedKind(track);
      },
    }),
  };
}

function checkedKind(track: Track): number {
  if (track.kind === 'audio') {
    const { timescale, sampleRate, channels, samplesPerPacket } = track;
    must(
      timescale >= 7350 && timescale <= 96_000 && sampleRate >= 7350 && sampleRate <= 96_000,
      () => `a sample rate of ${sampleRate}`,
    );
    must(channels >= 1 && channels <= 255, () => `${channels} channels`);
    return behaviour(timescale, sampleRate, channels, samplesPerPacket);
  }
  const { width, height, codedWidth, codedHeight, declaredFrameRate = 1 } = track;
  for (const side of [width, height, codedWidth, codedHeight]) {
    must(Number.isSafeInteger(side) && side >= 1, () => `a frame of ${width}x${height}, ${codedWidth}x${codedHeight}`);
  }
  must(codedWidth <= 0xffff && codedHeight <= 0xffff, () => `a frame of ${codedWidth}x${codedHeight}`);
  must(declaredFrameRate > 0 && declaredFrameRate <= 300, () => `${declaredFrameRate} frames per second`);
  return behaviour(
    magnitude(width),
    magnitude(height),
    magnitude(declaredFrameRate),
    track.codecString.length,
    (track.videoRange ?? '').length,
  );
}
