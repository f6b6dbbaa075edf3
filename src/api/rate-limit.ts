/**
 * Limits the requests of an API key, and of a user with all its keys, and announces the limit in headers. Each process counts its own
 * requests.
 */
import type { FastifyReply } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import type { Clock } from '#lib/clock.ts';
import { type BucketLevel, QuotaBuckets, TokenBuckets } from '#lib/token-buckets.ts';
import type { Credential } from './credentials.ts';

/** Counts the requests of keys and users. */
export interface RateLimit {
  /**
   * Counts a request, and sets `RateLimit-Limit`, `-Remaining` and `-Reset` of the API key in its answer. These are the plain numbers of
   * draft-ietf-httpapi-ratelimit-headers-03, which clients support better than the lists of later drafts.
   * @throws {MillraceError} `too_many_requests`
   */
  take(key: LimitedKey, user: LimitedUser, reply: FastifyReply): void;
  /** Counts an allowed request as `count` further ones, and sets the headers again. */
  addCost(count: number, key: LimitedKey, user: LimitedUser, reply: FastifyReply): void;
}

type LimitedKey = Pick<Credential, 'id'>;

interface LimitedUser {
  readonly id: UserId;
  readonly quotas: Pick<Quotas, 'requestsPerMinute'>;
}

/**
 * Makes the object that counts requests. The limit of each user comes from the quotas of the user.
 * @param perMinute requests that one key may make per minute, all of them at once if it likes; 0 means no limit and no headers
 */
export function createRateLimit({
  perMinute,
  clock,
}: {
  readonly perMinute: number;
  readonly clock: Clock;
}): RateLimit {
  const ofKeys = perMinute === 0 ? undefined : new TokenBuckets({ perMinute, clock });
  const ofUsers = new QuotaBuckets(clock);
  const show = (reply: FastifyReply, { remaining, fullAfterS }: BucketLevel) => {
    reply.header('ratelimit-limit', perMinute);
    reply.header('ratelimit-remaining', remaining);
    reply.header('ratelimit-reset', fullAfterS);
  };
  return {
    take(key, user, reply) {
      if (ofKeys !== undefined) {
        const level = ofKeys.take(key.id);
        show(reply, level);
        if (!level.allowed) throw tooMany('This API key', perMinute, level.retryAfterS);
      }
      const { requestsPerMinute } = user.quotas;
      if (requestsPerMinute === 0) return;
      const { allowed, retryAfterS } = ofUsers.take(user.id, { perMinute: requestsPerMinute });
      if (!allowed) throw tooMany('The user of this API key', requestsPerMinute, retryAfterS);
    },

    addCost(count, key, user, reply) {
      if (ofKeys !== undefined) show(reply, ofKeys.spend(key.id, count));
      const { requestsPerMinute } = user.quotas;
      if (requestsPerMinute > 0) ofUsers.spend(user.id, count, { perMinute: requestsPerMinute });
    },
  };
}

const tooMany = (who: string, perMinute: number, retryAfterS: number) =>
  new MillraceError(
    'too_many_requests',
    `${who} made more than ${perMinute} requests in a minute; wait as long as Retry-After says.`,
    { retryAfterS },
  );
