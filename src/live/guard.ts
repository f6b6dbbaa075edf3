/**
 * Keeps what is thrown inside one session from reaching anybody else.
 */
import type { ErrorPlace } from '#telemetry/internal-errors.ts';

/** Does some work; undefined when it threw. */
export type Guard = <Result>(where: ErrorPlace, work: () => Result) => Result | undefined;

/** Makes a guard. @param onThrow is told what was thrown; must not throw itself */
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

/** The same object with each of its methods guarded. @param target has methods that give nothing back, and nothing else */
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
