/**
 * Behind the nginx of `deploy/nginx.conf`, does a player get anything but what it asked for while another viewer asks for every
 * name that is to come?
 */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startDeployedNginx } from '../test/e2e/nginx.ts';
import { everyRenditionHasSegment, type Watched, watch } from '../test/e2e/viewer.ts';
import { makeCertificate, writeCertificate } from '../test/support/certificate.ts';
import { startServerProcess } from '../test/support/server.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { CACHE_ATTACKS } from './attacks/cache-attacks.ts';
import { hasNginx } from './peers/nginx.ts';
import { ONE_ADDRESS, VICTIM } from './support/addresses.ts';
import { whileAttacked } from './support/attacking.ts';
import { broadcast } from './support/broadcast.ts';
import { rateOf } from './support/hostile-intervals.ts';
import { type Answer, type BenchOptions, notMeasured } from './support/question.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 300_000 };
const MUST_REACH = '0';
const QUIET_MS = 12_000;
const HOSTILE_MS = { asked: 120_000, usual: 30_000 };

/** Answers the question for each attack. */
export async function hostileViewer({ long, only }: BenchOptions): Promise<readonly Answer[]> {
  const attacks = Object.keys(CACHE_ATTACKS).filter((name) => only === undefined || name.includes(only));
  const question = (attack: string) =>
    `answers of nginx to a player that are not 200, while another viewer asks for ${attack}`;
  if (!hasNginx()) return attacks.map((attack) => notMeasured(question(attack), 'nginx is not installed', MUST_REACH));
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await temporaryFolder());
  const certificate = makeCertificate();
  setDefaultCACertificates([...getCACertificates(), certificate.cert]);
  const files = await writeCertificate(folder.path, certificate);

  // Nginx asks from this address and forwards the addresses of its viewers.
  const settings = { MILLRACE_LOG_LEVEL: 'info', MILLRACE_TRUSTED_PROXIES: '127.0.0.1' };
  const server = parts.use(await startServerProcess({ settings }));
  const nginx = parts.use(
    await startDeployedNginx([new URL(server.url).host], {
      certFile: files.MILLRACE_TLS_CERT,
      keyFile: files.MILLRACE_TLS_KEY,
    }),
  );
  const { playbackId } = parts.use(await broadcast(server, SHAPE, { from: VICTIM }));
  const playlistPath = `/hls/${playbackId}/index.m3u8`;
  const index = nginx.url + playlistPath;
  await waitFor(() => everyRenditionHasSegment(server.playlistUrl(playbackId)), { what: 'a segment' });

  const target = { httpPort: Number(new URL(nginx.url).port), rtmpPort: 0, rtmpsPort: 0, playlistPath, streamKeys: [] };
  const answers: Answer[] = [];
  for (const attack of attacks) {
    const quiet = await watch(index, { signal: AbortSignal.timeout(QUIET_MS) });
    const hostileMs = long ? HOSTILE_MS.asked : HOSTILE_MS.usual;
    const { result: hostile, report } = await whileAttacked({ attack, target, addresses: ONE_ADDRESS }, () =>
      watch(index, { signal: AbortSignal.timeout(hostileMs) }),
    );
    answers.push({
      question: question(attack),
      measured: `${hostile.failures.length} beside ${goodAnswers(hostile)}`,
      against: `quiet: ${quiet.failures.length} beside ${goodAnswers(quiet)}`,
      details: [rateOf(report), ...hostile.failures.slice(0, 1)].join('; '),
      mustReach: MUST_REACH,
      // A player that got nothing at all would have no failures either.
      reached: hostile.failures.length === 0 && goodAnswers(hostile) > 0,
    });
  }
  return answers;
}

/** How many playlists and pieces of media a player received. */
function goodAnswers({ multivariant, renditions }: Watched): number {
  const ofRenditions = [...renditions.values()].map(({ reloads, media }) => reloads.length + media.size);
  return ofRenditions.reduce((sum, count) => sum + count, multivariant.length);
}
