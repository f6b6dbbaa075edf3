/**
 * The test pattern of the test publisher: moving frames that carry their {@link FrameCode}, and a beep with a flash at every whole second of
 * media time, so that a viewer can measure how far audio and video are apart.
 */
import { drawFrameCode, type FrameCode } from './frame-code.ts';

/** Length of the beep and of the flash, in seconds. */
export const BEEP_S = 0.1;
const BEEP_HZ = 1000;

/** The three planes of a YUV 4:2:0 frame. */
export interface PicturePlanes {
  readonly width: number;
  readonly height: number;
  readonly planes: readonly [luma: Uint8Array, blue: Uint8Array, red: Uint8Array];
  /** Bytes from one line to the next, for each plane. */
  readonly lineStrides: readonly [number, number, number];
}

/**
 * Draws a whole frame: diagonal bands that move, a square that circles, the flash, and the code at the top.
 * @param mediaS media time of the frame, in seconds
 */
export function drawPicture(picture: PicturePlanes, mediaS: number, code: FrameCode): void {
  const { width, height } = picture;
  const [luma, blue, red] = picture.planes;
  const [stride] = picture.lineStrides;

  const bands = bandsOf(width);
  const shift = Math.floor(mediaS * 60);
  for (let y = 0; y < height; y += 1) {
    const from = (y + shift) % BAND_PIXELS;
    luma.set(bands.subarray(from, from + width), y * stride);
  }

  const size = Math.floor(height / 6);
  const radius = height / 5;
  const left = Math.floor(width / 2 + radius * Math.cos(mediaS * 2) - size / 2);
  const top = Math.floor(height / 2 + radius * Math.sin(mediaS * 2) - size / 2);
  fillBox(luma, stride, { left, top, width: size, height: size }, 200);
  const flashing = mediaS % 1 < BEEP_S;
  fillBox(luma, stride, { left: width - size, top: height - size, width: size, height: size }, flashing ? 235 : 16);

  blue.fill(128 + Math.round(40 * Math.sin(mediaS)));
  red.fill(128 + Math.round(40 * Math.cos(mediaS)));
  drawFrameCode(luma, width, stride, code);
}

const BAND_PIXELS = 128;
const bandCache = new Map<number, Uint8Array>();

/** A line of soft bands, long enough to be shifted by a whole band. It is drawn once for each width. */
function bandsOf(width: number): Uint8Array {
  const known = bandCache.get(width);
  if (known !== undefined) return known;
  const bands = Uint8Array.from(
    { length: width + BAND_PIXELS },
    (_, x) => 96 + 40 * Math.sin((2 * Math.PI * x) / BAND_PIXELS),
  );
  bandCache.set(width, bands);
  return bands;
}

function fillBox(
  plane: Uint8Array,
  stride: number,
  box: { left: number; top: number; width: number; height: number },
  value: number,
): void {
  for (let y = box.top; y < box.top + box.height; y += 1) {
    plane.fill(value, y * stride + box.left, y * stride + box.left + box.width);
  }
}

/**
 * Fills a block of audio: silence, and a sine of 1 kHz in the first {@link BEEP_S} of each second.
 * @param samples changed in place, -1..1
 * @param firstSample index of the first one, from the start of the media
 */
export function drawAudio(samples: Float32Array, firstSample: number, sampleRate: number): void {
  for (let index = 0; index < samples.length; index += 1) {
    const at = (firstSample + index) % sampleRate;
    samples[index] = at < BEEP_S * sampleRate ? 0.5 * Math.sin((2 * Math.PI * BEEP_HZ * at) / sampleRate) : 0;
  }
}

/**
 * Finds where beeps begin, in samples from the start of `samples`. A beep begins at the first loud sample after 50 ms of silence. The time
 * before the first sample counts as silence.
 */
export function findBeeps(samples: Float32Array, sampleRate: number): number[] {
  const beeps: number[] = [];
  let lastLoud = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < samples.length; index += 1) {
    if (Math.abs(samples[index]!) < 0.25) continue; // half of the beep's volume: AAC spreads a beep over the time before it, but more quietly
    if (index - lastLoud > sampleRate / 20) beeps.push(index);
    lastLoud = index;
  }
  return beeps;
}
