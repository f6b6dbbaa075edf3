/**
 * Players for browsers. Each runs in Chromium, on the smallest page that its documentation suggests, from an origin other than the server's.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestBrowser } from '../chromium.ts';
import { readFrameCode } from '../frame-code.ts';
import { bundleInterface, INTERFACE_PLAYERS, type InterfacePlayerName, MOUNT_INTERFACE } from './interface-players.ts';
import { MAX_FRAMES, type Player, type PlayerReport, type Playing } from './player.ts';

/** Names of the web players. */
export const WEB_PLAYERS = ['hls.js', 'Shaka', 'video.js'] as const;
/** One of {@link WEB_PLAYERS}. */
export type WebPlayerName = (typeof WEB_PLAYERS)[number];
/** A player that a page can have. */
type PageName = WebPlayerName | InterfacePlayerName;
const isInterface = (name: PageName): name is InterfacePlayerName =>
  (INTERFACE_PLAYERS as readonly string[]).includes(name);

const packageFolder = (name: string) => join(dirname(fileURLToPath(import.meta.url)), '../../../node_modules', name);

/** The library of each player, and the lines of a page that start it. They report to `noteFatal` and `noteComplaint`. */
const PAGES: Readonly<Record<WebPlayerName, { readonly library: string; readonly script: string }>> = {
  'hls.js': {
    library: join(packageFolder('hls.js'), 'dist/hls.min.js'),
    script: `
      const hls = new Hls(JSON.parse(query.get('config')));
      hls.on(Hls.Events.ERROR, (_event, { fatal, details, response }) =>
        (fatal ? noteFatal : noteComplaint)(details + (response ? ' ' + response.code : '')));
      hls.loadSource(src);
      hls.attachMedia(video);
      const positionOf = (controller, details) => [controller?.state, details && { live: details.live, end: details.edge }];
      globalThis.insideNow = () => ({
        video: positionOf(hls.streamController, hls.latestLevelDetails),
        audio: positionOf(hls.audioStreamController, hls.audioTracks[hls.audioTrack]?.details),
      });
      globalThis.player = hls;`,
  },
  Shaka: {
    library: join(packageFolder('shaka-player'), 'dist/shaka-player.compiled.js'),
    script: `
      shaka.polyfill.installAll();
      const player = new shaka.Player();
      const noteError = (error) =>
        (error?.severity === 2 ? noteFatal : noteComplaint)(error?.code === undefined ? String(error?.stack ?? JSON.stringify(error)) : error.code + ' ' + String(error.data?.slice?.(0, 2)));
      player.addEventListener('error', ({ detail }) => noteError(detail));
      await player.attach(video);
      globalThis.player = player;
      await player.load(src).catch(noteError);
      video.play();`,
  },
  'video.js': {
    library: join(packageFolder('video.js'), 'dist/video.min.js'),
    script: `
      const player = videojs(video, { autoplay: 'muted', controls: true });
      player.on('error', () => noteFatal(player.error().code + ' ' + player.error().message));
      player.src({ src, type: 'application/vnd.apple.mpegurl' });
      globalThis.player = player;`,
  },
};

const VIDEO = '<video class="video-js" muted autoplay playsinline width="320" height="180"></video>';

/** Makes the text of a page. It has a video element, or an interface that makes one. */
const pageOf = (name: PageName) =>
  isInterface(name)
    ? page({ body: '', video: MOUNT_INTERFACE, script: '' })
    : page({ body: VIDEO, video: `const video = document.querySelector('video');`, script: PAGES[name].script });

