/**
 * Catches errors that are thrown inside one session, so that they affect neither other sessions nor the event loop.
 */
import type { ErrorPlace } from '#telemetry/internal-errors.ts';

/** Runs a function and returns its result, or undefined when it threw. */
export type Guard = <Result>(where: ErrorPlace, work: () => Result) => Result | undefined;

/** Makes a guard. @param onThrow called with each error that was thrown; it must not throw itself */
export function guardWith(onThrow: (where: ErrorPlace, error: unknown) => void): Guard {
  return (where, work) => {
    try {
      return work();
    } catch (error) {
      onThrow(where, error);
      return undefined;
    }
  };
}

/** Wraps an object so that each of its methods is guarded. @param target an object that has only methods whose results are not used */
export function guarded<Methods extends object>(guard: Guard, where: ErrorPlace, target: Methods): Methods {
  return new Proxy(target, {
    get(from, name) {
      const method: unknown = Reflect.get(from, name);
      return typeof method === 'function'
        ? (...args: unknown[]) => guard(where, () => Reflect.apply(method, from, args))
        : method;
    },
  });
}
