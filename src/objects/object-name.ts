/**
 * Checks the names of objects. Every engine accepts exactly these names, so no name can lead out of the bucket's prefix.
 */

/** No part begins with a dot. This excludes `..`, and temporary files where an engine writes files. */
const NAME = /^[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,99}(?:\/[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,99}){0,7}$/;
const PREFIX = /^[A-Za-z0-9_~/.-]{0,400}$/;

/** Whether a text may be the name of an object. */
export const isObjectName = (text: string): boolean => NAME.test(text);

/** Checks the name of an object. @throws {RangeError} when no object may have this name, which is a mistake of the caller */
export function assertObjectName(text: string): void {
  if (!isObjectName(text)) throw new RangeError(`${JSON.stringify(text)} is not the name of an object`);
}

/** Checks the prefix of a list. @throws {RangeError} when no name may begin with it, which is a mistake of the caller */
export function assertObjectPrefix(text: string): void {
  const isPrefix = PREFIX.test(text) && !text.includes('//') && !/(?:^|\/)\./.test(text) && !text.startsWith('/');
  if (!isPrefix) throw new RangeError(`${JSON.stringify(text)} is not the beginning of the name of an object`);
}
