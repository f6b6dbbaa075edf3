/**
 * Serves the media of a session: init segments, segments and parts, by the names in its playlists.
 */
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { isMediaPath, isPlaybackId } from '#domain/ids.ts';
import type { MediaResource } from '#hls/hls.ts';
import { hasAlready } from '#http/entity-tag.ts';
import { sendAnswer } from './answer.ts';
import { parseRange, slicePieces } from './byte-range.ts';
import { HELD, type OriginContext } from './origin-context.ts';
import { isResourceName } from './resource-name.ts';
import { mediaUrl, restrictedMediaUrl } from './resource-url.ts';
import type { OnSent } from './viewer-connection.ts';

interface MediaParams {
  readonly playbackId: string;
  readonly mediaPath: string;
  /** Present only in addresses of restricted streams. */
  readonly proof?: string;
  readonly rendition: string;
  readonly name: string;
}

/**
 * Answers requests for media. A part from a preload hint is held until it is complete, and not one byte is sent before (rfc8216bis §6.2.6).
 */
export function mediaRoute(app: FastifyInstance, context: OriginContext): void {
  const answer = async (request: FastifyRequest<{ Params: MediaParams }>, reply: FastifyReply) => {
    const { playbackId, mediaPath, proof, rendition, name } = request.params;
    if (!(isPlaybackId(playbackId) && isMediaPath(mediaPath) && isResourceName(rendition) && isResourceName(name)))
      throw gone();
    const showing = await context.showings.find(request, playbackId, mediaPath);
    if (showing === undefined) throw gone();
    if (!(await context.knowsMedia(request, playbackId, { mediaPath, proof, name }))) throw gone();
    const found = await context.hold(reply, playbackId, (waiting) => showing.media(rendition, name, waiting));
    if (found === undefined) return reply.hijack();
    if (found.type === 'not_found') throw gone();
    if (found.type === 'timeout') {
      throw new MillraceError('playlist_timeout', 'The publisher did not finish this part in time; try again.', {
        retryAfterS: 1,
      });
    }
    const { resource, cacheControl = context.cacheControl('media') } = found;
    const url =
      proof === undefined
        ? mediaUrl(playbackId, mediaPath, rendition, name)
        : restrictedMediaUrl(playbackId, mediaPath, proof, rendition, name);
    const sharing = context.sharedAs(reply, url, cacheControl);
    return sendMedia(reply, resource, name, sharing, context.delivers(request, playbackId));
  };
  app.get<{ Params: MediaParams }>('/hls/:playbackId/:mediaPath/:rendition/:name', HELD, answer);
  app.get<{ Params: MediaParams }>('/hls/:playbackId/:mediaPath/s/:proof/:rendition/:name', HELD, answer);
}

/**
 * Sends the whole resource, the requested range, or 304 when the viewer has the resource already. A name always means the same bytes, so it
 * is the ETag.
 */
function sendMedia(
  reply: FastifyReply,
  resource: MediaResource,
  name: string,
  cacheControl: string,
  onSent: OnSent | undefined,
): FastifyReply {
  const { method } = reply.request;
  const send = (status: 200 | 206, sent: OutgoingHttpHeaders, body: typeof pieces) =>
    sendAnswer(reply, status, sent, body, onSent);
  const { range, 'if-range': ifRange, 'if-none-match': ifNoneMatch } = reply.request.headers;
  const { pieces, sizeBytes, contentType } = resource;
  const etag = `"${name}"`;
  const headers = {
    'content-type': contentType,
    'content-length': sizeBytes,
    'cache-control': cacheControl,
    'accept-ranges': 'bytes',
    etag,
  };
  if (hasAlready(ifNoneMatch, etag)) return sendAnswer(reply, 304, { 'cache-control': cacheControl, etag }, []);
  // Ranges apply to GET only (RFC 9110 §14.2).
  if (method !== 'GET' || range === undefined || (ifRange !== undefined && ifRange !== etag)) {
    return send(200, headers, pieces);
  }
  const wanted = parseRange(range, sizeBytes);
  if (wanted.type === 'whole') return send(200, headers, pieces);
  if (wanted.type === 'unsatisfiable') {
    void reply.header('content-range', `bytes */${sizeBytes}`);
    throw new MillraceError(
      'range_not_satisfiable',
      `The range begins after the end of the resource, which has ${sizeBytes} bytes; request less.`,
    );
  }
  const { first, last } = wanted;
  const partHeaders = {
    ...headers,
    'content-length': last - first + 1,
    'content-range': `bytes ${first}-${last}/${sizeBytes}`,
  };
  return send(206, partHeaders, slicePieces(pieces, first, last));
}

function gone(): MillraceError {
  return new MillraceError(
    'not_found',
    'This media does not exist, or is no longer in a playlist; load the playlist again.',
  );
}
