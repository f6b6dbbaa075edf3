import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fastify } from 'fastify';
import { RequestValidators } from './request-validators.ts';

/** A new schema at each call, because a schema is compiled only once. */
const text = () => ({ type: 'object', properties: { text: { type: 'string' } } });

/** A server with one route, which has a schema for each part of its requests. */
async function server(t: TestContext) {
  const validators = new RequestValidators();
  const http = fastify({
    schemaController: { compilersFactory: { buildValidator: validators.build } },
    ajv: { customOptions: { coerceTypes: false, validateSchema: false } },
  });
  t.after(() => http.close());
  validators.addTo(http);
  http.post('/:text', { schema: { params: text(), querystring: text(), body: text() } }, () => ({ ok: true }));
  await http.ready();
  return http;
}

/** Notes the turns of the event loop in which functions are compiled from text. */
function notedCompiles(t: TestContext): readonly number[] {
  const turns: number[] = [];
  let turn = 0;
  const next = () => {
    turn += 1;
    immediate = setImmediate(next);
  };
  let immediate = setImmediate(next);
  const original = globalThis.Function;
  globalThis.Function = new Proxy(original, {
    construct: (target, args: string[]) => {
      turns.push(turn);
      return target(...args);
    },
  });
  t.after(() => {
    clearImmediate(immediate);
    globalThis.Function = original;
  });
  return turns;
}

test('validators are compiled with the first request to their route, each in a turn of the event loop of its own', async (t) => {
  const http = await server(t);
  const turns = notedCompiles(t);
  const ask = (value: unknown) => http.inject({ method: 'POST', url: '/a?text=b', body: { text: value } });
  const [first, second] = await Promise.all([ask('c'), ask(1)]);
  assert.equal(first.statusCode, 200);
  assert.equal(second.statusCode, 400);
  assert.equal(turns.length, 3);
  assert.equal(new Set(turns).size, 3);
  assert.equal((await ask(2)).statusCode, 400);
  assert.equal(turns.length, 3);
});
