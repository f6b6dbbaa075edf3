/**
 * What a form changes.
 */

/**
 * The fields that were changed in the form. The others are not sent, because they may have been changed elsewhere in the meantime.
 * @param before undefined for something new, of which all fields are sent
 */
export function changedFields<Fields extends object>(before: Fields | undefined, after: Fields): Partial<Fields> {
  const isChanged = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(before?.[name as keyof Fields]);
  return Object.fromEntries(Object.entries(after).filter(isChanged)) as Partial<Fields>;
}