const page = ({ body, video, script }: { readonly body: string; readonly video: string; readonly script: string }) =>
  `<!doctype html><meta charset="utf-8"><title>player</title><link rel="icon" href="data:,">
<body>${body}
<script src="/library.js"></script>
<script type="module">
  const query = new URLSearchParams(location.search);
  const src = query.get('src');
  const report = globalThis.report = { frames: [], ended: false, fatal: [], complaints: [] };
  const note = (list) => (text) => { if (list.length < 1000) list.push(String(text)); };
  const noteFatal = note(report.fatal);
  const noteComplaint = note(report.complaints);
  ${video}
  video.addEventListener('ended', () => { report.ended = true; report.endedAtMs ??= Date.now(); });
  const rangesOf = (ranges) => Array.from(ranges, (_, index) => [ranges.start(index), ranges.end(index)]);
  globalThis.reportNow = () => {
    const { currentTime, duration, readyState, networkState, paused, seeking, buffered, seekable } = video;
    const state = { currentTime, duration: String(duration), readyState, networkState, paused, seeking };
    const ranges = { buffered: rangesOf(buffered), seekable: rangesOf(seekable) };
    return { ...report, state: JSON.stringify({ ...state, ...ranges, inside: globalThis.insideNow?.() }) };
  };
  const readFrameCode = ${String(readFrameCode)};
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const watch = (element) => {
    const read = (_now, { width }) => {
      const height = Math.ceil(width / 20);
      if (canvas.canvas.width !== width) Object.assign(canvas.canvas, { width, height });
      canvas.drawImage(element, 0, 0);
      const { data } = canvas.getImageData(0, 0, width, height);
      const code = readFrameCode({ data, width, lineStride: width * 4, pixelStride: 4 });
      if (code !== undefined) report.frames.push({ atMs: Date.now(), ...code });
      if (report.frames.length > ${MAX_FRAMES}) report.frames.shift();
      element.requestVideoFrameCallback(read);
    };
    element.requestVideoFrameCallback(read);
  };
  watch(video);
  ${script}
</script>`;

/** A player in a page. */
export interface WebPlaying extends Playing {
  /** Runs a script in the page, whose `player` is the player. @returns the value of its last expression */
  run(script: string): Promise<unknown>;
}

/** Serves the pages of the web players until disposed. */
export interface WebPlayers extends AsyncDisposable {
  /** Starts to play the multivariant playlist at a URL. @param config settings of hls.js that differ from their defaults */
  play(name: PageName, url: string, config?: object): Promise<WebPlaying>;
  /** The player with this name. @param config settings of hls.js that differ from their defaults */
  player(name: PageName, config?: object): Player;
}

/** Serves the pages on a free loopback port. @param browser opens them. The caller closes it. */
export async function serveWebPlayers(browser: TestBrowser): Promise<WebPlayers> {
  const bundles = new Map<InterfacePlayerName, Promise<string>>();
  const libraryOf = async (name: PageName): Promise<string> => {
    if (!isInterface(name)) return readFileSync(PAGES[name].library, 'utf8');
    const bundle = bundles.get(name) ?? bundleInterface(name);
    bundles.set(name, bundle);
    return await bundle;
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const referrer = request.headers.referer === undefined ? undefined : new URL(request.headers.referer);
    const name = (referrer ?? url).searchParams.get('player') as PageName;
    const isLibrary = url.pathname === '/library.js';
    response.setHeader('content-type', isLibrary ? 'text/javascript; charset=utf-8' : 'text/html');
    response.setHeader('cache-control', 'no-store');
    response.setHeader('referrer-policy', 'unsafe-url');
    const text = isLibrary ? libraryOf(name) : Promise.resolve(pageOf(name));
    text.then(
      (found) => response.end(found),
      (error: Error) => response.destroy(error),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const play = async (name: PageName, src: string, config: object = {}): Promise<WebPlaying> => {
    const watched = await browser.newPage({ viewport: { width: 400, height: 225 } });
    await watched.page.goto(
      `http://127.0.0.1:${port}/?${String(new URLSearchParams({ player: name, src, config: JSON.stringify(config) }))}`,
    );
    return {
      run: (script) => watched.page.evaluate(script),
      report: async () => {
        // The frames are passed as JSON, because Playwright's own serializer takes many times as long for thousands of them.
        const report: PlayerReport = JSON.parse(
          await watched.page.evaluate<string>(
            'JSON.stringify(globalThis.reportNow?.() ?? { frames: [], ended: false, fatal: [], complaints: [] })',
          ),
        );
        return { ...report, complaints: [...report.complaints, ...watched.failedRequests, ...watched.errors] };
      },
      [Symbol.asyncDispose]: () => watched[Symbol.asyncDispose](),
    };
  };
  return {
    play,
    player: (name, config) => ({ name, play: (url) => play(name, url, config) }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
