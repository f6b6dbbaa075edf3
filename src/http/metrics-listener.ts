/**
 * Serves Prometheus metrics on a listener of their own, so that they are never public by accident.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '#lib/node-http.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { HttpSettings } from './config.ts';

/** A running metrics listener. Disposing it closes the listener and its connections. */
export interface MetricsListener extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number };
}

/**
 * Serves `GET /metrics`.
 * @throws {Error} a system error, such as `EADDRINUSE`
 */
export async function listenMetrics({
  settings,
  metrics,
}: {
  readonly settings: Pick<HttpSettings, 'metricsHost' | 'metricsPort'>;
  readonly metrics: Metrics;
}): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    void answer(response, metrics);
  });
  server.maxConnections = 20;
  server.listen(settings.metricsPort, settings.metricsHost);
  await once(server, 'listening');
  return {
    address: { host: settings.metricsHost, port: (server.address() as AddressInfo).port },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(response: ServerResponse, { registry }: Metrics): Promise<void> {
  try {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  } catch {
    response.writeHead(500).end();
  }
}
