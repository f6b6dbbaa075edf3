/**
 * The checks by which an operator finds out what is wrong with a server: pure functions of what was measured. Each result is a sentence that
 * also says what to do.
 */
import { DAY_MS, GIB } from '#lib/units.ts';

/** `unknown` where nothing could be measured. */
export const CHECK_STATES = ['ok', 'warning', 'problem', 'unknown'] as const;

/** The result of a check. */
export interface Check {
  readonly id: CheckId;
  readonly state: (typeof CHECK_STATES)[number];
  /** A sentence for the operator. */
  readonly message: string;
}

/** The checks, in the order of the answer. Part of the interface: add, never rename. */
export const CHECKS = ['database', 'clock', 'disk', 'cpu', 'encoder', 'ingest', 'proxy', 'certificate'] as const;

/** One of {@link CHECKS}. */
export type CheckId = (typeof CHECKS)[number];

/** Judges how fast the database answers. @param latencyMs of one read; undefined when there was no answer */
export function checkDatabase(latencyMs: number | undefined): Check {
  const id = 'database';
  if (latencyMs === undefined) {
    return { id, state: 'problem', message: 'The database does not answer; see the log of the server.' };
  }
  const took = `The database answers in ${Math.round(latencyMs)} ms`;
  if (latencyMs < 100) return { id, state: 'ok', message: `${took}.` };
  const message = `${took}, which is slow: check its disk, its load, and the network between it and the server.`;
  return { id, state: latencyMs < 1000 ? 'warning' : 'problem', message };
}

/**
 * Judges the clock of the server.
 * @param offsetMs milliseconds by which it is ahead of that of the database; undefined when unknown
 * @param doubtedMs milliseconds by which it is ahead of what it was before, when that is not believed; undefined when it is believed
 */
export function checkClock(offsetMs: number | undefined, doubtedMs?: number): Check {
  const id = 'clock';
  if (doubtedMs !== undefined) {
    const ahead = `The clock of the server is ${(doubtedMs / DAY_MS).toFixed(1)} days ahead of what it was before`;
    const wayOut =
      'Set it by NTP if it is wrong. If it is right, delete last-time in the data folder and restart the server';
    const message = `${ahead}, so nothing expires by it until the server has run for a day. ${wayOut}.`;
    return { id, state: 'problem', message };
  }
  if (offsetMs === undefined)
    return {
      id,
      state: 'unknown',
      message: 'The time of the database could not be read, so the clocks could not be compared.',
    };
  const size = Math.abs(offsetMs);
  if (size < 1000) return { id, state: 'ok', message: 'The clocks of the server and the database agree.' };
  const where = offsetMs > 0 ? 'ahead of' : 'behind';
  const message = `The clock of the server is ${(size / 1000).toFixed(1)} s ${where} that of the database; set both by NTP.`;
  return { id, state: size < 10_000 ? 'warning' : 'problem', message };
}

/** Judges the free space of the disk with the data folder. @param freeBytes undefined when unknown */
export function checkDisk(freeBytes: number | undefined): Check {
  const id = 'disk';
  if (freeBytes === undefined)
    return { id, state: 'unknown', message: 'The free space of the data folder is not known.' };
  const free = `The disk with the data folder has ${(freeBytes / GIB).toFixed(1)} GiB left`;
  if (freeBytes >= 5 * GIB) return { id, state: 'ok', message: `${free}.` };
  const message = `${free}; make room before writes fail, for example by deleting recordings.`;
  return { id, state: freeBytes >= GIB ? 'warning' : 'problem', message };
}

/** Judges the load of the CPU. @param load the mean number of processes that wanted to run in the last minute */
export function checkCpu(load: number, cores: number): Check {
  const left = Math.max(0, cores - load);
  const message = `${left.toFixed(1)} of ${cores} cores were free in the last minute`;
  if (load < cores * 0.8) return { id: 'cpu', state: 'ok', message: `${message}.` };
  const advice =
    'transcode fewer streams or fewer profiles, choose a faster MILLRACE_TRANSCODE_PRESET, or add a server.';
  return { id: 'cpu', state: load < cores * 1.2 ? 'warning' : 'problem', message: `${message}; ${advice}` };
}

/** Judges the encoder. @param tookMs milliseconds until it made its first frame; undefined when it made none in time */
export function checkEncoder(isInstalled: boolean, tookMs: number | undefined): Check {
  const id = 'encoder';
  if (!isInstalled) {
    const message = 'FFmpeg is not installed, so nothing is transcoded; install Millrace without --omit=optional.';
    return { id, state: 'warning', message };
  }
  if (tookMs === undefined) {
    const message =
      'The encoder made no frame within 10 s; look in the log of the system for a process that hangs or ran out of memory.';
    return { id, state: 'problem', message };
  }
  return { id, state: 'ok', message: `The encoder made its first frame in ${(tookMs / 1000).toFixed(1)} s.` };
}

/** Judges whether encoders can connect. @param tried every publish URL, and whether this server could connect to it */
export function checkIngest(tried: readonly { readonly url: string; readonly isReached: boolean }[]): Check {
  const id = 'ingest';
  if (tried.length === 0) {
    const message = 'No encoder can publish, because neither RTMP nor RTMPS is turned on; see MILLRACE_RTMP_PORT.';
    return { id, state: 'problem', message };
  }
  const missed = tried.filter(({ isReached }) => !isReached).map(({ url }) => url);
  if (missed.length === 0) {
    return { id, state: 'ok', message: `This server reaches ${tried.map(({ url }) => url).join(' and ')}.` };
  }
  const message = `This server does not reach ${missed.join(' and ')}: check the name, the port and the firewall. A router that cannot connect to its own public address is harmless.`;
  return { id, state: 'warning', message };
}

/** What the headers of a request say about the proxies that it passed through. */
export interface ProxySigns {
  /** Whether it has `X-Forwarded-*` headers. */
  readonly isForwarded: boolean;
  /** Whether MILLRACE_TRUSTED_PROXIES names the peer. */
  readonly isTrusted: boolean;
  readonly hasProto: boolean;
}

/** Judges the proxy through which the request came that the answer is for. */
export function checkProxy({ isForwarded, isTrusted, hasProto }: ProxySigns): Check {
  const id = 'proxy';
  if (!isForwarded)
    return { id, state: 'ok', message: 'This request came without a proxy, or through one that adds no headers.' };
  if (!isTrusted) {
    const message =
      'This request came through a proxy that is not trusted, so all clients have the address of the proxy; name it in MILLRACE_TRUSTED_PROXIES.';
    return { id, state: 'problem', message };
  }
  if (!hasProto) {
    const message =
      'The proxy does not send X-Forwarded-Proto, so URLs may begin with http instead of https; see deploy/nginx.conf.';
    return { id, state: 'warning', message };
  }
  return { id, state: 'ok', message: 'This request came through a trusted proxy, with the headers it needs.' };
}

/** Judges how long the certificate is still valid. @param validTo when it expires; undefined without TLS */
export function checkCertificate(validTo: number | undefined, now: number): Check {
  const id = 'certificate';
  if (validTo === undefined) {
    return { id, state: 'ok', message: 'The server has no certificate; if a proxy serves HTTPS, the proxy has one.' };
  }
  const days = Math.floor((validTo - now) / DAY_MS);
  if (days >= 14) return { id, state: 'ok', message: `The certificate is valid for ${days} more days.` };
  const message =
    days < 0
      ? 'The certificate has expired; renew it.'
      : `The certificate expires in ${days} days; find out why it was not renewed.`;
  return { id, state: days < 3 ? 'problem' : 'warning', message };
}
