// @ts-check
/**
 * Finds the preview picture of a position in a storyboard: WebVTT whose cues refer to tiles in sheets.
 */

/** How old the storyboard of a running recording may be before it is loaded again. */
const FRESH_MS = 15_000;
const CUE = /^(\d+):(\d\d):(\d\d\.\d{3}) --> [\d:.]+\n([^\s#]+)#xywh=(\d+),(\d+),(\d+),(\d+)$/gm;

/** @typedef {{ fromS: number, sheet: string, x: number, y: number, width: number, height: number }} Tile */

/** Loads a storyboard when it is first needed, and again while it grows. */
export class Storyboard {
  #url = '';
  #grows = false;
  #loadedAt = Number.NEGATIVE_INFINITY;
  /** @type {readonly Tile[]} */
  #tiles = [];
  #onLoaded;

  /** @param {() => void} onLoaded called when a storyboard has been loaded */
  constructor(onLoaded) {
    this.#onLoaded = onLoaded;
  }

  /**
   * Sets the storyboard to use.
   * @param {string} url the URL of `storyboard.vtt`; empty for none
   * @param {boolean} grows whether the recording still runs
   */
  use(url, grows) {
    this.#grows = grows;
    if (url === this.#url) return;
    this.#url = url;
    this.#tiles = [];
    this.#loadedAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * The tile for a position. Undefined while there is none. Loads the storyboard if necessary.
   * @param {number} positionS in seconds
   */
  at(positionS) {
    void this.#load();
    return this.#tiles.findLast(({ fromS }) => fromS <= positionS);
  }

  async #load() {
    const now = performance.now();
    if (this.#url === '' || now - this.#loadedAt < (this.#grows ? FRESH_MS : Number.POSITIVE_INFINITY)) return;
    this.#loadedAt = now;
    const url = this.#url;
    try {
      const response = await fetch(url);
      if (!response.ok || url !== this.#url) return;
      this.#tiles = this.#parse(await response.text());
      this.#onLoaded();
    } catch {
      // Without pictures, only the time is shown.
    }
  }

  /** @param {string} text @returns {readonly Tile[]} */
  #parse(text) {
    const cues = [...text.matchAll(CUE)];
    const lastSheet = cues.at(-1)?.[4];
    return cues.map(([, hours, minutes, seconds, name = '', x, y, width, height]) => {
      const sheet = new URL(name, this.#url);
      // A sheet that is not full yet will have more tiles later, with the same name.
      if (this.#grows && name === lastSheet) sheet.searchParams.set('tiles', String(cues.length));
      const fromS = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
      return { fromS, sheet: sheet.href, x: Number(x), y: Number(y), width: Number(width), height: Number(height) };
    });
  }
}
