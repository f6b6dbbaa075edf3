/**
 * A playlist's text with what is made of it once and shared by all who ask.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RenderedPlaylist } from './hls.ts';

const compress = promisify(gzip);

/** One text; the same text is answered to blocking requests and to others, which caches treat differently. */
export class PlaylistText {
  readonly text: string;
  readonly ended: boolean;
  #gzipped: Promise<Uint8Array> | undefined;
  #blocking: RenderedPlaylist | undefined;
  #plain: RenderedPlaylist | undefined;

  constructor(text: string, ended: boolean) {
    this.text = text;
    this.ended = ended;
  }

  /** The text as an answer; the same object every time. */
  answer(blocking: boolean): RenderedPlaylist {
    if (blocking) {
      this.#blocking ??= this.#render(true);
      return this.#blocking;
    }
    this.#plain ??= this.#render(false);
    return this.#plain;
  }

  #render(blocking: boolean): RenderedPlaylist {
    return {
      text: this.text,
      ended: this.ended,
      blocking,
      gzip: () => {
        this.#gzipped ??= compress(this.text);
        return this.#gzipped;
      },
    };
  }
}
