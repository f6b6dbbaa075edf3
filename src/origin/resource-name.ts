/**
 * The form of the file names that a viewer may request. A name of another form is not looked up. A name of this form is only looked up in a
 * map, and never joined to a file path.
 */

const SEALED = /^[A-Za-z0-9_-]{1,8192}$/;
const RESOURCE_NAME = /^[A-Za-z0-9_~-][A-Za-z0-9_.-]{0,127}$/;

/** Whether a text has the form of a rendition id, or of the name of a segment, part or init segment. */
export function isResourceName(text: string): boolean {
  return RESOURCE_NAME.test(text);
}

/** Whether a text has the form of a ticket or a proof, which are base64url. Only the playback gate knows whether it is valid. */
export function isSealed(text: string): boolean {
  return SEALED.test(text);
}

/** The rendition of a media playlist's file name: `source` for `source.m3u8`, and undefined for any other form. */
export function playlistRendition(file: string): string | undefined {
  const rendition = file.endsWith('.m3u8') ? file.slice(0, -'.m3u8'.length) : '';
  return isResourceName(rendition) ? rendition : undefined;
}
