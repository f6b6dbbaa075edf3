/**
 * Names of users and API keys, which appear in tables, in lists and in `createdByTokenName`.
 */

/** 1 to 100 printable characters, without blanks at its ends. A regular expression for the `u` flag, as schemas take it. */
export const NAME_PATTERN = '^[^\\p{C}\\s](?:[^\\p{C}]{0,98}[^\\p{C}\\s])?$';

const NAME = new RegExp(NAME_PATTERN, 'u');

/** Whether text can be a name. */
export const isName = (text: string): boolean => NAME.test(text);
