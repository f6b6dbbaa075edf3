/**
 * `GET /admin/doctor` and `GET /admin/nodes`.
 */
import { availableParallelism, loadavg } from 'node:os';
import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { adminOnly } from '#api/authenticate.ts';
import {
  checkCertificate,
  checkClock,
  checkCpu,
  checkDatabase,
  checkDisk,
  checkEncoder,
  checkIngest,
  checkProxy,
} from '#api/doctor.ts';
import { isReached, measureDatabase, measureDisk, measureEncoder } from '#api/measure.ts';
import { answers } from '#api/schemas/answers.ts';
import { DoctorSchema, NodeSchema } from '#api/schemas/doctor.ts';
import { ref } from '#api/schemas/ref.ts';
import { Type } from '#lib/schema.ts';

const doctorSchema = {
  operationId: 'getDoctor',
  summary: 'Find out what is wrong with a server',
  description:
    'For admins only. Checks the database, clocks, disk, CPU, encoder, ingest ports, proxy and certificate of the server that answers, each with a sentence that says what to do, and lists the settings in force without secrets. It takes some seconds, because the encoder is tried.',
  tags: ['admin'],
  security: [{ apiKey: [] }],
  response: answers(200, ref(DoctorSchema)),
};

/** Answers with the state of this server. */
export const getDoctor: ApiRoute = (api, { authenticate, store, clock, host, publishUrls }) => {
  // Requests at the same time share one test of the encoder.
  let running: Promise<number | undefined> | undefined;
  const tryEncoder = (): Promise<number | undefined> => {
    if (host.draw === undefined) return Promise.resolve(undefined);
    running ??= measureEncoder(host.draw, clock).finally(() => {
      running = undefined;
    });
    return running;
  };
  api.get('/admin/doctor', { schema: doctorSchema, onRequest: [authenticate, adminOnly] }, async (request) => {
    const { headers, hostname } = request;
    const urls = publishUrls(hostname);
    const [database, freeBytes, tookMs, reached] = await Promise.all([
      measureDatabase(() => store.nodes.time(), clock),
      measureDisk(host.dataDir),
      tryEncoder(),
      Promise.all(urls.map(async (url) => ({ url, isReached: await isReached(url) }))),
    ]);
    const proto = headers['x-forwarded-proto'];
    const signs = {
      isForwarded: proto !== undefined || headers['x-forwarded-for'] !== undefined,
      // Fastify lists addresses besides that of the peer only when it trusts the peer.
      isTrusted: (request.ips?.length ?? 0) > 1,
      hasProto: proto !== undefined,
    };
    const checks = [
      checkDatabase(database.latencyMs),
      checkClock(database.offsetMs, host.clockDoubtedMs()),
      checkDisk(freeBytes),
      checkCpu(loadavg()[0]!, availableParallelism()),
      checkEncoder(host.draw !== undefined, tookMs),
      checkIngest(reached),
      checkProxy(signs),
      checkCertificate(host.certificateValidTo(), clock.now()),
    ];
    return {
      checkedAt: clock.now(),
      nodeId: host.nodeId,
      checks,
      versions: {
        millrace: host.version,
        node: process.versions.node,
        platform: `${process.platform} ${process.arch}`,
      },
      settings: [...host.settings],
    } satisfies Static<typeof DoctorSchema>;
  });
};

const nodesSchema = {
  operationId: 'listNodes',
  summary: 'List the servers that share the database',
  description: 'For admins only. A server that has left or was lost is listed until its sessions have been ended.',
  tags: ['admin'],
  security: [{ apiKey: [] }],
  response: answers(200, Type.Array(ref(NodeSchema))),
};

/** Lists the nodes. */
export const listNodes: ApiRoute = (api, { authenticate, store, host }) => {
  api.get('/admin/nodes', { schema: nodesSchema, onRequest: [authenticate, adminOnly] }, async () => {
    const load = {
      cores: availableParallelism(),
      busyCores: Number(loadavg()[0]!.toFixed(2)),
      memory: process.memoryUsage.rss(),
      uptime: Math.round(process.uptime()),
    };
    const listed = await store.nodes.list();
    if (listed.length === 0) return [{ id: host.nodeId, isThis: true, isAlive: true, ...host.counts(), load }];
    return listed.map(({ id, url, leaseLeftMs, sessions, publishers }) => ({
      id,
      url,
      isThis: id === host.nodeId,
      isAlive: leaseLeftMs > 0,
      leaseLeft: Math.max(0, leaseLeftMs) / 1000,
      sessions,
      publishers,
      ...(id === host.nodeId && { load }),
    }));
  });
};
