/**
 * How many requests an API key may make, and the headers that tell it so. Counted by this process alone.
 */
import type { FastifyReply } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { ApiKeyId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';

/**
 * Counts a request and puts `RateLimit-Limit`, `-Remaining` and `-Reset` (draft-ietf-httpapi-ratelimit-headers-03: three plain
 * numbers, which clients know better than the lists of later drafts) into its answer.
 * @throws {MillraceError} `too_many_requests`
 */
export type RateLimit = (keyId: ApiKeyId, reply: FastifyReply) => void;

/** @param perMinute requests of one key, which may also come at once; 0 = no limit, and no headers */
export function createRateLimit({
  perMinute,
  clock,
}: {
  readonly perMinute: number;
  readonly clock: Clock;
}): RateLimit {
  if (perMinute === 0) return () => {};
  const buckets = new TokenBuckets({ perMinute, clock });
  return (keyId, reply) => {
    const { allowed, remaining, fullAfterS, retryAfterS } = buckets.take(keyId);
    reply.header('ratelimit-limit', buckets.limit);
    reply.header('ratelimit-remaining', remaining);
    reply.header('ratelimit-reset', fullAfterS);
    if (!allowed) {
      throw new MillraceError(
        'too_many_requests',
        `This API key made more than ${perMinute} requests in a minute; wait as long as Retry-After says.`,
        { retryAfterS },
      );
    }
  };
}
