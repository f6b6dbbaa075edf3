/**
 * Everything that players send: delivery directives, names, byte ranges, content codings and entity tags.
 */
import assert from 'node:assert/strict';
import { parse } from 'node:querystring';
import { MillraceError } from '#domain/errors.ts';
import { isMediaPath, isPlaybackId } from '#domain/ids.ts';
import { acceptsGzip } from '#http/accept.ts';
import { hasAlready } from '#http/entity-tag.ts';
import { parseRange, slicePieces } from '#origin/byte-range.ts';
import { parseDirectives } from '#origin/directives.ts';
import { isResourceName, playlistRendition } from '#origin/resource-name.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** The most bytes of a request's path and headers together. */
const MAX_HEADER_BYTES = 16_384;

const texts = (...list: readonly string[]): readonly Buffer[] => list.map((text) => Buffer.from(text, 'latin1'));

/** The query of a playlist request. */
export const directivesTarget: Target = {
  name: 'directives',
  corpus: texts(
    '_HLS_msn=12&_HLS_part=3',
    '_HLS_msn=0',
    '_HLS_skip=YES',
    '_HLS_msn=9007199254740991&_HLS_skip=v2',
    'a=1',
  ),
  dictionary: ['_HLS_msn=', '_HLS_part=', '_HLS_skip=', '&', '%30', '9999999999999999', '__proto__='],
  maxBytes: 512,
  expected: [MillraceError],
  open: () => ({
    read(input) {
      const { msn = 0, part = 0, skip = false } = parseDirectives(parse(input.toString('latin1')));
      for (const number of [msn, part])
        must(Number.isSafeInteger(number) && number >= 0, () => `a directive of ${number}`);
      return behaviour(magnitude(msn), magnitude(part), Number(skip));
    },
  }),
};

/** The names in a path. */
export const resourceNameTarget: Target = {
  name: 'resource-name',
  corpus: texts('0123456789abcdef', 'source.m3u8', '720p0.m3u8', '12.3.m4s', 'init-0.mp4'),
  dictionary: ['.m3u8', '.m4s', '..', '/', '%2f', '\0', '\n'],
  maxBytes: 256,
  open: () => ({
    read(input) {
      const text = input.toString('latin1');
      const rendition = playlistRendition(text);
      for (const name of [isResourceName(text) ? text : 'x', rendition ?? 'x', isPlaybackId(text) ? text : 'x']) {
        must(!/[/\\\s\0]/.test(name) && !name.startsWith('.') && name.length <= 128, () => `the name ${name}`);
      }
      return behaviour(
        Number(isResourceName(text)),
        Number(isPlaybackId(text)),
        Number(isMediaPath(text)),
        magnitude(rendition?.length ?? 0),
      );
    },
  }),
};

/** The pieces of a resource of 255 bytes, which is the longest that an input can state. */
const PIECES = [Buffer.alloc(100, 1), Buffer.alloc(0), Buffer.alloc(55, 2), Buffer.alloc(100, 3)];

/** The `Range` header. The first byte of an input says how long the resource is. */
export const byteRangeTarget: Target = {
  name: 'byte-range',
  corpus: texts(
    '\xffbytes=0-99',
    '\xffbytes=10-',
    '\x50bytes=-10',
    '\x00bytes=0-0',
    '\xffBytes= 5-7 ',
    '\xffbytes=0-1,5-9',
  ),
  dictionary: ['bytes=', '-', ',', '999999999999999', ' \t'],
  maxBytes: 256,
  open: () => ({
    read(input) {
      const sizeBytes = input[0] ?? 0;
      const range = parseRange(input.toString('latin1', 1), sizeBytes);
      if (range.type !== 'part') return behaviour(range.type.length);
      const { first, last } = range;
      must(first >= 0 && first <= last && last < sizeBytes, () => `bytes ${first} to ${last} of ${sizeBytes}`);
      const sent = slicePieces(PIECES, first, last).reduce((sum, piece) => sum + piece.length, 0);
      assert.equal(sent, last - first + 1, `${sent} bytes for the range ${first}-${last}`);
      return behaviour(magnitude(first), magnitude(last), Number(last === sizeBytes - 1));
    },
  }),
};

/** The `Accept-Encoding` header. */
export const contentCodingTarget: Target = {
  name: 'content-coding',
  corpus: texts('gzip, deflate, br', 'gzip;q=0', '*;q=0.5, identity', 'GZIP ; q=1', ''),
  dictionary: ['gzip', '*', ';q=', ',', '1e999', 'identity', '\xa0'],
  maxBytes: MAX_HEADER_BYTES,
  open: () => ({
    read: (input) => behaviour(Number(acceptsGzip(input.toString('latin1'))), magnitude(input.length)),
  }),
};

/** The `If-None-Match` header. */
export const entityTagTarget: Target = {
  name: 'entity-tag',
  corpus: texts('"12.m4s"', 'W/"12.m4s"', '"a", "12.m4s"', '*', '"x"'),
  dictionary: ['"12.m4s"', 'W/', ',', '*', '\xa0'],
  maxBytes: MAX_HEADER_BYTES,
  open: () => ({
    read(input) {
      const text = input.toString('latin1');
      const had = hasAlready(text, '"12.m4s"');
      must(
        !had || text.includes('12.m4s') || text.includes('*'),
        () => 'a viewer is said to have a resource that it did not name',
      );
      return behaviour(Number(had), magnitude(input.length));
    },
  }),
};
