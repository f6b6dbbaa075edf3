/**
 * Reads source maps only for stacks that are shown. Node formats the stack of every socket error, although nobody looks at most of them, and
 * a client that hangs up while it is answered causes such an error. With source maps, the first of them blocked a server for 60 ms and took
 * 15 MB.
 */
import { getSourceMapsSupport, setSourceMapsSupport } from 'node:module';

/** How source maps are read when a stack is shown. Undefined while Node reads them for every stack, or for none. */
let forShown: { readonly nodeModules: boolean; readonly generatedCode: boolean } | undefined;

/** Stops reading source maps for stacks that are not read by {@link showing}. Call it once the server is loaded. */
export function mapOnlyShownStacks(): void {
  const { enabled, nodeModules, generatedCode } = getSourceMapsSupport();
  if (!enabled) return;
  forShown = { nodeModules, generatedCode };
  setSourceMapsSupport(false);
}

/** Calls a function that reads stacks which somebody will look at. A stack that was read before stays as it is. */
export function showing<Result>(read: () => Result): Result {
  if (forShown === undefined) return read();
  setSourceMapsSupport(true, forShown);
  try {
    return read();
  } finally {
    setSourceMapsSupport(false);
  }
}
