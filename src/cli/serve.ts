/**
 * `millrace serve`: runs the server until it is stopped.
 */
import { parseArgs } from 'node:util';
import type { App } from '#app.ts';
import { type Config, configFromEnvironment } from '#config.ts';
import { CertificateError } from '#lib/certificate.ts';
import { systemClock } from '#lib/clock.ts';
import { afterRunning } from '#lib/limit-in-ticks.ts';
import { version } from '#lib/version.ts';
import { BucketSettingsError } from '#objects/engines.ts';
import { openStore } from '#store/open-store.ts';
import { InternalErrors } from '#telemetry/internal-errors.ts';
import { createLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { mapOnlyShownStacks } from '#telemetry/shown-stacks.ts';
import type { Command } from './command.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';
import { ensureFirstKey, firstSignInLink, forgetFirstKeyOnUse } from './first-key.ts';
import { keepTick, tuneHeap } from './heap.ts';
import { surviveErrors } from './last-handler.ts';
import { cannotListen } from './listen-failure.ts';
import { settingsHelp } from './settings-help.ts';
import { stopSignal } from './stop-signal.ts';

/** The longest drain. After it the process exits. A standstill of the process counts as at most a fifteenth of it. */
const DRAIN_LIMIT_MS = 4500;
/** How long after the start the heap is tuned, which blocks the server for about 100 ms. Its first client has been answered by then. */
const TUNE_AFTER_MS = 1000;
/** Why the server stops by itself. */
const TOO_MANY_ERRORS = 'too many internal errors';

/** The subcommand. */
export const serve: Command = {
  name: 'serve',
  summary: 'Run the server',
  help: () => `Usage: millrace serve

Runs the server until SIGTERM, SIGINT or SIGHUP, then drains for less than 5 seconds. A second SIGTERM or SIGINT ends it at once.
Log lines go to standard output, as JSON. Settings are read from the environment:

${settingsHelp()}`,
  run: async (args) => {
    try {
      parseArgs({ args: [...args], options: {} });
    } catch {
      throw wrongUsage('millrace serve takes no arguments; its settings are environment variables.', 'millrace serve');
    }
    const config = configFromEnvironment();
    const logger = createLogger(config.process.logLevel);
    const clock = systemClock;
    const metrics = createMetrics();
    metrics.collectProcess();
    const stopped = stopSignal();
    let isReady = false;
    /** Ends the process in time, whatever holds up its start or its drain. */
    const limitTime = () => {
      afterRunning(DRAIN_LIMIT_MS, () => {
        if (!isReady) {
          logger.info({}, 'stopped before the server was ready');
          process.exit(EXIT.ok);
        }
        logger.error({ limitMs: DRAIN_LIMIT_MS }, 'the drain took too long; the process exits before it is complete');
        process.exit(EXIT.failed);
      }).unref();
    };
    void stopped.then(limitTime);

    const { dataDir, databaseUrl } = config.store;
    const [opened, { startApp }] = await Promise.all([
      openStore({ dataDir, databaseUrl, exclusive: true, clock, logger, metrics }),
      // Imported only here, because no other command needs the server, and beside the opening of the store, to save time.
      import('#app.ts'),
    ]);
    await using store = opened;
    const terminal = process.stdout.isTTY ? process.stdout : undefined;
    const first = { store, clock, bootstrapKey: config.process.bootstrapApiKey, dataDir, terminal, logger };
    await ensureFirstKey(first);
    const onKeyUse = await forgetFirstKeyOnUse({ store, dataDir, logger });
    await using app = await startApp(config, {
      store,
      logger,
      clock,
      metrics,
      onKeyUse,
      isAttended: terminal !== undefined,
    }).catch((error: unknown) => {
      if (error instanceof CertificateError || error instanceof BucketSettingsError) {
        throw new Exit(EXIT.usage, [error.message], { cause: error });
      }
      throw cannotListen(error, config) ?? error;
    });
    mapOnlyShownStacks();
    const failing = surviveErrors({ errors: new InternalErrors({ logger, metrics }), clock });
    const urls = urlsOf(app, config);
    const { publicUrl, tlsCert } = config.http;
    const base = { publicUrl, port: app.addresses.http.port, isSecure: tlsCert !== undefined };
    const signIn = await firstSignInLink({ ...first, base });
    if (terminal !== undefined) terminal.write(welcome(urls, config.api.prefix) + signIn);
    else logger.info({ ...urls, version: version(), node: process.versions.node }, 'ready');
    await keepTick();
    setTimeout(tuneHeap, TUNE_AFTER_MS).unref();

    isReady = true;
    const reason = await Promise.race([stopped, failing.then(() => TOO_MANY_ERRORS)]);
    logger.info({ reason }, 'shutting down');
    if (reason === TOO_MANY_ERRORS) {
      limitTime();
      throw new Exit(EXIT.failed, [`Stopped because of ${TOO_MANY_ERRORS}; see the log.`]);
    }
  },
};

/** The URLs at which the server listens, by their use. */
function urlsOf({ addresses }: App, { http }: Config): Readonly<Record<string, string>> {
  return {
    http: `${http.tlsCert === undefined ? 'http' : 'https'}://${authority(addresses.http)}`,
    ...Object.fromEntries(
      addresses.ingest.map((address) => [address.scheme, `${address.scheme}://${authority(address)}/live`]),
    ),
    metrics: `http://${authority(addresses.metrics)}/metrics`,
  };
}

/** What the server prints at a terminal once it is ready. An address that stands for every interface is shown as `localhost`. */
function welcome({ http, metrics, ...ingest }: Readonly<Record<string, string>>, apiPrefix: string): string {
  const local = (url: string) => url.replace('//0.0.0.0:', '//localhost:').replace('//[::]:', '//localhost:');
  return `Millrace ${version()} is ready, on Node ${process.versions.node}. Ctrl-C stops it.

  Publish to   ${Object.values(ingest).map(local).join(', ')}
  Dashboard    ${local(http!)}/dashboard
  API          ${local(http!)}${apiPrefix}   (documentation: ${local(http!)}${apiPrefix}/docs)
  Metrics      ${local(metrics!)}

`;
}

const authority = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
