/**
 * The events about assets: when each is due, and its payload, both in SQL on a row of `assets`.
 */
import { type RawBuilder, sql } from 'kysely';
import type { EventType } from '#domain/events.ts';

/**
 * The events about assets, with the condition under which each is due, by the phase that was reported last. One write runs them in the
 * order in which they happened.
 */
export const REPORTS = {
  'recording.started': sql`kind = 'recording' and reported = ''`,
  'asset.created': sql`reported = ''`,
  'recording.waiting': sql`kind = 'recording' and phase in ('storing', 'ready', 'failed') and reported in ('', 'recording')`,
  'recording.ready': sql`kind = 'recording' and phase = 'ready' and reported <> 'ready'`,
  'recording.failed': sql`kind = 'recording' and phase = 'failed' and reported <> 'failed'`,
  'asset.ready': sql`phase = 'ready' and reported <> 'ready'`,
  'asset.deleted': sql`deleted_at is not null and reported not in ('deleting', 'deleted')`,
} as const satisfies Partial<Record<EventType, RawBuilder<unknown>>>;

/** An event about an asset. */
export type AssetEventType = keyof typeof REPORTS;

/** The phase in the API's words. */
const API_PHASE = sql`case phase when 'recording' then 'waiting' when 'storing' then 'processing' else phase end`;

/**
 * JSON text with a comma and the URLs of an asset, which begin at the server's root. Empty for a failed or deleted asset. Until the tracks
 * are known, the download is that of a recording with video.
 */
const urls = (playlist: string, download: string) => sql<string>`case when phase in ('recording', 'storing', 'ready')
  then ',"' || ${sql.lit(playlist)} || '":"/recordings/' || path || '/index.m3u8","' || ${sql.lit(download)} || '":"/recordings/' || path
    || case when tracks = '[]' or tracks like '%"kind":"video"%' then '/source.mp4"' else '/audio.m4a"' end
  else '' end`;

/** The payload of an event about a recording, as JSON text. Ids, numbers and words of the domain need no escaping. */
export const RECORDING_PAYLOAD = sql<string>`'{"assetId":"' || assets.id || '","session":{"id":"' || session_id
  || '","parentId":"' || stream_id
  || '","playbackId":"' || coalesce((select playback_id from streams where streams.id = assets.stream_id), '')
  || '","record":true,"recordingStatus":"' || case when phase in ('ready', 'failed') then phase else 'waiting' end
  || '","assetId":"' || assets.id || '"' || ${urls('recordingUrl', 'mp4Url')} || '}' || ${urls('recordingUrl', 'mp4Url')} || '}'`;

/** The payload of an event about an asset, as JSON text. */
export const ASSET_PAYLOAD = sql<string>`'{"asset":{"id":"' || assets.id || '","playbackId":"' || playback_id
  || '","source":{"type":"' || kind || '","sessionId":"' || session_id
  || '"},"status":{"phase":"' || ${API_PHASE} || '","updatedAt":' || cast(updated_at as text) || '}'
  || ${urls('playbackUrl', 'downloadUrl')} || '}}'`;
