/**
 * Settings of the HTTP listener and of the metrics listener.
 */
import ipaddr from 'ipaddr.js';
import { originOf } from '#lib/origin-of.ts';
import { integer, port, type SettingValues, text } from '#lib/setting.ts';

/** What an operator may set. */
export const httpSettings = {
  host: text('HTTP_HOST', '0.0.0.0', 'Address the HTTP interface and playback listen on'),
  port: port('HTTP_PORT', '8080', 'Port the HTTP interface and playback listen on'),
  tlsCert: text(
    'TLS_CERT',
    undefined,
    'PEM file with the certificate, followed by the intermediate certificates. When it is set, the server serves HTTPS with HTTP/2, and accepts RTMPS. The file is read again when it changes',
  ),
  tlsKey: text('TLS_KEY', undefined, 'PEM file of the private key of TLS_CERT, without a passphrase'),
  publicUrl: {
    name: 'PUBLIC_URL',
    fallback: undefined,
    help: 'Scheme, host and port at which clients reach this server, such as https://live.example.com. When it is not set, it is taken from each request',
    parse: parsePublicUrl,
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    fallback: '',
    help: 'Reverse proxies whose X-Forwarded headers count, comma-separated: addresses, networks such as 10.0.0.0/8, or "loopback". Set it when the server is behind a proxy. Otherwise all clients share one address and one throttle',
    parse: parseProxies,
  },
  maxConnections: integer(
    'MAX_HTTP_CONNECTIONS',
    '20000',
    'HTTP connections open at the same time. At the limit, a new connection from a network with fewer replaces one of the network that has the most',
    {
      min: 1,
      max: 1_000_000,
    },
  ),
  metricsHost: text('METRICS_HOST', '127.0.0.1', 'Address at which the Prometheus metrics are served, without a key'),
  metricsPort: port('METRICS_PORT', '9090', 'Port at which the Prometheus metrics are served'),
};

/** The values of {@link httpSettings}. */
export type HttpSettings = SettingValues<typeof httpSettings>;

/** Reads a public URL. @returns its origin, without a slash at the end */
function parsePublicUrl(value: string): string {
  const origin = originOf(value);
  if (origin === undefined) throw new Error('must be a scheme and a host only, such as https://live.example.com');
  return origin;
}

function parseProxies(value: string): readonly string[] {
  const proxies = value.split(',').flatMap((entry) => entry.trim() || []);
  for (const proxy of proxies) {
    if (proxy !== 'loopback' && !ipaddr.isValid(proxy) && !ipaddr.isValidCIDR(proxy)) {
      throw new Error('must be addresses or networks separated by commas, such as 127.0.0.1,10.0.0.0/8');
    }
  }
  return proxies;
}
