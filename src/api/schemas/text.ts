/**
 * Patterns and phrases that several schemas share.
 */

/** Text that can be stored and echoed byte for byte: no U+0000, no half of a surrogate pair. */
export const STORABLE = '^[^\\u0000\\uD800-\\uDFFF]*$';
/** As {@link STORABLE}, without control characters, for what will stand in playlists. */
export const PRINTABLE = '^[^\\u0000-\\u001F\\u007F\\uD800-\\uDFFF]*$';

const STORABLE_TEXT = new RegExp(STORABLE, 'u');
/** Whether text is as {@link STORABLE} says. */
export const isStorable = (text: string): boolean => STORABLE_TEXT.test(text);

/** The unit of every time, for descriptions. */
export const MILLISECONDS = 'Milliseconds since the Unix epoch';
