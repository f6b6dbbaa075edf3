/**
 * The files of a recording, as its URLs name them: `/recordings/<path>/<file>`.
 */
import type { MediaPath } from '#domain/ids.ts';
import { AUDIO_RENDITION } from '#domain/profile.ts';
import { isResourceName } from '#origin/resource-name.ts';
import type { Excerpt } from '#recording/recording.ts';

/** What a file name stands for. */
export type RecordingFile =
  | { readonly type: 'multivariant' }
  | { readonly type: 'playlist'; readonly rendition: string }
  | { readonly type: 'mp4'; readonly rendition: string }
  | { readonly type: 'poster' }
  | { readonly type: 'storyboard' }
  | { readonly type: 'sheet'; readonly index: number };

const SHEET = /^sheet-(0|[1-9]\d{0,4})\.jpg$/;

/** Parses a file name. Undefined when nothing has such a name. */
export function parseRecordingFile(name: string): RecordingFile | undefined {
  if (name === 'index.m3u8') return { type: 'multivariant' };
  if (name === 'poster.jpg') return { type: 'poster' };
  if (name === 'storyboard.vtt') return { type: 'storyboard' };
  if (name === `${AUDIO_RENDITION}.m4a`) return { type: 'mp4', rendition: AUDIO_RENDITION };
  const sheet = SHEET.exec(name);
  if (sheet !== null) return { type: 'sheet', index: Number(sheet[1]) };
  const rendition = name.replace(/\.[^.]*$/, '');
  if (!isResourceName(rendition)) return undefined;
  if (name === `${rendition}.m3u8`) return { type: 'playlist', rendition };
  return name === `${rendition}.mp4` && rendition !== AUDIO_RENDITION ? { type: 'mp4', rendition } : undefined;
}

/** The one URL of a file, under which caches may keep it; see `resource-url.ts`. */
export const recordingUrl = (path: MediaPath, file: string, skip = false): string =>
  `/recordings/${path}/${file}${skip ? '?_HLS_skip=YES' : ''}`;

/** The query for a span, with its `?`; empty for all of an asset. */
export function spanQuery({ fromMs, untilMs }: Excerpt): string {
  const query = new URLSearchParams();
  if (fromMs !== undefined) query.set('from', String(fromMs));
  if (untilMs !== undefined) query.set('to', String(untilMs));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/**
 * The `Content-Disposition` that makes browsers save a file, under the name that a viewer asks for or else its own (RFC 6266 §4). No name
 * can end the header or lead into another folder.
 * @param extension with its dot
 */
export function saveAs(asked: string, own: string, extension: string): string {
  // Control characters, and what file systems do not allow in names.
  const cleaned = asked
    .normalize()
    .replaceAll(/[\p{C}\\/:*?"<>|%]/gu, '_')
    .replace(/^[\s.]+/, '')
    .slice(0, 120)
    .trim()
    .toWellFormed();
  const stem = cleaned.toLowerCase().endsWith(extension) ? cleaned.slice(0, -extension.length) : cleaned;
  const name = `${stem === '' ? own : stem}${extension}`;
  const plain = name.replaceAll(/[^ -~]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
