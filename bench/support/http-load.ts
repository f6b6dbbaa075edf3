/**
 * The same HTTP request over and over, by autocannon.
 */
import autocannon from 'autocannon';

/** The request to send, and how often. */
export interface HttpLoad {
  readonly port: number;
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly connections: number;
  /** A number of requests, or a time. */
  readonly limit: { readonly requests: number } | { readonly seconds: number };
}

/** The result of a run. */
export interface LoadReport {
  readonly answered: number;
  /** The bytes of the answers, including headers. */
  readonly bytes: number;
  readonly seconds: number;
}

/** Runs to the limit. @throws {Error} when an answer is not 2xx or none comes */
export async function runHttpLoad({ port, path, limit, ...request }: HttpLoad): Promise<LoadReport> {
  const report = await autocannon({
    ...request,
    url: `http://127.0.0.1:${port}${path}`,
    ...('requests' in limit ? { amount: limit.requests } : { duration: limit.seconds }),
  });
  const { '2xx': answered, non2xx, errors, throughput, duration: seconds } = report;
  if (non2xx > 0 || errors > 0) throw new Error(`${path}: ${non2xx} answers were not 2xx, ${errors} requests failed`);
  return { answered, bytes: throughput.total, seconds };
}
