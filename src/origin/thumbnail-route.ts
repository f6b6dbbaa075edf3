/**
 * Serves the thumbnail of a stream, `thumbnail.jpg` beside `index.m3u8`: the newest image under a stable name.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { isPlaybackId } from '#domain/ids.ts';
import { hasAlready } from '#http/entity-tag.ts';
import { sendAnswer } from './answer.ts';
import type { OriginContext } from './origin-context.ts';
import { offline } from './playlist-routes.ts';
import { thumbnailUrl } from './resource-url.ts';

/** Serves `thumbnail.jpg`. Requests for it do not count as viewers, because a page may show a hundred thumbnails. */
export function thumbnailRoute(app: FastifyInstance, context: OriginContext): void {
  const etags = new WeakMap<Uint8Array, string>();
  const etagOf = (jpeg: Uint8Array) => {
    const etag = etags.get(jpeg) ?? `"${createHash('sha256').update(jpeg).digest('base64url').slice(0, 22)}"`;
    etags.set(jpeg, etag);
    return etag;
  };

  app.get<{ Params: { playbackId: string } }>('/hls/:playbackId/thumbnail.jpg', async (request, reply) => {
    const { playbackId } = request.params;
    const showing = isPlaybackId(playbackId) ? await context.showings.find(request, playbackId) : undefined;
    if (!isPlaybackId(playbackId) || showing === undefined) throw offline();
    const admission = await context.admit(request, playbackId);
    const answer = await context.hold(reply, playbackId, (waiting) => showing.thumbnail(waiting));
    if (answer === undefined) return reply.hijack();
    if (answer.type === 'not_found') {
      throw new MillraceError(
        'not_found',
        'This stream has no thumbnail: it has only just begun, has no video, or is not transcoded.',
      );
    }
    const { bytes, cacheControl = context.cacheControl('thumbnail') } = answer;
    const etag = etagOf(bytes);
    const shared = context.sharedAs(reply, thumbnailUrl(playbackId), cacheControl);
    const validity = { 'cache-control': admission.restricted ? context.cacheControl('restricted') : shared, etag };
    if (hasAlready(request.headers['if-none-match'], etag)) return sendAnswer(reply, 304, validity, []);
    const headers = { ...validity, 'content-type': 'image/jpeg', 'content-length': bytes.byteLength };
    return sendAnswer(reply, 200, headers, [bytes]);
  });
}
