/**
 * Cuts inputs into slices, as a network does. The first byte of an input says how, so that the input alone repeats what happened.
 */

/** Cuts an input after its first byte into slices of as many bytes as that byte says, or into one slice when it is 0. Slices are views. */
export function slices(input: Buffer): readonly Buffer[] {
  const size = input[0] ?? 0;
  const rest = input.subarray(1);
  if (size === 0 || rest.length === 0) return [rest];
  const list: Buffer[] = [];
  for (let at = 0; at < rest.length; at += size) list.push(rest.subarray(at, at + size));
  return list;
}
