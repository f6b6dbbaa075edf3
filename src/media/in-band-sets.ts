/**
 * Parameter sets inside access units: H.264 and H.265 sequence parameter sets, AV1 sequence headers.
 *
 * A decoder obeys them whatever the decoder configuration said, so each is checked as the configuration is. Encoders repeat them at every
 * keyframe: one that was found good is recognised by its bytes and not read again.
 */
import { InvalidCodecConfigError } from './invalid-codec-config.ts';
import { MalformedAccessUnitError } from './malformed-access-unit.ts';

/** Real ones take less than 500 bytes, scaling lists included. */
const MAX_SET_BYTES = 2048;
/** Sets that are recognised: some encoders alternate between a few. */
const MAX_KNOWN = 4;
/** New sets are read up to this many bytes at once ... */
const MAX_CREDIT_BYTES = 16_384;
/** ... and afterwards up to this share of the media, so that a publisher that sends little else cannot keep the reader busy. */
const READ_SHARE = 0.02;

interface KnownSet<T> {
  readonly bytes: Uint8Array;
  readonly value: T;
}

/** The parameter sets of one track. */
export class InBandSets<T> {
  readonly #parse: (set: Uint8Array) => T;
  /** The one that was met last comes first. */
  #known: readonly KnownSet<T>[] = [];
  #creditBytes = MAX_CREDIT_BYTES;

  /** @param parse throws {@link InvalidCodecConfigError} when a set is broken or describes what is not played */
  constructor(parse: (set: Uint8Array) => T) {
    this.#parse = parse;
  }

  /** Notes that an access unit of this many bytes came. */
  unit(bytes: number): void {
    this.#creditBytes = Math.min(MAX_CREDIT_BYTES, this.#creditBytes + bytes * READ_SHARE);
  }

  /**
   * Reads a parameter set.
   * @throws {MalformedAccessUnitError} when it is not acceptable, too long, or one of too many different ones
   */
  read(set: Uint8Array): T {
    const known = this.#known.find(({ bytes }) => Buffer.compare(bytes, set) === 0);
    if (known !== undefined) return known.value;
    if (set.length > MAX_SET_BYTES) {
      throw new MalformedAccessUnitError(
        `A parameter set has ${set.length} bytes; at most ${MAX_SET_BYTES} are taken inside the media.`,
      );
    }
    this.#creditBytes -= set.length;
    if (this.#creditBytes < 0) {
      throw new MalformedAccessUnitError('The parameter sets inside the media differ too often.');
    }
    const read = { bytes: new Uint8Array(set), value: parsed(() => this.#parse(set)) };
    this.#known = [read, ...this.#known].slice(0, MAX_KNOWN);
    return read.value;
  }
}

/**
 * What `parse` reads from inside an access unit.
 * @throws {MalformedAccessUnitError} where `parse` throws an {@link InvalidCodecConfigError}
 */
export function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof InvalidCodecConfigError)) throw error;
    throw new MalformedAccessUnitError(error.message);
  }
}
