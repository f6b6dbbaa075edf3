/**
 * The text of a playlist with its compressed form, which is made once and shared.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RenderedPlaylist } from './hls.ts';

const compress = promisify(gzip);

/** The text of a playlist, which is compressed at most once. */
export class PlaylistText implements RenderedPlaylist {
  readonly text: string;
  readonly ended: boolean;
  #gzipped: Promise<Uint8Array> | undefined;

  constructor(text: string, ended: boolean) {
    this.text = text;
    this.ended = ended;
  }

  gzip(): Promise<Uint8Array> {
    this.#gzipped ??= compress(this.text);
    return this.#gzipped;
  }
}
