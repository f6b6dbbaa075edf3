/**
 * The playlists of a stream: the multivariant one at its stable address, each rendition's below its session's path.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { PlaylistAnswer } from '#hls/hls.ts';
import { unreachable } from '#lib/unreachable.ts';
import { sendAnswer } from './answer.ts';
import { acceptsGzip } from './content-coding.ts';
import { parseDirectives } from './directives.ts';
import { HELD, type OriginContext } from './origin-context.ts';
import { isMediaPath, isPlaybackId, playlistRendition } from './resource-name.ts';

const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl';

/** Answers `index.m3u8`: what a stream shows now. */
export function multivariantRoute(app: FastifyInstance, context: OriginContext): void {
  app.get<{ Params: { playbackId: string } }>('/hls/:playbackId/index.m3u8', HELD, async (request, reply) => {
    const { playbackId } = request.params;
    if (!isPlaybackId(playbackId)) throw offline();
    const watchable = context.live.watch(playbackId);
    if (watchable === undefined) throw offline();
    if (!context.audience.watched(playbackId, context.viewers.of(request))) {
      throw new MillraceError('too_many_viewers', 'This server has all the viewers it may have; try again soon.', {
        retryAfterS: 5,
      });
    }
    const answer = await context.held.hold(reply.raw, (signal) => watchable.presentation.multivariant({ signal }));
    if (answer?.type === 'not_found') throw offline();
    return await sendPlaylist(reply, context, answer);
  });
}

/** Answers `<rendition>.m3u8`, held until what its directives name is there. */
export function mediaPlaylistRoute(app: FastifyInstance, context: OriginContext): void {
  app.get<{ Params: { playbackId: string; mediaPath: string; file: string }; Querystring: Record<string, unknown> }>(
    '/hls/:playbackId/:mediaPath/:file',
    HELD,
    async (request, reply) => {
      const { playbackId, mediaPath, file } = request.params;
      const rendition = playlistRendition(file);
      if (!isPlaybackId(playbackId) || !isMediaPath(mediaPath) || rendition === undefined) throw gone();
      const watchable = context.live.watchPath(playbackId, mediaPath);
      if (watchable === undefined) throw gone();
      const directives = parseDirectives(request.query);
      context.audience.watched(playbackId, context.viewers.of(request));
      const answer = await context.held.hold(reply.raw, (signal) =>
        watchable.presentation.playlist(rendition, directives, { signal }),
      );
      return await sendPlaylist(reply, context, answer);
    },
  );
}

async function sendPlaylist(
  reply: FastifyReply,
  context: OriginContext,
  answer: PlaylistAnswer | undefined,
): Promise<FastifyReply> {
  if (answer === undefined) return reply.hijack();
  switch (answer.type) {
    case 'playlist': {
      const { playlist } = answer;
      const gzip = acceptsGzip(reply.request.headers['accept-encoding']);
      const body = gzip ? await playlist.gzip() : Buffer.from(playlist.text);
      const headers = {
        'content-type': PLAYLIST_TYPE,
        'content-length': body.length,
        'cache-control': context.cacheControl(playlist.blocking ? 'blocking_playlist' : 'playlist'),
        vary: 'Accept-Encoding',
      };
      return sendAnswer(reply, 200, gzip ? { ...headers, 'content-encoding': 'gzip' } : headers, [body]);
    }
    case 'bad_request':
      throw new MillraceError('invalid_request', answer.reason);
    case 'timeout':
      throw new MillraceError('playlist_timeout', 'The publisher has sent nothing new for too long; try again.', {
        retryAfterS: 1,
      });
    case 'not_found':
      throw gone();
    default:
      return unreachable(answer);
  }
}

/** Nothing is shown under this playback id now. */
export function offline(): MillraceError {
  return new MillraceError(
    'stream_offline',
    'stream is offline: nobody publishes to it now, or the playback id is wrong; try again later.',
  );
}

function gone(): MillraceError {
  return new MillraceError(
    'not_found',
    'There is no such playlist, or its session is over; start again at index.m3u8.',
  );
}
