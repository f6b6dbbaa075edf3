/**
 * Attacks that take as many places as they can, from one address or from many.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMediaPlaylist } from '../../test/support/hls-playlist.ts';
import { LeanConnection } from '../support/lean-http.ts';
import { type Attack, type AttackRun, everyTick, inTurn } from './attack.ts';
import { dial } from './flood.ts';

/** How many places an attack tries to hold: more than any limit of the attacked server. */
const PLACES = 1000;
const OPENED_PER_TICK = 10;
/** How long a refused request waits before the next one. This attack holds places; it is not a flood. */
const REFUSED_MS = 200;

/** The attacks, by their names in the table of results. */
export const ADDRESS_ATTACKS: Readonly<Record<string, Attack>> = {
  'HTTP connections': holding(
    ({ target }) => target.httpPort,
    async (socket) => {
      socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
      socket.resume();
    },
  ),
  'held requests': async (run) => {
    const next = await nextReload(run);
    const hold = async (localAddress: string) => {
      using connection = await LeanConnection.open(run.target.httpPort, { localAddress });
      while (!run.signal.aborted) {
        run.sent.requests += 1;
        const { status } = await connection.get(`${run.target.playlistPath}?_HLS_msn=${next()}`);
        if (status !== 200) await sleep(REFUSED_MS);
      }
    };
    await keepUp(run, (localAddress, left) => {
      void hold(localAddress)
        .catch(() => {})
        .finally(left);
    });
  },
  viewers: async (run) => {
    const index = run.target.playlistPath.replace(/\/[^/]+\/[^/]+$/, '/index.m3u8');
    await keepUp(run, (localAddress, left) => {
      const watch = async () => {
        using connection = await LeanConnection.open(run.target.httpPort, { localAddress });
        run.sent.requests += 1;
        await connection.get(index, { 'user-agent': `invented ${randomInt(2 ** 40)}` });
      };
      void watch()
        .catch(() => {})
        .finally(left);
    });
  },
  'unauthenticated RTMP connections': holding(
    ({ target }) => target.rtmpPort,
    async (socket) => {
      socket.write(Buffer.of(3));
      socket.resume();
    },
  ),
};

/** Takes as many places as it can, and takes one again as soon as it is lost. */
async function keepUp(
  { addresses, sent, signal }: AttackRun,
  take: (localAddress: string, left: () => void) => void,
): Promise<void> {
  const address = inTurn(addresses);
  let taken = 0;
  await everyTick(signal, () => {
    for (let opened = 0; taken < PLACES && opened < OPENED_PER_TICK; opened += 1) {
      taken += 1;
      sent.connections += 1;
      take(address(), () => {
        taken -= 1;
      });
    }
  });
}

/** An attack by connections that are opened, used once and kept. */
function holding(portOf: (run: AttackRun) => number, use: (socket: Socket) => Promise<void>): Attack {
  return (run) =>
    keepUp(run, (localAddress, left) => {
      const socket = dial({ port: portOf(run), tls: false, localAddress });
      socket.once('close', left);
      void once(socket, 'connect')
        .then(() => use(socket))
        .catch(() => {});
    });
}

/** Gives the media sequence number of the next segment, which is looked up every second. */
async function nextReload({ target, addresses, signal }: AttackRun): Promise<() => number> {
  let next = 0;
  const look = async () => {
    using connection = await LeanConnection.open(target.httpPort, { localAddress: addresses[0]! });
    const { body } = await connection.get(target.playlistPath);
    next = (readMediaPlaylist(body.toString()).segments.at(-1)?.msn ?? 0) + 1;
  };
  await look();
  const timer = setInterval(() => void look().catch(() => {}), 1000);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return () => next;
}
