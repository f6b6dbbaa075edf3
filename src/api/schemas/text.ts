/**
 * Patterns and phrases that several schemas share.
 */

/** Matches text that can be stored and returned byte for byte: without U+0000 and unpaired surrogates. */
export const STORABLE = '^[^\\u0000\\uD800-\\uDFFF]*$';
/** Matches what {@link STORABLE} matches, without control characters, for text in playlists. */
export const PRINTABLE = '^[^\\u0000-\\u001F\\u007F\\uD800-\\uDFFF]*$';

const STORABLE_TEXT = new RegExp(STORABLE, 'u');
/** Whether a text matches {@link STORABLE}. */
export const isStorable = (text: string): boolean => STORABLE_TEXT.test(text);

/** The unit of times in descriptions. */
export const MILLISECONDS = 'milliseconds since the Unix epoch';
