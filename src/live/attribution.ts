/**
 * Finds the stream or user that a wrong stream key was meant for.
 *
 * The publisher never learns the result, so that keys cannot be probed. Only the owner of the stream or key does.
 */
import { REFUSED_ATTEMPTS, type RefusedAttempt } from '#domain/attempt.ts';
import type { StreamId, UserId } from '#domain/ids.ts';
import { type MistakenKey, readingsOf } from '#domain/mistaken-key.ts';
import type { Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import type { Clock } from '#lib/clock.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { FORMER_KEYS_KEPT_MS, type Store } from '#store/store.ts';

/** The stream or user that a wrong key was meant for, and what was wrong. */
export interface Attribution {
  readonly reason: RefusedAttempt;
  /** A sentence for the owner. */
  readonly message: string;
  readonly streamId: StreamId | undefined;
  readonly userId: UserId | undefined;
  /** With `key_replaced`: when the key was replaced. */
  readonly replacedAt?: Milliseconds | undefined;
}

/** The parts of the store in which {@link attribute} looks. */
export type AttributionStore = {
  readonly streams: Pick<Store['streams'], 'byStreamKey' | 'formerly' | 'byPlaybackId' | 'getMany'>;
  readonly apiKeys: Pick<Store['apiKeys'], 'byHash'>;
};

/**
 * Finds the stream or user that a text belongs to which was sent as an address or stream key. Every reading of the text is tried, and the
 * first one that is found counts. When none is found, the reason is `key_unknown`.
 * @param right the reason when the text contains a valid stream key
 * @throws {MillraceError} `store_unavailable`
 */
export async function attribute(
  text: Secret,
  right: 'key_not_alone' | 'address_invalid',
  { store, clock }: { readonly store: AttributionStore; readonly clock: Clock },
): Promise<Attribution> {
  for (const reading of readingsOf(text.reveal())) {
    const found = await find(reading, right, { store, clock });
    if (found !== undefined) return found;
  }
  return { reason: 'key_unknown', message: REFUSED_ATTEMPTS.key_unknown, streamId: undefined, userId: undefined };
}

async function find(
  reading: MistakenKey,
  right: RefusedAttempt,
  { store, clock }: { readonly store: AttributionStore; readonly clock: Clock },
): Promise<Attribution | undefined> {
  switch (reading.type) {
    case 'stream_key': {
      const stream = await store.streams.byStreamKey(reading.streamKey);
      if (stream !== undefined) return ofStream(stream, right);
      const former = await store.streams.formerly(reading.streamKey, ms(clock.now() - FORMER_KEYS_KEPT_MS));
      if (former === undefined) return undefined;
      const { replacedAt } = former;
      return replacedAt === undefined
        ? ofStream(former.stream, 'stream_deleted')
        : { ...ofStream(former.stream, 'key_replaced'), replacedAt };
    }
    case 'playback_id': {
      const stream = await store.streams.byPlaybackId(reading.playbackId);
      return stream && ofStream(stream, 'key_is_playback_id');
    }
    case 'id': {
      const [stream] = await store.streams.getMany([reading.id as StreamId]);
      return stream && ofStream(stream, 'key_is_stream_id');
    }
    case 'api_key': {
      const found = await store.apiKeys.byHash(reading.apiKey.hash());
      const reason = 'key_is_api_key';
      return found && { reason, message: REFUSED_ATTEMPTS[reason], streamId: undefined, userId: found.user.id };
    }
  }
}

const ofStream = ({ id, userId }: Stream, reason: RefusedAttempt): Attribution => ({
  reason,
  message: REFUSED_ATTEMPTS[reason],
  streamId: id,
  userId,
});
