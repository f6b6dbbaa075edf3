/**
 * Makes a type of its own from a primitive, so that a stream id cannot be passed as a session id. Costs nothing at run time.
 */
export type Brand<Base, Name extends string> = Base & { readonly __brand: Name };
