/**
 * Finds the recording or clip that a new clip is to be cut from. How much has been recorded so far is known in memory, on this node or on
 * the node that records.
 */
import type { Asset } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import { type AssetId, isPlaybackId, isUuid, type SessionId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { isInScope } from '#store/page.ts';
import type { RouteContext } from './api.ts';
import type { Caller } from './authenticate.ts';
import { streamByPlaybackId } from './find-stream.ts';
import { asOfNow, type RecordedExtents } from './present-asset.ts';

/**
 * How many recordings are searched for one that covers the beginning of a clip. The newest alone is not enough, because another broadcast may
 * have begun shortly after that moment.
 */
const CANDIDATES = 3;
/** A recording is created at most this long after its first picture. */
const RECORD_DELAY_MS = 60_000;

/** What a request wants a clip of. */
interface Wanted {
  readonly playbackId: string;
  readonly sessionId: string | undefined;
  readonly startTime: number;
  readonly endTime: Milliseconds;
}

/**
 * Finds the recording or clip that a new clip is to be cut from, with what is recorded by now.
 * @throws {MillraceError} `not_found`, and `not_recorded` for a stream or session without a recording
 */
export async function findClipOrigin(
  context: Pick<RouteContext, 'store' | 'recordings'>,
  wanted: Wanted,
  caller: Caller,
): Promise<Asset> {
  const { store, recordings } = context;
  const { playbackId, sessionId } = wanted;
  const stream = await streamByPlaybackId({ store }, playbackId, caller);
  if (stream !== undefined) return await recordingOf(context, stream, wanted, caller);
  const asset = isPlaybackId(playbackId) ? await store.assets.byPlaybackId(playbackId) : undefined;
  if (asset === undefined || !isInScope(caller.scope, asset.userId)) {
    throw new MillraceError(
      'not_found',
      'You have no stream, recording or clip with this playback id; list yours with GET /stream or GET /asset.',
    );
  }
  if (sessionId !== undefined && sessionId !== asset.sessionId) throw foreignSession();
  if (asset.phase === 'failed') throw notRecorded();
  return await newest(asset, recordings);
}

/** An asset with the extent that is recorded by now, whichever process records it. */
async function newest(asset: Asset, recordings: RecordedExtents): Promise<Asset> {
  return { ...asOfNow(asset, recordings), ...(await recordings.extentElsewhere(asset)) };
}

/** The recording of a stream that covers the beginning of the clip, or else the newest one, with what is recorded by now. */
async function recordingOf(
  { store, recordings }: Pick<RouteContext, 'store' | 'recordings'>,
  stream: Stream,
  { sessionId, startTime, endTime }: Wanted,
  { scope }: Caller,
): Promise<Asset> {
  if (sessionId !== undefined) {
    const session = isUuid(sessionId) ? await store.sessions.get(sessionId as SessionId, scope) : undefined;
    if (session?.streamId !== stream.id) throw foreignSession();
    const recording = await store.assets.get(sessionId as AssetId, scope);
    if (recording === undefined || recording.phase === 'failed') throw notRecorded();
    return await newest(recording, recordings);
  }
  const begunUntil = async (to: Milliseconds | undefined) => {
    const filter = { streamId: stream.id, kind: 'recording', ...(to !== undefined && { to }) } as const;
    const { rows } = await store.assets.list(scope, {
      limit: CANDIDATES,
      order: 'createdAt',
      direction: 'desc',
      filter,
    });
    return rows.filter(({ phase }) => phase !== 'failed');
  };
  // Recordings that began later are not searched, because any number of broadcasts may have begun before the end of the clip.
  // The row of a recording that has just begun does not say yet when it begins. The process that writes the recording knows.
  const candidates = await begunUntil(ms(Math.min(startTime + RECORD_DELAY_MS, endTime)));
  const known = await Promise.all(candidates.map((each) => newest(each, recordings)));
  const covering = known.find(({ fromMs }) => fromMs !== undefined && fromMs <= startTime);
  if (covering !== undefined) return covering;
  const recording = (await begunUntil(endTime))[0] ?? (await begunUntil(undefined))[0];
  if (recording === undefined) throw notRecorded();
  return await newest(recording, recordings);
}

const foreignSession = () =>
  new MillraceError(
    'not_found',
    'The field sessionId names no session of this stream; leave it out, or list them with GET /session.',
  );

const notRecorded = () =>
  new MillraceError(
    'not_recorded',
    'The field playbackId names something that was not recorded; set record to true before the next broadcast.',
  );
