/**
 * The same request over and over, on several connections at once.
 */
import { LeanConnection, requestHead } from './lean-http.ts';

/** What to ask, and how often. */
export interface HttpLoad {
  readonly port: number;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly connections: number;
  /** The status every answer must have. */
  readonly expect: number;
  /** Asked before each request: whether there is to be another. */
  readonly goOn: (asked: number) => boolean;
}

/**
 * Runs until told to stop.
 * @returns how many were answered, bytes of bodies, and how long it took
 * @throws {Error} at the first answer that is not what it should be
 */
export async function runHttpLoad(load: HttpLoad): Promise<{ answered: number; bytes: number; seconds: number }> {
  const { port, method = 'GET', path, headers = {}, body = '', connections, expect, goOn } = load;
  const withLength = body === '' ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const head = requestHead(method, path, withLength);
  let answered = 0;
  let asked = 0;
  let bytes = 0;
  const startedAt = performance.now();
  const one = async () => {
    using connection = await LeanConnection.open(port);
    while (goOn(asked)) {
      asked += 1;
      const response = await connection.request(head, body);
      if (response.status !== expect)
        throw new Error(`${method} ${path} gave ${response.status}: ${response.body.toString()}`);
      answered += 1;
      bytes += response.body.length;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  return { answered, bytes, seconds: (performance.now() - startedAt) / 1000 };
}
