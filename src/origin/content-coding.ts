/**
 * Which content coding a viewer takes (RFC 9110 §12.5.3).
 */

/** Whether `Accept-Encoding` takes gzip: named, or covered by `*`, and not with a weight of 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const item of String(header ?? '').split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    weights.set(coding, Number(weight));
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}
