/**
 * Marks the place where every case of a union has been handled. The compiler refuses a call that can be reached.
 * @throws {Error} when it is called after all, because data from outside does not have its type
 */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}
