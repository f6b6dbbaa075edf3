/** Peer: a Fastify server with only one route, which sends one object. */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';

process.once('message', ({ body }: { body: object }) => {
  const app = Fastify();
  app.get('/api/stream/:id', () => body);
  void app
    .listen({ host: '127.0.0.1', port: 0 })
    .then(() => process.send?.((app.server.address() as AddressInfo).port));
});
process.once('disconnect', () => process.exit());
