/**
 * A receiver of webhooks on this machine, whose answers a test sets.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';

/** A request as it was received. */
export interface ReceivedDelivery {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: {
    readonly id: string;
    readonly webhookId: string;
    readonly event: string;
    readonly sequence: number;
    readonly createdAt: number;
    readonly timestamp: number;
    readonly stream?: Readonly<Record<string, unknown>>;
    readonly payload: Readonly<Record<string, unknown>>;
  };
}

/** The answer of a receiver. */
export interface ReceiverAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A running receiver. */
export interface WebhookReceiver extends AsyncDisposable {
  /** `http://127.0.0.1:port/` */
  readonly url: string;
  readonly received: readonly ReceivedDelivery[];
  /** Decides about the answer to each delivery. A test may replace it. With undefined, the delivery is not answered. */
  answer: (delivery: ReceivedDelivery) => ReceiverAnswer | undefined;
}

/** Starts a receiver that answers 200. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedDelivery[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const text = Buffer.concat(pieces).toString();
      const delivery = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) };
      received.push(delivery);
      const answer = receiver.answer(delivery);
      if (answer !== undefined) response.writeHead(answer.status, { ...answer.headers }).end(answer.body ?? '');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${address.port}/`,
    received,
    answer: () => ({ status: 200 }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
