/**
 * Finds the resources that a typed or pasted text refers to.
 */
import { ApiError } from '../../shared/errors.ts';
import type { Asset, Stream, StreamInfo, Webhook } from '../../shared/types.ts';
import { pastedId, pastedName } from './pasted.ts';

/** Something that was found, and its page. */
export interface Hit {
  readonly name: string;
  readonly note: string;
  readonly icon: 'film' | 'history' | 'hook' | 'streams';
  readonly path: string;
}

/** The longest text that a name is compared with. The API refuses longer ones. */
const MAX_NAME_LENGTH = 512;

/**
 * Finds resources whose id the text contains, and streams whose names contain the text, unless it may be a secret. A failed
 * request does not hide the hits of others.
 * @param get reads from the API
 * @throws the error of a request, when nothing was found because requests failed
 */
export async function find(text: string, get: <Answer>(path: string) => Promise<Answer>): Promise<readonly Hit[]> {
  if (text === '') return [];
  const id = pastedId(text);
  const name = pastedName(text);
  const isUuid = id?.length === 36;
  const isPlaybackId = id?.length === 16;
  let asked = 0;
  const failures: unknown[] = [];
  const ask = async <Answer>(isNeeded: boolean, path: string): Promise<Answer | undefined> => {
    if (!isNeeded) return undefined;
    asked += 1;
    try {
      return await get<Answer>(path);
    } catch (error) {
      if (statusOf(error) !== 404) failures.push(error);
      return undefined;
    }
  };
  const filters = encodeURIComponent(JSON.stringify([{ id: 'name', value: name }]));
  const [info, asset, assets, webhook, named] = await Promise.all([
    ask<StreamInfo>(id !== undefined, `/stream/${id}/info`),
    ask<Asset>(isUuid, `/asset/${id}`),
    ask<readonly Asset[]>(isPlaybackId, `/asset?limit=1&playbackId=${id}`),
    ask<Webhook>(isUuid, `/webhook/${id}`),
    ask<readonly Stream[]>(name !== '' && name.length <= MAX_NAME_LENGTH, `/stream?limit=8&filters=${filters}`),
  ]);
  const hits = hitsOf({ info, asset: asset ?? assets?.[0], webhook, named: named ?? [] });
  // A key that may not read one kind of resource may still find others.
  const isRefused = failures.length === asked;
  const failure = failures.find((error) => isRefused || statusOf(error) !== 403);
  if (hits.length === 0 && failure !== undefined) throw failure;
  return hits;
}

const statusOf = (error: unknown): number | undefined => (error instanceof ApiError ? error.status : undefined);

function hitsOf({
  info,
  asset,
  webhook,
  named,
}: {
  readonly info: StreamInfo | undefined;
  readonly asset: Asset | undefined;
  readonly webhook: Webhook | undefined;
  readonly named: readonly Stream[];
}): readonly Hit[] {
  const hits: Hit[] = [];
  if (info?.isSession && info.session) {
    hits.push({ name: info.session.name, note: 'Session', icon: 'history', path: `/sessions/${info.session.id}` });
  } else if (info !== undefined) {
    const what = info.isStreamKey
      ? 'Stream with this key'
      : info.isPlaybackid
        ? 'Stream with this playback id'
        : 'Stream';
    hits.push({ name: info.stream.name, note: what, icon: 'streams', path: `/streams/${info.stream.id}` });
  }
  if (asset !== undefined) {
    const note = asset.source.type === 'clip' ? 'Clip' : 'Recording';
    hits.push({ name: asset.name, note, icon: 'film', path: `/recordings/${asset.id}` });
  }
  if (webhook !== undefined) {
    hits.push({ name: webhook.name, note: 'Webhook', icon: 'hook', path: `/webhooks/${webhook.id}` });
  }
  for (const { id: streamId, name, isActive } of named) {
    const path = `/streams/${streamId}`;
    if (!hits.some((hit) => hit.path === path)) {
      hits.push({ name, note: isActive ? 'Live stream' : 'Stream', icon: 'streams', path });
    }
  }
  return hits;
}
