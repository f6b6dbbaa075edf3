/**
 * Stands where every case of a union has been handled; the compiler refuses a call that can be reached.
 * @throws {Error} when data from outside broke the type all the same
 */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}
