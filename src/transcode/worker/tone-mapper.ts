/**
 * Maps frames of high dynamic range to what eight bits and most displays can show.
 */
import {
  AV_PIX_FMT_YUV420P,
  AV_PIX_FMT_YUV420P10LE,
  AVCOL_PRI_BT709,
  AVCOL_SPC_BT709,
  AVCOL_TRC_ARIB_STD_B67,
  AVCOL_TRC_BT709,
  AVCOL_TRC_SMPTE2084,
} from 'node-av/constants';
import type { Frame } from 'node-av/lib';
import type { Size } from '#transcode/size.ts';
import { type Colours, matrixOf, ScalingStep, simplify } from './scaling-step.ts';

/** The colours of the output. */
const SDR = { colorSpace: AVCOL_SPC_BT709, colorPrimaries: AVCOL_PRI_BT709, colorTrc: AVCOL_TRC_BT709 } as const;

/**
 * Makes `yuv420p` frames of standard range and of one size. Before the first frame, and whenever the colours change, libswscale computes the
 * mapping of every colour, which takes two to three seconds of CPU time in one call.
 */
export class ToneMapper implements Disposable {
  readonly #reduction: ScalingStep;
  readonly #mapping: ScalingStep;
  readonly #onPrepare: () => void;
  /** The colours that the mapping was computed for. */
  #prepared: Colours | undefined;

  /** @param onPrepare called before a mapping is computed */
  constructor(size: Size, onPrepare: () => void) {
    this.#reduction = new ScalingStep(size, AV_PIX_FMT_YUV420P10LE);
    this.#mapping = new ScalingStep(size, AV_PIX_FMT_YUV420P);
    this.#onPrepare = onPrepare;
  }

  /** The frame in standard range, valid until the next call. */
  map(source: Frame): Frame {
    simplify(source);
    const { colorRange, colorPrimaries, colorTrc } = source;
    const colours: Colours = { colorRange, colorSpace: matrixOf(source), colorPrimaries, colorTrc };
    if (this.#prepared === undefined || !areEqual(this.#prepared, colours)) this.#onPrepare();
    this.#prepared = colours;
    // The cost of tone mapping depends on the pixels read and is ten times that of scaling, so the size is reduced first.
    const small = this.#reduction.run(source, colours);
    return this.#mapping.run(small, { ...SDR, colorRange });
  }

  [Symbol.dispose](): void {
    this.#reduction[Symbol.dispose]();
    this.#mapping[Symbol.dispose]();
  }
}

/** Whether the transfer function is HLG or PQ. */
export function isHighRange({ colorTrc }: Frame): boolean {
  return colorTrc === AVCOL_TRC_SMPTE2084 || colorTrc === AVCOL_TRC_ARIB_STD_B67;
}

function areEqual(one: Colours, other: Colours): boolean {
  return (
    one.colorRange === other.colorRange &&
    one.colorSpace === other.colorSpace &&
    one.colorPrimaries === other.colorPrimaries &&
    one.colorTrc === other.colorTrc
  );
}
