/**
 * The form of the file names that a viewer can ask for. A name of another form is not looked up. A name of this form is only ever looked up
 * in a map, never joined to a path.
 */

const SEALED = /^[A-Za-z0-9_-]{1,8192}$/;
const RESOURCE_NAME = /^[A-Za-z0-9_~-][A-Za-z0-9_.-]{0,127}$/;

/** Whether text can be a rendition id, or the name of a segment, part or init segment. */
export function isResourceName(text: string): boolean {
  return RESOURCE_NAME.test(text);
}

/** Whether text has the form of a ticket or a proof, which are base64url. Only the gate knows whether it is valid. */
export function isSealed(text: string): boolean {
  return SEALED.test(text);
}

/** The rendition whose media playlist a file name is: `source.m3u8` gives `source`; undefined for any other name. */
export function playlistRendition(file: string): string | undefined {
  const rendition = file.endsWith('.m3u8') ? file.slice(0, -'.m3u8'.length) : '';
  return isResourceName(rendition) ? rendition : undefined;
}
