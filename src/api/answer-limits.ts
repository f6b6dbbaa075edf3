/**
 * Limits what the answers to one user take: the event loop's time for making large ones, and the memory of those that are not read.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';
import { cutOffIdle } from '#http/unread-answer.ts';
import { streamOf } from '#lib/request-connection.ts';
import type { ApiInstance } from './api.ts';
import type { RateLimit } from './rate-limit.ts';

/** Shorter answers cost hardly more than their request. */
const LARGE_CHARACTERS = 16_384;
/** So many characters of an answer cost the event loop about as much as another request. */
const CHARACTERS_OF_REQUEST = 65_536;
/** How many characters of large answers to a user may be unread at a time. They are enough for 16 full pages of lists. */
const MAX_UNREAD_CHARACTERS = 16 * 1_048_576;

/**
 * Counts a large answer as several requests. A large answer to a GET is refused while too much of earlier ones to the same user is unread,
 * and is cut off when nothing of it is read for 30 s.
 */
export function limitAnswers(api: ApiInstance, rateLimit: Pick<RateLimit, 'addCost'>): void {
  const unread = new Map<UserId, number>();

  const add = (user: UserId, characters: number) => {
    const sum = (unread.get(user) ?? 0) + characters;
    if (sum === 0) unread.delete(user);
    else unread.set(user, sum);
  };

  /** @throws {MillraceError} `too_many_requests` */
  const mayAdd = (user: UserId, characters: number) => {
    if ((unread.get(user) ?? 0) + characters <= MAX_UNREAD_CHARACTERS) return;
    throw new MillraceError(
      'too_many_requests',
      'Too many large answers were sent to you that you have not read; read them, or ask for fewer at a time.',
    );
  };

  const watch = ({ raw, caller: { userId } }: FastifyRequest, reply: FastifyReply, characters: number) => {
    const { socket } = raw;
    // Nobody will read the answer, and `close` has been emitted already.
    if ((streamOf(reply.raw) ?? socket).destroyed) return;
    add(userId, characters);
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      add(userId, -characters);
      socket.off('close', over);
    };
    reply.raw.once('close', over);
    // An answer that waits for others of its connection has no socket yet. When the connection breaks, Node 24 emits no event for it. The
    // number of pipelined requests is limited, so there are few of these listeners.
    if (reply.raw.socket === null) socket.setMaxListeners(0).once('close', over);
    // Nearly every answer has left the process by then.
    setImmediate(() => {
      if (!isOver) cutOffIdle(reply.raw);
    });
  };

  api.addHook('onSend', (request, reply, payload, done) => {
    // Only routes with the authentication hook have a caller.
    const caller = request.caller as FastifyRequest['caller'] | undefined;
    if (caller === undefined || typeof payload !== 'string' || payload.length < LARGE_CHARACTERS) {
      done(null, payload);
      return;
    }
    const { userId, keyId, quotas } = caller;
    try {
      // What another method has changed would not be undone by refusing its answer.
      const isGet = request.method === 'GET';
      if (isGet) mayAdd(userId, payload.length);
      const further = Math.floor(payload.length / CHARACTERS_OF_REQUEST);
      rateLimit.addCost(further, { id: keyId }, { id: userId, quotas }, reply);
      if (isGet) watch(request, reply, payload.length);
      done(null, payload);
    } catch (error) {
      done(error as MillraceError);
    }
  });
}
