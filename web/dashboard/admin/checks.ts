/**
 * Checks of how the service is set up: those that the server makes itself, and those that need a browser.
 */

import { duration } from '../../shared/format.ts';
import type { DoctorReport } from '../../shared/types.ts';

/** The values that are checked. */
export interface Findings {
  /** The origin in the browser's address bar. */
  readonly origin: string;
  /** The origin that the server has in the URLs that it gives out. */
  readonly serverOrigin: string;
  readonly isSecure: boolean;
  readonly events: 'connecting' | 'live' | 'lost' | 'forbidden';
  /** Milliseconds by which the server's clock is ahead of the browser's; small differences are 0. */
  readonly aheadMs: number;
  /** Milliseconds that the API took to answer. */
  readonly answerMs: number;
  /** The addresses that encoders are told. */
  readonly ingest: readonly string[];
}

/** One check, with what to do where it fails. */
export interface Check {
  readonly name: string;
  readonly tone: 'ok' | 'warn' | 'bad' | 'plain';
  readonly text: string;
}

const SLOW_MS = 500;
const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

type ServerCheck = DoctorReport['checks'][number];

const NAMES: Readonly<Record<ServerCheck['id'], string>> = {
  database: 'Database',
  clock: 'Clock of the server',
  disk: 'Disk',
  cpu: 'CPU',
  encoder: 'Transcoding',
  ingest: 'Ports for encoders',
  proxy: 'Proxy',
  certificate: 'Certificate',
};
const TONES = { ok: 'ok', warning: 'warn', problem: 'bad', unknown: 'plain' } as const;

/** Converts the checks of the server to checks of this page. */
export const serverChecks = (found: readonly ServerCheck[]): readonly Check[] =>
  found.map(({ id, state, message }) => ({ name: NAMES[id], tone: TONES[state], text: message }));

/** Judges the values. */
export function checksOf({
  origin,
  serverOrigin,
  isSecure,
  events,
  aheadMs,
  answerMs,
  ingest,
}: Findings): readonly Check[] {
  const { hostname } = new URL(origin);
  const toLoopback = ingest.filter((url) => LOCAL.test(hostOf(url)));
  return [
    origin === serverOrigin
      ? {
          name: 'Public address',
          tone: 'ok',
          text: `The server gives out URLs with the address that you use, ${origin}.`,
        }
      : {
          name: 'Public address',
          tone: 'bad',
          text: `You use the address ${origin}, but the server gives out URLs with ${serverOrigin}. Set MILLRACE_PUBLIC_URL, or set MILLRACE_TRUSTED_PROXIES and have the proxy forward host and scheme.`,
        },
    isSecure || LOCAL.test(hostname)
      ? {
          name: 'Encryption',
          tone: 'ok',
          text: isSecure ? 'Browsers are connected by TLS.' : 'You are on the machine itself.',
        }
      : {
          name: 'Encryption',
          tone: 'warn',
          text: 'Browsers are connected without TLS, so others on the network can read keys. Set MILLRACE_TLS_CERT and MILLRACE_TLS_KEY, or put a proxy with TLS in front of the server.',
        },
    toLoopback.length > 0 && !LOCAL.test(hostname)
      ? {
          name: 'Address for encoders',
          tone: 'bad',
          text: `Encoders are told ${toLoopback.join(', ')}, which is their own machine.`,
        }
      : { name: 'Address for encoders', tone: 'ok', text: ingest.join(', ') },
    events === 'live'
      ? { name: 'Live events', tone: 'ok', text: 'Events arrive as they happen.' }
      : {
          name: 'Live events',
          tone: 'warn',
          text:
            events === 'forbidden'
              ? 'The rules of your API key do not allow you to read events. Pages ask for news from time to time instead.'
              : 'Events do not arrive. A proxy may hold them back: it must not buffer answers of the type text/event-stream. Or your programs and browsers have as many event streams open as you may.',
        },
    aheadMs === 0
      ? { name: 'Clock', tone: 'ok', text: 'The clocks of the server and of this browser agree.' }
      : {
          name: 'Clock',
          tone: 'warn',
          text: `The clock of the server is ${duration(Math.abs(aheadMs) / 1000)} ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this browser. One of them is wrong; tokens and latencies depend on it.`,
        },
    answerMs < SLOW_MS
      ? { name: 'Answers', tone: 'ok', text: `The API answered in ${Math.round(answerMs)} ms.` }
      : {
          name: 'Answers',
          tone: 'warn',
          text: `The API took ${Math.round(answerMs)} ms to answer. The network may be slow, or the server may be busy.`,
        },
  ];
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url.replace(/^rtmps?:/, 'http:')).hostname : '';
}
