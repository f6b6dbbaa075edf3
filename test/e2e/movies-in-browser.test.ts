/**
 * Movies that were cut out of recordings, in a real browser: it shows exactly the frames that were asked for.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type CutSpan, cutMovie } from '#recording/movie-cut.ts';
import { launchChromium, NEEDS_CHROMIUM, type TestBrowser } from '../support/chromium.ts';
import { readFrameCode } from '../support/frame-code.ts';
import { encodeNumbered, encodeTone, shifted } from '../support/numbered-frames.ts';
import { assemble, type RecordedVolumes, recordVolumes } from '../support/recorded-volumes.ts';

const FPS = 30;
const START_S = 5;
const SEGMENTS_AT_S = [0, 2, 4, 6, 8].map((at) => START_S + at);
const X264 = 'libx264 -preset veryfast -g 30 -keyint_min 30 -sc_threshold 0 -bf 3';

/** The state of the page's video after a seek. */
interface Looked {
  readonly error: string | undefined;
  readonly durationS: number;
  readonly width: number;
  readonly number: number | undefined;
}

/** Serves one file at a time, in the ranges that a browser asks for. */
class FileServer implements AsyncDisposable {
  file: Uint8Array = new Uint8Array();
  readonly #server = createServer((request, response) => {
    if (request.url === '/') {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><video muted preload="auto"></video>');
      return;
    }
    const { length } = this.file;
    const [, first = '0', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const [from, until] = [Number(first), last === '' ? length : Number(last) + 1];
    const headers = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', 'content-length': until - from };
    response.writeHead(206, { ...headers, 'content-range': `bytes ${from}-${until - 1}/${length}` });
    response.end(this.file.subarray(from, until));
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', () => resolve()));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('a movie in Chromium', NEEDS_CHROMIUM, () => {
  const held = new AsyncDisposableStack();
  const server = held.use(new FileServer());
  let browser: TestBrowser;
  let page: Page;
  let url: string;
  let shownAt = 0;

  before(async () => {
    url = await server.listen();
    browser = held.use(await launchChromium());
    ({ page } = held.use(await browser.newPage()));
    await page.goto(url);
  });
  after(() => held.disposeAsync());

  /** Opens a file. */
  async function open(renditions: readonly RecordedVolumes[], span: CutSpan): Promise<void> {
    const cut = cutMovie(
      renditions.map(({ samples }) => samples),
      span,
    );
    assert.ok(cut);
    server.file = assemble(cut, renditions);
    shownAt += 1;
    await page.evaluate(`document.querySelector('video').src = '/${shownAt}.mp4'`);
  }

  /**
   * Seeks, and reads the frame that is shown. A busy browser draws it a moment after `seeked`, and shows the previous frame until then.
   * @param least @param most the numbers of the frames that are waited for, for up to a minute
   */
  async function look(atS: number, least: number, most = least): Promise<Looked> {
    return await page.evaluate(`(async () => {
      const readFrameCode = ${String(readFrameCode)};
      const video = document.querySelector('video');
      const until = (name) => new Promise((done) => {
        video.addEventListener(name, done, { once: true });
        video.addEventListener('error', done, { once: true });
      });
      if (video.readyState < 2) await until('loadeddata');
      if (video.currentTime !== ${atS}) {
        const sought = until('seeked');
        video.currentTime = ${atS};
        await sought;
      }
      const { videoWidth: width, videoHeight: height } = video;
      if (video.error) return { error: video.error.message, durationS: video.duration, width };
      const canvas = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d');
      for (let looks = 1; ; looks++) {
        canvas.drawImage(video, 0, 0);
        const { data } = canvas.getImageData(0, 0, width, height);
        const number = readFrameCode({ data, width, lineStride: 4 * width, pixelStride: 4 })?.counter;
        if ((number >= ${least} && number <= ${most}) || looks === 1200) return { durationS: video.duration, width, number };
        await new Promise((done) => setTimeout(done, 50));
      }
    })()`);
  }

  for (const codec of ['h264', 'av1'] as const) {
    it(`of ${codec} begins and ends with the frames that were asked for`, async () => {
      const encoder = codec === 'h264' ? X264 : 'libaom-av1 -usage realtime -cpu-used 8 -g 30';
      const video = shifted(await encodeNumbered({ codec, encoder, frames: 300 }), START_S);
      const sound = shifted(await encodeTone('aac', 11), START_S);
      const times = video.samples.map(({ pts }) => pts / 90_000).toSorted((a, b) => a - b);
      const renditions = [
        recordVolumes([video], { segmentsAtS: SEGMENTS_AT_S }),
        recordVolumes([sound], { segmentsAtS: SEGMENTS_AT_S, samplesPerPart: 16 }),
      ];
      for (const [first, end] of [
        [0, 300],
        [1, 2],
        [44, 131],
        [89, 180],
        [151, 153],
        [217, 300],
      ] as const) {
        const until = end === 300 ? Infinity : times[end]! - 0.0005;
        await open(renditions, { from: times[first]! - 0.0005, until });
        const begin = await look(0, first);
        assert.deepEqual([begin.error, begin.number], [undefined, first]);
        assert.ok(Math.abs(begin.durationS - (end - first) / FPS) < 0.03, `${begin.durationS} s`);
        assert.equal((await look((end - first - 0.5) / FPS, end - 1)).number, end - 1);
        const middle = Math.floor((end - first) / 2);
        assert.equal((await look((middle + 0.5) / FPS, first + middle)).number, first + middle);
      }
    });
  }

  it('whose size changes is shown before and after that, in any order, and played to its end', async () => {
    const first = await encodeNumbered({ codec: 'h264', encoder: X264, frames: 120 });
    const options = { codec: 'h264', encoder: X264, frames: 120, firstNumber: 120, width: 640, height: 360 } as const;
    const second = await encodeNumbered(options);
    const sound = await encodeTone('aac', 4);
    const segmentsAtS = [0, 2, 60, 62];
    const renditions = [
      recordVolumes([first, shifted(second, 60)], { segmentsAtS }),
      recordVolumes([sound, shifted(sound, 60)], { segmentsAtS, samplesPerPart: 16 }),
    ];
    await open(renditions, { from: -Infinity, until: Infinity });
    for (const [atS, width] of [
      [1, 320],
      [7, 640],
      [0, 320],
      [5, 640],
      [3, 320],
    ] as const) {
      // The second stretch begins after the audio of the first one, which ends a moment after its last frame.
      const expected = Math.floor(atS * FPS);
      const seen = await look(atS + 0.5 / FPS, expected - 4, expected);
      assert.deepEqual([seen.error, seen.width], [undefined, width]);
      assert.ok(seen.number! <= expected && seen.number! >= expected - 4, `frame ${seen.number} at ${atS} s`);
    }
    const ended = await page.evaluate(`(async () => {
      const video = document.querySelector('video');
      video.currentTime = 2.5;
      video.playbackRate = 4;
      await video.play();
      await new Promise((done) => { video.onended = done; video.onerror = done; });
      return { ended: video.ended, error: video.error?.message };
    })()`);
    assert.deepEqual(ended, { ended: true, error: undefined });
  });
});
