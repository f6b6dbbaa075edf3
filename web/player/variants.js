// @ts-check
/** The variants that a multivariant playlist lists. */

/** @typedef {import('./quality.js').Variant} Variant */

/**
 * The variants of a multivariant playlist as it is now (rfc8216bis §4.4.6.2). None when it cannot be loaded.
 * @param {string} url the URL of `index.m3u8`
 * @returns {Promise<readonly (Variant & { codecs: string })[]>} `codecs` as in RFC 6381
 */
export async function listVariants(url) {
  const text = await fetch(url).then(
    (response) => (response.ok ? response.text() : ''),
    () => '',
  );
  return Array.from(text.matchAll(/^#EXT-X-STREAM-INF:(.*)\n(.*)/gm), ([, attributes = '', uri = '']) => {
    const numberOf = (/** @type {RegExp} */ pattern) => Number(pattern.exec(attributes)?.[1] ?? 0);
    return {
      id: renditionOf(new URL(uri, url).href),
      width: numberOf(/RESOLUTION=(\d+)x/),
      height: numberOf(/RESOLUTION=\d+x(\d+)/),
      framesPerSecond: numberOf(/FRAME-RATE=([\d.]+)/),
      codecs: /CODECS="([^"]*)"/.exec(attributes)?.[1] ?? '',
      bitrateBps: numberOf(/AVERAGE-BANDWIDTH=(\d+)/),
    };
  });
}

/** The id of a rendition, which is the name of its playlist. @param {string} playlist the URL of a media playlist */
export function renditionOf(playlist) {
  const file = new URL(playlist).pathname.split('/').at(-1) ?? '';
  return decodeURIComponent(file).replace(/\.m3u8$/, '');
}
