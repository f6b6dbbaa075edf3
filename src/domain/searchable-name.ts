/**
 * The form in which names are compared when a list is searched, so that letter case does not matter.
 */

/**
 * The longest searchable name, in UTF-16 code units. PostgreSQL indexes at most 2,704 bytes a row, and a code unit takes at most three. Only a
 * name with more than 288 characters outside the basic plane, such as emoji, or as many that become longer in upper case, is longer.
 */
const MAX_LENGTH = 800;

/**
 * A name, or part of one, in composed characters and upper case. Upper case is used because it does not depend on the neighbours of a letter,
 * as the lower case of a Greek sigma does.
 */
export const searchableName = (text: string): string =>
  text.normalize('NFC').toUpperCase().slice(0, MAX_LENGTH).toWellFormed();
