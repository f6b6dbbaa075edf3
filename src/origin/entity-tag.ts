/**
 * Entity tags in conditional requests (RFC 9110 §13.1.2).
 */

/** Whether `If-None-Match` says that the viewer has this: by its tag, which proxies may have weakened, among others, or by `*`. */
export function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((text) => {
    const tag = text.trim();
    return tag === '*' || tag.replace(/^W\//, '') === etag;
  });
}
