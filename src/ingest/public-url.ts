/**
 * The URLs to which encoders publish.
 */
import type { IngestSettings } from './config.ts';
import type { IngestAddress } from './ingest.ts';

/** Ports that are left out of URLs, because encoders use them by default. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { rtmp: 1935, rtmps: 443 };

/**
 * Returns every URL to publish to, without the stream key: those that the operator has set, or else those at which this server listens.
 * @param addresses in the order in which their URLs are returned
 * @param hostname by which the client reached this server; IPv6 in brackets
 */
export function publishUrls(
  { publicRtmpUrl }: Pick<IngestSettings, 'publicRtmpUrl'>,
  addresses: readonly IngestAddress[],
  hostname: string,
): readonly string[] {
  const origins =
    publicRtmpUrl ??
    addresses.map(({ scheme, port }) => {
      return `${scheme}://${hostname}${port === DEFAULT_PORTS[scheme] ? '' : `:${port}`}`;
    });
  return origins.map((origin) => `${origin}/live`);
}
