import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fastify } from 'fastify';
import { RequestValidators } from './request-validators.ts';

/** A new schema at each call, because a schema is compiled only once. */
const text = () => ({ type: 'object', properties: { text: { $ref: 'Text#' } } });

/** A server with one route, which has a schema for each part of its requests. */
async function server(t: TestContext) {
  const validators = new RequestValidators();
  const http = fastify({
    schemaController: { compilersFactory: { buildValidator: validators.build } },
    ajv: { customOptions: { coerceTypes: false, validateSchema: false, inlineRefs: false } },
  });
  t.after(() => http.close());
  validators.addTo(http);
  http.addSchema({ $id: 'Text', type: 'string', allOf: [{ $ref: 'Letter#' }] });
  http.addSchema({ $id: 'Letter', type: 'string', maxLength: 1 });
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

test('validators are compiled with the first request to their route, each in a turn of its own, as are the schemas they refer to', async (t) => {
  const http = await server(t);
  const turns = notedCompiles(t);
  const ask = (value: unknown) => http.inject({ method: 'POST', url: '/a?text=b', body: { text: value } });
  const [first, second] = await Promise.all([ask('c'), ask(1)]);
  assert.equal(first.statusCode, 200);
  assert.equal(second.statusCode, 400);
  // Six small schemas, two that are referred to, each with the schema that only refers to it, and the three validators.
  assert.equal(new Set(turns).size, 6 + 2 + 3);
  assert.equal(turns.length, 6 + 2 * 2 + 3);
  assert.equal((await ask(2)).statusCode, 400);
  assert.equal((await ask('de')).statusCode, 400);
  assert.equal(turns.length, 6 + 2 * 2 + 3);
});
