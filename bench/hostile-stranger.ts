/**
 * What does somebody who holds no key cost the customers of the service, attack by attack?
 */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeCertificate, writeCertificate } from '../test/support/certificate.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { HTTP_ATTACKS } from './attacks/http-attacks.ts';
import { HTTP2_ATTACKS } from './attacks/http2-attacks.ts';
import { RTMP_ATTACKS } from './attacks/rtmp-attacks.ts';
import { TLS_ATTACKS } from './attacks/tls-attacks.ts';
import type { AttackJob } from './peers/attackers.ts';
import { type Attacked, answersOf, attackInTurn, startVictims } from './support/hostile-intervals.ts';
import { createStreams } from './support/load.ts';
import { startObservedServer } from './support/observed-server.ts';
import type { Answer, BenchOptions } from './support/question.ts';
import { renditionUrls } from './support/rendition-reader.ts';

/** The media of the victims: a low bitrate, so that the attack is what is measured. */
const SHAPE = { fps: 30, gopS: 2, bitrateBps: 300_000 };
/** How many victims there are: enough for a 99th percentile of parts within a few seconds. */
const VICTIMS = 8;
const INTERVALS = {
  asked: { quietMs: 15_000, hostileMs: 30_000 },
  usual: { quietMs: 4000, hostileMs: 8000 },
};

/** Answers the question for a server without TLS, then for one with TLS. */
export async function hostileStranger(options: BenchOptions): Promise<readonly Answer[]> {
  const plain = await attacked({ ...HTTP_ATTACKS, ...RTMP_ATTACKS }, options);
  const certificate = makeCertificate();
  setDefaultCACertificates([...getCACertificates(), certificate.cert]);
  await using folder = await temporaryFolder();
  const tls = { settings: await writeCertificate(folder.path, certificate), certificate: certificate.cert };
  const secure = await attacked({ ...TLS_ATTACKS, ...HTTP2_ATTACKS }, options, tls);
  return [...plain, ...secure];
}

async function attacked(
  attacks: Readonly<Record<string, unknown>>,
  { long, only }: BenchOptions,
  { settings, certificate }: { readonly settings?: object; readonly certificate?: string } = {},
): Promise<readonly Answer[]> {
  const names = Object.keys(attacks).filter((name) => only === undefined || name.includes(only));
  if (names.length === 0) return [];
  await using server = await startObservedServer({ settings: { MILLRACE_LOG_LEVEL: 'info', ...settings } });
  const streams = await createStreams(server.api, VICTIMS);
  await using victims = await startVictims(server, streams, { shape: SHAPE, certificate });
  const playlistPath = (await renditionUrls(server.playlistUrl(streams[0]!.playbackId))).video.pathname;
  const { httpPort, rtmpPort, rtmpsPort } = server;
  const target = { httpPort, rtmpPort, rtmpsPort, playlistPath, streamKeys: [] };
  // Each attack has addresses of its own, so that being throttled for one does not hide the next.
  const jobs = names.map(
    (attack, index): AttackJob => ({
      attack,
      target,
      addresses: Array.from({ length: 4 }, (_, last) => `127.0.${index + 2}.${last + 1}`),
    }),
  );
  const done: Attacked[] = [];
  for await (const each of attackInTurn(server, victims, jobs, long ? INTERVALS.asked : INTERVALS.usual))
    done.push(each);
  return answersOf(done, ({ attack }) => `without a key: ${attack}`);
}
