/**
 * Interfaces around hls.js: components that draw their own controls, and leave playing to hls.js with settings of their own. Each is
 * bundled as its users would bundle it, with the hls.js of this repository.
 */
import { join } from 'node:path';
import { build } from 'esbuild';

/** Names of the interfaces. */
export const INTERFACE_PLAYERS = ['@livepeer/react', 'Vidstack', 'media-chrome'] as const;
/** One of {@link INTERFACE_PLAYERS}. */
export type InterfacePlayerName = (typeof INTERFACE_PLAYERS)[number];

/** A module for each interface, whose function `mount` opens a URL in the page, and reports errors with `note(isFatal, text)`. */
const MODULES: Readonly<Record<InterfacePlayerName, string>> = {
  '@livepeer/react': `
    import { getSrc } from '@livepeer/react/external';
    import * as Player from '@livepeer/react/player';
    import { createElement } from 'react';
    import { createRoot } from 'react-dom/client';
    export function mount(src, note) {
      const props = { src: getSrc(src), autoPlay: true, volume: 0 };
      const onError = (error) => { if (error) note(true, error.type + ' ' + error.message); };
      const video = createElement(Player.Video, { muted: true });
      createRoot(document.body.appendChild(document.createElement('div'))).render(
        createElement(Player.Root, { ...props, onError }, createElement(Player.Container, null, video)));
    }`,
  Vidstack: `
    import 'vidstack/player';
    import 'vidstack/player/ui';
    import Hls from 'hls.js';
    export function mount(src, note) {
      const player = document.createElement('media-player');
      // Vidstack loads hls.js from another host unless it is given one.
      player.addEventListener('provider-change', ({ detail }) => { if (detail?.type === 'hls') detail.library = Hls; });
      player.addEventListener('hls-error', ({ detail }) => note(detail.fatal, detail.details));
      Object.assign(player, { muted: true, autoPlay: true, playsInline: true, load: 'eager' });
      player.append(document.createElement('media-provider'));
      document.body.append(player);
      player.src = { src, type: 'application/vnd.apple.mpegurl' };
    }`,
  'media-chrome': `
    import 'media-chrome';
    import 'hls-video-element';
    export function mount(src, note) {
      document.body.insertAdjacentHTML('beforeend',
        '<media-controller><hls-video slot="media" muted autoplay playsinline></hls-video>' +
        '<media-control-bar><media-play-button></media-play-button></media-control-bar></media-controller>');
      const element = document.querySelector('hls-video');
      element.src = src;
      const noteErrors = () => element.api
        ? element.api.on('hlsError', (_event, { fatal, details }) => note(fatal, details))
        : setTimeout(noteErrors, 10);
      noteErrors();
    }`,
};

/** Bundles an interface to a script that defines `opener.mount`. @throws the errors of esbuild */
export async function bundleInterface(name: InterfacePlayerName): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: MODULES[name], resolveDir: join(import.meta.dirname, '../../..') },
    bundle: true,
    format: 'iife',
    globalName: 'opener',
    platform: 'browser',
    minify: true,
    write: false,
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' },
    tsconfigRaw: {},
  });
  return outputFiles[0]!.text;
}

/** The lines of a page that open the source, and wait for the video element that the interface makes. */
export const MOUNT_INTERFACE = `
  opener.mount(src, (isFatal, text) => (isFatal ? noteFatal : noteComplaint)(text));
  const findVideo = (root) => root.querySelector('video') ??
    [...root.querySelectorAll('*')].map(({ shadowRoot }) => shadowRoot && findVideo(shadowRoot)).find(Boolean);
  while (!findVideo(document)) await new Promise((resolve) => setTimeout(resolve, 10));
  const video = findVideo(document);`;
