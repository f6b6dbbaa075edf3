/**
 * Loaded into a serving process by a test (`node --import`). From the first request to `/healthz?settled` on it notes every module that the
 * main thread loads, and every function that is compiled from a text. When the process ends, it prints them as one line of JSON.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const noted: string[] = [];
  let isSettled = false;
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { readonly request: IncomingMessage };
    isSettled ||= request.url === '/healthz?settled';
  });
  registerHooks({
    load: (url, context, next) => {
      if (isSettled && !url.startsWith('node:')) noted.push(url);
      return next(url, context);
    },
  });
  const compile = (target: FunctionConstructor, args: string[]) => {
    if (isSettled) noted.push(`a function of ${args.at(-1)?.length ?? 0} characters`);
    return target(...args);
  };
  globalThis.Function = new Proxy(Function, {
    apply: (target, _this, args: string[]) => compile(target, args),
    construct: (target, args: string[]) => compile(target, args),
  });
  process.once('exit', () => console.log(JSON.stringify({ noted })));
}
