/**
 * Attacks by a viewer on other viewers behind the same cache.
 */
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMediaPlaylist } from '../../test/support/hls-playlist.ts';
import { playlistNames } from '../support/rendition-reader.ts';
import type { Attack, AttackRun } from './attack.ts';

const REQUESTS_PER_S = 100;
const SEGMENTS_AHEAD = 6;
/** How many parts of each segment are asked for. A segment of the watched stream has about half as many. */
const PARTS = 13;
/** How many init segments are asked for, as if the renditions of the session changed. */
const INITS = 3;

/** The attacks, by their names in the table of results. */
export const CACHE_ATTACKS: Readonly<Record<string, Attack>> = {
  'every future name and odd queries, 100 a second': async (run) => {
    using agent = new ViewerAgent(run);
    const index = run.target.playlistPath;
    while (!run.signal.aborted) {
      const { video, audio } = playlistNames(await agent.read(index));
      for (const name of [video, audio]) {
        if (name === undefined) continue;
        const playlist = new URL(name, new URL(index, 'https://localhost')).pathname;
        const edge = readMediaPlaylist(await agent.read(playlist)).segments.at(-1)?.msn ?? 0;
        for (const path of namesAhead(playlist, edge)) {
          agent.ask(path);
          await sleep(1000 / REQUESTS_PER_S);
          if (run.signal.aborted) return;
        }
      }
    }
  },
};

/** The URLs that players will ask for soon, exactly as they will write them, and odd ones that no player writes. */
function namesAhead(playlist: string, edge: number): readonly string[] {
  const folder = playlist.slice(0, -'.m3u8'.length);
  const ahead = Array.from({ length: SEGMENTS_AHEAD }, (_, index) => edge + index);
  const parts = Array.from({ length: PARTS }, (_, index) => index);
  const reloads = ahead.flatMap((msn) => [
    `_HLS_msn=${msn}`,
    ...parts.flatMap((part) => [
      `_HLS_msn=${msn}&_HLS_part=${part}`,
      `_HLS_msn=${msn}&_HLS_part=${part}&_HLS_skip=YES`,
    ]),
  ]);
  const odd = ['_HLS_msn=x', '_HLS_part=1', '_HLS_msn=99999999', '_HLS_skip=YES', '_HLS_skip=v2', 'x=1', '_HLS_msn='];
  return [
    ...[...reloads, ...odd].map((query) => `${playlist}?${query}`),
    ...ahead.flatMap((msn) => [`${folder}/${msn}.m4s`, ...parts.map((part) => `${folder}/${msn}.${part}.m4s`)]),
    ...Array.from({ length: INITS }, (_, index) => `${folder}/init-${index}.mp4`),
  ];
}

/** Sends requests to the proxy, whatever certificate it shows. */
class ViewerAgent implements Disposable {
  readonly #run: AttackRun;
  readonly #agent: Agent;

  constructor(run: AttackRun) {
    this.#run = run;
    this.#agent = new Agent({ keepAlive: true, rejectUnauthorized: false, localAddress: run.addresses[0]! });
  }

  /** Sends a request without waiting for its answer. */
  ask(path: string): void {
    void this.read(path).catch(() => {});
  }

  /** Sends a request. @returns the body of the answer; empty when there is no answer */
  async read(path: string): Promise<string> {
    const { target, sent } = this.#run;
    sent.requests += 1;
    const { promise, resolve } = Promise.withResolvers<string>();
    const asking = request({ host: '127.0.0.1', port: target.httpPort, path, agent: this.#agent }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      answer.on('close', () => resolve(body));
    });
    asking.on('error', () => resolve(''));
    asking.end();
    return await promise;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
