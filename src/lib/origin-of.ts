/**
 * Reads URLs that must be plain origins.
 */

/** Returns the origin of a URL over HTTP or HTTPS that has no path, query, user or password, or undefined for any other text. */
export function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  return isOrigin ? url.origin : undefined;
}
