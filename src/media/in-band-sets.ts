/**
 * In-band parameter sets, which come inside access units: sequence parameter sets of H.264 and H.265, and sequence headers of AV1.
 *
 * A decoder uses them in place of those in the decoder configuration, so they are checked in the same way. Encoders repeat them at every
 * keyframe: a set that was accepted is recognised by its bytes and not parsed again.
 */
import { InvalidCodecConfigError } from './invalid-codec-config.ts';
import { MalformedAccessUnitError } from './malformed-access-unit.ts';

/** The largest set that is parsed. Those of encoders have less than 500 bytes, scaling lists included. */
const MAX_SET_BYTES = 2048;
/** How many sets are remembered: some encoders alternate between a few. */
const MAX_KNOWN = 4;
/** The bytes of new sets that may come at once. */
const MAX_CREDIT_BYTES = 16_384;
/** The fraction of the media's bytes that new sets may have in the long run, so that a publisher cannot keep the parser busy with them. */
const READ_SHARE = 0.02;

interface KnownSet<T> {
  readonly bytes: Uint8Array;
  readonly value: T;
}

/** The parameter sets of one track. */
export class InBandSets<T> {
  readonly #parse: (set: Uint8Array) => T;
  /** The sets that are remembered. The one that was parsed last comes first. */
  #known: readonly KnownSet<T>[] = [];
  #creditBytes = MAX_CREDIT_BYTES;

  /** @param parse throws {@link InvalidCodecConfigError} when a set is broken or describes video that is not supported */
  constructor(parse: (set: Uint8Array) => T) {
    this.#parse = parse;
  }

  /** Counts the bytes of the next access unit. */
  unit(bytes: number): void {
    this.#creditBytes = Math.min(MAX_CREDIT_BYTES, this.#creditBytes + bytes * READ_SHARE);
  }

  /**
   * Returns what a parameter set states, and parses it unless it is remembered.
   * @throws {MalformedAccessUnitError} when it is not acceptable, too long, or one of too many different ones
   */
  read(set: Uint8Array): T {
    const known = this.#known.find(({ bytes }) => Buffer.compare(bytes, set) === 0);
    if (known !== undefined) return known.value;
    if (set.length > MAX_SET_BYTES) {
      throw new MalformedAccessUnitError(
        `A parameter set has ${set.length} bytes; at most ${MAX_SET_BYTES} are allowed inside the media.`,
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
 * Returns what `parse` returns, and reports its errors as those of an access unit.
 * @throws {MalformedAccessUnitError} when `parse` throws an {@link InvalidCodecConfigError}
 */
export function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof InvalidCodecConfigError)) throw error;
    throw new MalformedAccessUnitError(error.message);
  }
}
