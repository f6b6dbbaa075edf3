/**
 * All players of the tests and the bench in one list: those that run in a browser and those that are programs.
 */
import { launchChromium, type TestBrowser } from '../chromium.ts';
import { needs } from '../tools.ts';
import { INTERFACE_PLAYERS } from './interface-players.ts';
import { MPV } from './mpv-player.ts';
import type { Player } from './player.ts';
import { PROGRAM_PLAYERS, VLC } from './program-players.ts';
import { serveWebPlayers, WEB_PLAYERS } from './web-players.ts';

const LATE_HLS_JS = 'hls.js, lowLatencyMode off';
/** The names of all players. */
export const PLAYER_NAMES: readonly string[] = [
  ...WEB_PLAYERS,
  LATE_HLS_JS,
  ...INTERFACE_PLAYERS,
  ...[...PROGRAM_PLAYERS, MPV, VLC].map(({ name }) => name),
];

/** Players, with the browser that some of them need. */
export interface Players extends AsyncDisposable {
  readonly all: readonly Player[];
}

/**
 * Starts the browser, unless one is given, and serves its pages.
 * @param areAll whether mpv and VLC, which must be installed then, and the interfaces around hls.js are among the players
 */
export async function openPlayers({
  areAll = false,
  chromium,
}: {
  readonly areAll?: boolean;
  readonly chromium?: TestBrowser;
} = {}): Promise<Players> {
  const missing = areAll ? ['mpv', 'vlc'].map(needs).find(({ skip }) => skip !== false) : undefined;
  if (missing !== undefined) throw new Error(`not all players are installed: ${missing.skip}`);
  await using parts = new AsyncDisposableStack();
  const browser = chromium ?? parts.use(await launchChromium());
  const web = parts.use(await serveWebPlayers(browser));
  const all = [
    ...WEB_PLAYERS.map((name) => web.player(name)),
    { ...web.player('hls.js', { lowLatencyMode: false }), name: LATE_HLS_JS },
    ...(areAll ? INTERFACE_PLAYERS.map((name) => web.player(name)) : []),
    ...PROGRAM_PLAYERS,
    ...(areAll ? [MPV, VLC] : []),
  ];
  const running = parts.move();
  return { all, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
