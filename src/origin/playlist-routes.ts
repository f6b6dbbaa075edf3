/**
 * Serves the playlists of a stream: the multivariant playlist at its stable address, and the media playlists below the session's path.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { PlaybackId } from '#domain/ids.ts';
import { isMediaPath, isPlaybackId } from '#domain/ids.ts';
import { AUDIO_RENDITION } from '#domain/profile.ts';
import type { PlaylistAnswer, Validity } from '#hls/hls.ts';
import { acceptsGzip } from '#http/accept.ts';
import { unreachable } from '#lib/unreachable.ts';
import { sendAnswer } from './answer.ts';
import type { AnswerKind } from './caching.ts';
import { parseDirectives } from './directives.ts';
import { HELD, type OriginContext } from './origin-context.ts';
import { isSealed, playlistRendition } from './resource-name.ts';
import { multivariantUrl, playlistUrl } from './resource-url.ts';
import { ABOVE_TICKET, withTicket } from './rights/restricted-playlists.ts';
import type { Showing, Shown } from './showing.ts';

const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl';

const KINDS: Readonly<Record<Validity, AnswerKind>> = {
  final: 'blocking_playlist',
  current: 'playlist',
  unshared: 'unshared',
};

/** Serves `index.m3u8`, with the renditions of the current session. */
export function multivariantRoute(app: FastifyInstance, context: OriginContext): void {
  app.get<{ Params: { playbackId: string } }>('/hls/:playbackId/index.m3u8', HELD, async (request, reply) => {
    const { playbackId } = request.params;
    const showing = isPlaybackId(playbackId) ? await context.showings.find(request, playbackId) : undefined;
    if (!isPlaybackId(playbackId) || showing === undefined) throw offline();
    const admission = await context.admit(request, playbackId);
    if (!noteViewer(request, context, playbackId, showing)) {
      throw new MillraceError('too_many_viewers', 'This stream has reached its limit of viewers; try again soon.', {
        retryAfterS: 5,
      });
    }
    const answer = await context.hold(reply, playbackId, (waiting) => showing.multivariant(waiting));
    if (answer?.type === 'not_found') throw offline();
    if (answer?.type === 'playlist' && admission.restricted) {
      const ticket = admission.ticket?.();
      const { text } = answer.playlist;
      return sendRestricted(reply, context, Buffer.from(ticket === undefined ? text : withTicket(text, ticket)));
    }
    return await sendPlaylist(reply, context, answer, multivariantUrl(playbackId));
  });
}

interface PlaylistParams {
  readonly playbackId: string;
  readonly mediaPath: string;
  readonly file: string;
}

type PlaylistRequest<Params> = FastifyRequest<{ Params: Params; Querystring: Record<string, unknown> }>;

/**
 * Serves `<rendition>.m3u8`, held until it has what its directives name. The playlists of a restricted stream are below the viewer's
 * ticket. Players that send a header with every request need no ticket.
 */
export function mediaPlaylistRoute(app: FastifyInstance, context: OriginContext): void {
  app.get('/hls/:playbackId/:mediaPath/:file', HELD, (request: PlaylistRequest<PlaylistParams>, reply) =>
    answerPlaylist(request, reply, context, request.params),
  );
  // A wildcard is used, because a ticket may be longer than the server allows parameters to be.
  app.get(
    '/hls/:playbackId/:mediaPath/v/*',
    HELD,
    (request: PlaylistRequest<Omit<PlaylistParams, 'file'> & { readonly '*': string }>, reply) => {
      const [ticket = '', file = '', ...rest] = request.params['*'].split('/');
      if (!isSealed(ticket) || rest.length > 0) throw gone();
      return answerPlaylist(request, reply, context, { ...request.params, file, ticket });
    },
  );
}

