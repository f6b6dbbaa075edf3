/**
 * The store on any engine. It maps domain records to queries, and rows to domain records. Each kind of record is a file in `records/`, and
 * its queries are a file in `queries/`.
 */
import { type Clock, systemClock } from '#lib/clock.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';
import { announcementOfText, textOfAnnouncement } from './announcement.ts';
import type { Engine } from './engine.ts';
import { apiKeyRecords } from './records/api-keys.ts';
import { assetRecords } from './records/assets.ts';
import { auditRecords } from './records/audit.ts';
import { browserSessionRecords } from './records/browser-sessions.ts';
import { eventRecords } from './records/events.ts';
import { idempotencyRecords } from './records/idempotency.ts';
import { nodeRecords } from './records/nodes.ts';
import { publisherRecords } from './records/publishers.ts';
import { sampleRecords } from './records/samples.ts';
import { sessionRecords } from './records/sessions.ts';
import { signingKeyRecords } from './records/signing-keys.ts';
import { streamRecords } from './records/streams.ts';
import { usageRecords } from './records/usage.ts';
import { userRecords } from './records/users.ts';
import { webhookRecords } from './records/webhooks.ts';
import { Runner } from './runner.ts';
import type { Store } from './store.ts';

/** Makes the store on `engine`, and takes over its ownership. @param clock decides how long a count of rows is valid */
export function storeOn(engine: Engine, logger: Logger, clock: Clock = systemClock): Store {
  const runner = new Runner(engine);
  const lines = new CountedLines(logger);
  return {
    isShared: engine.isShared,
    listen: (listener) =>
      engine.listen((text) => {
        const announcement = announcementOfText(text);
        if (announcement === undefined) lines.note('warn', 'announcements ignored that no store made', {});
        else listener(announcement);
      }),
    async announce(announcement) {
      await engine.write([], [textOfAnnouncement(announcement)]);
    },
    users: userRecords(runner, engine),
    apiKeys: apiKeyRecords(runner, engine, clock),
    browserSessions: browserSessionRecords(runner, engine),
    signingKeys: signingKeyRecords(runner, engine, clock),
    streams: streamRecords(runner, engine, clock),
    sessions: sessionRecords(runner, engine, clock),
    assets: assetRecords(runner, engine, clock),
    samples: sampleRecords(runner, engine),
    usage: usageRecords(runner, engine),
    nodes: nodeRecords(runner, engine),
    publishers: publisherRecords(runner, engine),
    idempotency: idempotencyRecords(runner, engine),
    audit: auditRecords(runner, engine),
    events: eventRecords(runner, engine),
    webhooks: webhookRecords(runner, engine, clock),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      lines[Symbol.dispose]();
    },
  };
}
