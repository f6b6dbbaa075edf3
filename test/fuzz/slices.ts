/**
 * Inputs of parsers that take bytes as the network cuts them: the first byte says how, so that an input alone repeats what happened.
 */

/** The rest of an input, in slices of as many bytes as its first byte says; whole where that is 0. They are views. */
export function slices(input: Buffer): readonly Buffer[] {
  const size = input[0] ?? 0;
  const rest = input.subarray(1);
  if (size === 0 || rest.length === 0) return [rest];
  const list: Buffer[] = [];
  for (let at = 0; at < rest.length; at += size) list.push(rest.subarray(at, at + size));
  return list;
}
