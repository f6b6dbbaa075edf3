/**
 * Makes silent AAC frames: a raw data block whose elements have no spectrum (ISO/IEC 14496-3 §4.4.2.1).
 */
import type { AudioTrack } from '#media/track.ts';

/** ics_info(): a reserved bit, a long window, sine shape, no scale factor bands, no prediction. */
const ICS_INFO = '0' + '00' + '0' + '000000' + '0';
/** individual_channel_stream() after its ics_info: no section or scale factor data, no pulses, no noise shaping and no gain control. */
const NO_TOOLS = '0' + '0' + '0';
const GAIN = '00000000';

const CHANNEL = GAIN + ICS_INFO + NO_TOOLS;
/** Both channels share a window, and there is no mid/side coding. */
const PAIR = `1${ICS_INFO}00${(GAIN + NO_TOOLS).repeat(2)}`;

type Element = 'single' | 'pair' | 'low_frequency';
/** Syntactic elements (table 4.85). */
const ELEMENT_ID: Record<Element, string> = { single: '000', pair: '001', low_frequency: '011' };
const END = '111';

/** The elements of each number of channels, as channelConfiguration 1 to 7 orders them (table 1.19). */
const LAYOUTS: Readonly<Record<number, readonly Element[]>> = {
  1: ['single'],
  2: ['pair'],
  3: ['single', 'pair'],
  4: ['single', 'pair', 'single'],
  5: ['single', 'pair', 'pair'],
  6: ['single', 'pair', 'pair', 'low_frequency'],
  8: ['single', 'pair', 'pair', 'pair', 'low_frequency'],
};

const FRAMES = new Map<number, Uint8Array>();

/**
 * Returns a frame that decodes to silence. A track with an unusual channel layout gets the frame of a stereo track, which decoders play as
 * well as they can.
 * @param track AAC. With parametric stereo, the core has one channel
 */
export function silentFrame({ channels, codecString }: Pick<AudioTrack, 'channels' | 'codecString'>): Uint8Array {
  const coreChannels = codecString === 'mp4a.40.29' ? 1 : channels;
  let frame = FRAMES.get(coreChannels);
  if (frame === undefined) {
    frame = makeFrame(LAYOUTS[coreChannels] ?? ['pair']);
    FRAMES.set(coreChannels, frame);
  }
  return frame;
}

function makeFrame(layout: readonly Element[]): Uint8Array {
  const counts: Record<Element, number> = { single: 0, pair: 0, low_frequency: 0 };
  const elements = layout.map((element) => {
    const tag = (counts[element]++).toString(2).padStart(4, '0');
    return ELEMENT_ID[element] + tag + (element === 'pair' ? PAIR : CHANNEL);
  });
  const bits = elements.join('') + END;
  return Uint8Array.from(bits.match(/.{1,8}/g) ?? [], (octet) => Number.parseInt(octet.padEnd(8, '0'), 2));
}
