/** Peer: a server that reads everything that it gets and does nothing with it. It answers with its port. */
import { type AddressInfo, createServer } from 'node:net';

const server = createServer((socket) => socket.on('data', () => {}).on('error', () => {}));
process.once('message', () => {
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
});
process.once('disconnect', () => process.exit());
