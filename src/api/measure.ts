/**
 * Measures what the checks of `doctor.ts` judge. Every measurement has a limit of time.
 */
import { statfs } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { TestPictureTarget } from '#transcode/test-picture.ts';

const CONNECT_MS = 2000;
const DRAW_MS = 10_000;
/** The ports of publish URLs without one. */
const PORTS: Readonly<Record<string, number>> = { 'rtmp:': 1935, 'rtmps:': 443 };

/** Reads the time of the database. Undefined fields when it does not answer. */
export async function measureDatabase(
  time: () => Promise<Milliseconds>,
  clock: Clock,
): Promise<{ readonly latencyMs: number | undefined; readonly offsetMs: number | undefined }> {
  const startedAt = clock.monotonic();
  try {
    const databaseTime = await time();
    const latencyMs = clock.monotonic() - startedAt;
    return { latencyMs, offsetMs: clock.now() - latencyMs / 2 - databaseTime };
  } catch {
    return { latencyMs: undefined, offsetMs: undefined };
  }
}

/** The free bytes of the disk with a folder. */
export async function measureDisk(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** Whether a TCP connection to the host of a URL can be opened. */
export function isReached(url: string): Promise<boolean> {
  const parsed = URL.parse(url);
  if (parsed === null) return Promise.resolve(false);
  const port = parsed.port === '' ? PORTS[parsed.protocol] : Number(parsed.port);
  const host = parsed.hostname.replace(/^\[|\]$/g, '');
  if (port === undefined || host === '') return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, timeout: CONNECT_MS });
  socket.once('connect', () => resolve(true));
  socket.once('timeout', () => resolve(false));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

/** How long the encoder takes to its first frame. Undefined when it makes none in time. */
export async function measureEncoder(
  draw: (target: TestPictureTarget) => AsyncDisposable,
  clock: Clock,
): Promise<number | undefined> {
  const startedAt = clock.monotonic();
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const timer = setTimeout(() => resolve(undefined), DRAW_MS);
  await using _ = draw({
    track: () => {},
    packet: ({ kind }) => {
      if (kind === 'video') resolve(clock.monotonic() - startedAt);
    },
    end: () => resolve(undefined),
  });
  return await promise.finally(() => clearTimeout(timer));
}
