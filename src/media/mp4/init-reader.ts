/**
 * Reads the init segments that `init-segment.ts` writes: the defaults that fragments omit, and the description of the track.
 */
import type { TrackKind } from '#media/track.ts';
import { BoxReader } from './box-reader.ts';
import { MalformedMp4Error } from './malformed-mp4.ts';
import type { SampleDefaults } from './sample-defaults.ts';

/** The content of an init segment. */
export interface InitDescription {
  readonly kind: TrackKind;
  /** Ticks per second. */
  readonly timescale: number;
  /** Displayed size in pixels. 0 for audio. */
  readonly width: number;
  readonly height: number;
  /** The only entry of `stsd`, as a whole box. It is a view of the given bytes. */
  readonly sampleEntry: Uint8Array;
  readonly defaults: SampleDefaults;
}

/**
 * Reads an init segment.
 * @param bytes begin with `ftyp` and `moov`; bytes after them are not read
 * @throws {MalformedMp4Error} when they are not the init segment of one track
 */
export function readInit(bytes: Uint8Array): InitDescription {
  const file = new BoxReader(bytes);
  file.box('ftyp');
  const moov = file.box('moov').content;
  moov.box('mvhd');
  const trak = moov.box('trak').content;
  const trex = moov.box('mvex').content.box('trex').content;

  const tkhd = trak.box('tkhd').content;
  tkhd.skip(76);
  // In 16.16 fixed point, of which the whole pixels are read.
  const width = tkhd.u16();
  tkhd.skip(2);
  const height = tkhd.u16();
  const mdia = trak.box('mdia').content;
  const mdhd = mdia.box('mdhd').content;
  mdhd.skip(12);
  const timescale = mdhd.u32();
  const hdlr = mdia.box('hdlr').content;
  hdlr.skip(8);
  const kind = handlerKind(hdlr.u32());
  const minf = mdia.box('minf').content;
  minf.box();
  minf.box('dinf');
  const stsd = minf.box('stbl').content.box('stsd').content;
  stsd.skip(4);
  const entries = stsd.u32();
  const sampleEntry = stsd.box().bytes;
  trex.skip(12);
  const durationTicks = trex.u32();
  trex.skip(4);
  const defaults = { durationTicks, flags: trex.u32() };
  if (timescale === 0 || entries !== 1) throw new MalformedMp4Error('The init segment does not describe one track.');
  return { kind, timescale, width, height, sampleEntry, defaults };
}

function handlerKind(type: number): TrackKind {
  if (type === VIDEO_HANDLER) return 'video';
  if (type === AUDIO_HANDLER) return 'audio';
  throw new MalformedMp4Error('The init segment describes neither video nor audio.');
}

const VIDEO_HANDLER = Buffer.from('vide').readUInt32BE();
const AUDIO_HANDLER = Buffer.from('soun').readUInt32BE();