async function answerPlaylist(
  request: PlaylistRequest<unknown>,
  reply: FastifyReply,
  context: OriginContext,
  { playbackId, mediaPath, file, ticket }: PlaylistParams & { readonly ticket?: string },
): Promise<FastifyReply> {
  const rendition = playlistRendition(file);
  if (!isPlaybackId(playbackId) || !isMediaPath(mediaPath) || rendition === undefined) throw gone();
  const showing = await context.showings.find(request, playbackId, mediaPath);
  if (showing === undefined) throw gone();
  const admission = await context.admit(request, playbackId, ticket);
  // Public streams need no ticket, and their playlists hold relative addresses that would be wrong below one.
  if (ticket !== undefined && !admission.restricted) throw gone();
  const directives = parseDirectives(request.query);
  // Every player requests the audio beside the video.
  noteViewer(request, context, playbackId, showing, rendition === AUDIO_RENDITION ? undefined : rendition);
  const answer = await context.hold(reply, playbackId, (waiting) => showing.playlist(rendition, directives, waiting));
  if (answer?.type === 'playlist' && admission.restricted) {
    const { policy } = admission;
    const playlist = context.restrictedPlaylists.of(answer.playlist, {
      folder: ticket === undefined ? '' : ABOVE_TICKET,
      mediaPath,
      proofOf: (name) => context.gate.proofOf(policy, mediaPath, name),
    });
    const gzip = acceptsGzip(request.headers['accept-encoding']);
    return sendRestricted(reply, context, gzip ? await playlist.gzip() : Buffer.from(playlist.text), gzip);
  }
  return await sendPlaylist(reply, context, answer, playlistUrl(playbackId, mediaPath, rendition, directives));
}

/** Counts the sender of a playlist request as a viewer. Returns false for a new viewer when the stream has reached its limit. */
function noteViewer(
  request: FastifyRequest,
  { audience, viewers }: OriginContext,
  playbackId: PlaybackId,
  { quota }: Showing,
  rendition?: string,
): boolean {
  const told = viewers.told(request, playbackId);
  if (told === undefined) return audience.watched(playbackId, { ...viewers.of(request), rendition }, quota);
  audience.watchedElsewhere(playbackId, told);
  return true;
}

/** Sends a playlist, or throws the reason why there is none. @param url the only URL under which caches may keep the answer */
async function sendPlaylist(
  reply: FastifyReply,
  context: OriginContext,
  answer: Shown<PlaylistAnswer> | undefined,
  url: string,
): Promise<FastifyReply> {
  if (answer === undefined) return reply.hijack();
  switch (answer.type) {
    case 'playlist': {
      const { playlist, validity, cacheControl = context.cacheControl(KINDS[validity]) } = answer;
      const gzip = acceptsGzip(reply.request.headers['accept-encoding']);
      const body = gzip ? await playlist.gzip() : Buffer.from(playlist.text);
      const headers = {
        'content-type': PLAYLIST_TYPE,
        'content-length': body.length,
        'cache-control': context.sharedAs(reply, url, cacheControl),
        vary: 'Accept-Encoding',
      };
      return sendAnswer(reply, 200, gzip ? { ...headers, 'content-encoding': 'gzip' } : headers, [body]);
    }
    case 'bad_request':
      throw new MillraceError('invalid_request', answer.reason);
    case 'timeout':
      throw new MillraceError('playlist_timeout', 'The publisher sent nothing new in time; try again.', {
        retryAfterS: 1,
      });
    case 'not_found':
      throw gone();
    default:
      return unreachable(answer);
  }
}

/** Sends a playlist that is only for this viewer. */
function sendRestricted(
  reply: FastifyReply,
  context: OriginContext,
  body: Uint8Array,
  isGzipped = false,
): FastifyReply {
  const headers = {
    'content-type': PLAYLIST_TYPE,
    'content-length': body.length,
    'cache-control': context.cacheControl('restricted'),
    ...(isGzipped && { 'content-encoding': 'gzip' }),
  };
  return sendAnswer(reply, 200, headers, [body]);
}

/** Makes the error for a playback id without a current session. */
export function offline(): MillraceError {
  return new MillraceError(
    'stream_offline',
    'stream is offline: nobody publishes to it now, or the playback id is wrong; try again later.',
  );
}

function gone(): MillraceError {
  return new MillraceError(
    'not_found',
    'This playlist does not exist, or its session has ended; start again at index.m3u8.',
  );
}
