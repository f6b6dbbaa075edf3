/**
 * Entity tags in conditional requests (RFC 9110 §13.1.2).
 */

/** Whether `If-None-Match` is `*` or lists this entity tag. A weak tag matches too, because proxies may weaken tags. */
export function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((text) => {
    const tag = text.trim();
    return tag === '*' || tag.replace(/^W\//, '') === etag;
  });
}
