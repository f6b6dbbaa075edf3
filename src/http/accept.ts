/**
 * Content negotiation: what a client accepts, by the weights in its `Accept` headers (RFC 9110 §12.5).
 */

/** Whether `Accept-Encoding` lists gzip, by name or by `*`, with a weight above 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const weights = weightsOf(header);
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

/** Whether `Accept` prefers HTML to JSON. Browsers do so when they open an address. Programs send a wildcard, JSON or no header. */
export function prefersHtml(header: string | undefined): boolean {
  const weights = weightsOf(header);
  return (weights.get('text/html') ?? 0) > (weights.get('application/json') ?? 0);
}

/** The media types or encodings that a header lists, in lower case, with their weights. */
function weightsOf(header: string | string[] | undefined): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const item of String(header ?? '').split(',')) {
    const [form = '', ...parameters] = item.split(';').map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    weights.set(form, Number(weight));
  }
  return weights;
}
