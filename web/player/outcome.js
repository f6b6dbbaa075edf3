// @ts-check
/**
 * A promise of the outcome of an engine.
 */

/** @typedef {import('./engine.js').Outcome} Outcome */

/**
 * A promise of an outcome, and the function that settles it. `Promise.withResolvers` is not used, because Safari has it from 17.4 on only.
 * @returns {{ outcome: Promise<Outcome>, resolve: (outcome: Outcome) => void }}
 */
export function pendingOutcome() {
  /** @type {(outcome: Outcome) => void} */
  let resolve = () => {};
  const outcome = /** @type {Promise<Outcome>} */ (
    new Promise((settle) => {
      resolve = settle;
    })
  );
  return { outcome, resolve };
}
