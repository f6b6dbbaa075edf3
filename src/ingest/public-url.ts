/**
 * The URLs encoders are told to publish to.
 */
import type { IngestSettings } from './config.ts';
import type { IngestAddress } from './ingest.ts';

/** What need not be said in a URL, since encoders take it when nothing is said. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { rtmp: 1935, rtmps: 443 };

/**
 * Every URL to publish to, without the stream key: those the operator has set, else where this server listens.
 * @param addresses in the order they are to be offered
 * @param hostname that the asker knows this server by; IPv6 in brackets
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
