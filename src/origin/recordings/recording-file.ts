/**
 * The names of a recording's files in URLs: `/recordings/<path>/<file>`.
 */
import type { MediaPath } from '#domain/ids.ts';
import { AUDIO_RENDITION } from '#domain/profile.ts';
import { isResourceName } from '#origin/resource-name.ts';
import type { Excerpt } from '#recording/recording.ts';

/** The file that a name refers to. */
export type RecordingFile =
  | { readonly type: 'multivariant' }
  | { readonly type: 'playlist'; readonly rendition: string }
  | { readonly type: 'mp4'; readonly rendition: string }
  | { readonly type: 'poster' }
  | { readonly type: 'storyboard' }
  | { readonly type: 'sheet'; readonly index: number };

const SHEET = /^sheet-(0|[1-9]\d{0,4})\.jpg$/;

/** Parses a file name. Undefined when no file can have this name. */
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

/** The only URL of a file under which shared caches may keep it; see `resource-url.ts`. @param skip for a delta update */
export const recordingUrl = (path: MediaPath, file: string, skip = false): string =>
  `/recordings/${path}/${file}${skip ? '?_HLS_skip=YES' : ''}`;

/** The query that selects a span, with its `?`. Empty for a span without bounds. */
export function spanQuery({ fromMs, untilMs }: Excerpt): string {
  const query = new URLSearchParams();
  if (fromMs !== undefined) query.set('from', String(fromMs));
  if (untilMs !== undefined) query.set('to', String(untilMs));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/**
 * The value of `Content-Disposition` with which browsers save a file (RFC 6266 §4). No name can end the header or lead into another folder.
 * @param asked the name that the viewer asks for
 * @param own the name that is used when nothing of `asked` is usable
 * @param extension the extension with its dot
 */
export function saveAs(asked: string, own: string, extension: string): string {
  // Replaces control characters, and characters that file systems do not allow in names.
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
