/**
 * Gives a primitive a name of its own, so that a stream id cannot stand where a session id is asked.
 * Costs nothing at run time.
 */
export type Brand<Base, Name extends string> = Base & { readonly __brand: Name };
