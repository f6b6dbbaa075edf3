/**
 * Names of objects. Every engine accepts exactly these, so that a name can never lead out of the folder or the prefix of the bucket.
 */

/** A part does not begin with a dot, so there is no `..` and no temporary file of an engine. */
const NAME = /^[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,99}(?:\/[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,99}){0,7}$/;
const PREFIX = /^[A-Za-z0-9_~/.-]{0,400}$/;

/** Whether text can name an object. */
export const isObjectName = (text: string): boolean => NAME.test(text);

/** @throws {RangeError} when text cannot name an object, which is the caller's mistake */
export function assertObjectName(text: string): void {
  if (!isObjectName(text)) throw new RangeError(`${JSON.stringify(text)} is not the name of an object`);
}

/** @throws {RangeError} when no name of an object can begin with the text, which is the caller's mistake */
export function assertObjectPrefix(text: string): void {
  const isPrefix = PREFIX.test(text) && !text.includes('//') && !/(?:^|\/)\./.test(text) && !text.startsWith('/');
  if (!isPrefix) throw new RangeError(`${JSON.stringify(text)} is not the beginning of the name of an object`);
}
