/**
 * The span of a clip that the user marks.
 */

/** The span between two marks, in either order; undefined while one is missing or both are the same moment. */
export function spanOf(
  oneS: number | undefined,
  otherS: number | undefined,
): { readonly fromS: number; readonly untilS: number } | undefined {
  if (oneS === undefined || otherS === undefined || oneS === otherS) return undefined;
  return { fromS: Math.min(oneS, otherS), untilS: Math.max(oneS, otherS) };
}
