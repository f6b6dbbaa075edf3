/**
 * Measures the bitrate and the frame rate of a track over its last seconds. Pure: times come with the packets.
 */

import type { Rates } from '#domain/health.ts';

/** The length of media in one span. The latest spans are kept. */
const SPAN_S = 1;
const MAX_SPANS = 10;
/** A longer step of media time is an interruption, and is left out of the rates. */
const HOLE_S = 4;
/** A track that received nothing for this long has no rates. */
const SILENT_MS = 5000;

interface Span {
  readonly durationS: number;
  readonly frames: number;
  readonly sizeBytes: number;
}

/** The meter of one track. */
export class RateMeter {
  #spans: readonly Span[] = [];
  /** The growing span. */
  #startS = Number.NEGATIVE_INFINITY;
  #lastS = Number.NEGATIVE_INFINITY;
  #frames = 0;
  #sizeBytes = 0;
  #heardAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Takes the next packet.
   * @param sizeBytes the size of its data
   * @param mediaS its decoding time in seconds, never less than that of the last packet
   * @param nowMs monotonic time
   */
  add(sizeBytes: number, mediaS: number, nowMs: number): void {
    if (mediaS - this.#lastS > HOLE_S) this.#begin(mediaS);
    else if (mediaS - this.#startS >= SPAN_S) this.#closeSpan(mediaS);
    this.#lastS = mediaS;
    this.#frames += 1;
    this.#sizeBytes += sizeBytes;
    this.#heardAtMs = nowMs;
  }

  /** The rates. Undefined before there was a second of media, and when there was none for a while. */
  rates(nowMs: number): Rates | undefined {
    if (this.#spans.length === 0 || nowMs - this.#heardAtMs > SILENT_MS) return undefined;
    const sum = (of: (span: Span) => number) => this.#spans.reduce((total, span) => total + of(span), 0);
    const durationS = sum((span) => span.durationS);
    return {
      bitrateBps: (sum((span) => span.sizeBytes) * 8) / durationS,
      framesPerSecond: sum((span) => span.frames) / durationS,
    };
  }

  #closeSpan(endS: number): void {
    const span = { durationS: endS - this.#startS, frames: this.#frames, sizeBytes: this.#sizeBytes };
    this.#spans = [...this.#spans, span].slice(-MAX_SPANS);
    this.#begin(endS);
  }

  #begin(startS: number): void {
    this.#startS = startS;
    this.#frames = 0;
    this.#sizeBytes = 0;
  }
}
