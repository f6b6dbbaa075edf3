import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ApiKeyId } from '#domain/ids.ts';
import type { AccessRule } from '#domain/user.ts';
import { type Access, AccessJudge, accessProblem, isContained } from './access.ts';

let count = 0;
/** Asks a new judge, which remembers no compiled rules. */
function allows(access: Access, method: string, path: string): boolean {
  count += 1;
  return new AccessJudge().allows({ id: String(count) as ApiKeyId, access }, method, path.split('/'));
}

test('a request is allowed when any rule names its method and path', () => {
  const table: [AccessRule[], string, string, boolean][] = [
    [[], 'GET', 'stream', false],
    [[{ resources: [] }], 'GET', 'stream', false],
    [[{ resources: ['*'] }], 'DELETE', 'stream/1/terminate', true],
    [[{ resources: ['stream'] }], 'GET', 'stream', true],
    [[{ resources: ['/stream'] }], 'GET', 'stream', true],
    [[{ resources: ['stream'] }], 'GET', 'stream/1', false],
    [[{ resources: ['stream'] }], 'GET', 'streams', false],
    [[{ resources: ['stream/:id'] }], 'GET', 'stream/1', true],
    [[{ resources: ['stream/:id'] }], 'GET', 'stream', false],
    [[{ resources: ['stream/:id'] }], 'GET', 'stream/1/info', false],
    [[{ resources: ['stream/:id/info'] }], 'GET', 'stream/1/info', true],
    [[{ resources: ['stream/7f3q'] }], 'GET', 'stream/7f3q', true],
    [[{ resources: ['stream/7f3q'] }], 'GET', 'stream/0000', false],
    [[{ resources: ['stream/7f3q'] }], 'GET', 'stream/:id', false],
    [[{ resources: ['stream/*'] }], 'GET', 'stream/1/info', true],
    [[{ resources: ['stream/*'] }], 'GET', 'stream', false],
    [[{ resources: ['stream'], methods: ['get'] }], 'GET', 'stream', true],
    [[{ resources: ['stream'], methods: ['get'] }], 'HEAD', 'stream', true],
    [[{ resources: ['stream'], methods: ['get'] }], 'POST', 'stream', false],
    [[{ resources: ['stream'], methods: ['*'] }], 'POST', 'stream', true],
    [[{ resources: ['session'] }, { resources: ['stream'], methods: ['post'] }], 'POST', 'stream', true],
  ];
  for (const [rules, method, path, expected] of table) {
    assert.equal(allows({ rules }, method, path), expected, JSON.stringify([rules, method, path]));
  }
  assert.equal(allows(undefined, 'DELETE', 'user/1'), true, 'without rules there is no limit');
});

test('each key is judged by its own rules', () => {
  const judge = new AccessJudge();
  const key = (id: string, resource: string) => ({
    id: id as ApiKeyId,
    access: { rules: [{ resources: [resource] }] },
  });
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal(judge.allows(key('a', 'stream'), 'GET', ['stream']), true);
    assert.equal(judge.allows(key('b', 'session'), 'GET', ['stream']), false);
  }
});

test('a resource that is not a pattern is refused with a sentence', () => {
  for (const resource of [
    '',
    '/',
    'stream/',
    '//stream',
    'stream?x=1',
    'a/*/b',
    'stream*',
    'a b',
    ':',
    'stream/%2e',
    '..\\',
    ':1',
  ]) {
    const problem = accessProblem([{ resources: ['stream', resource] }]);
    assert.match(problem ?? '', /^The field access\.rules\[0\]\.resources\[1\] must .*\.$/, resource);
  }
  for (const resource of [
    '*',
    '/*',
    'stream',
    '/stream/:id',
    'stream/:id/*',
    'stream/66e2161c-7670-4d05-b71d-da2d6979556f',
  ]) {
    assert.equal(accessProblem([{ resources: [resource] }]), undefined, resource);
  }
});

test('rules contain the same and narrower ones, and nothing wider', () => {
  const parent = {
    rules: [{ resources: ['stream', 'stream/:id'], methods: ['get', 'post'] }, { resources: ['session/*'] }],
  };
  const inside: AccessRule[][] = [
    [],
    [{ resources: [] }],
    [{ resources: ['/stream'], methods: ['get'] }],
    [{ resources: ['stream/:other', 'stream/1'], methods: ['post'] }],
    [{ resources: ['session/1', 'session/:id/clips', 'session/a/*'] }],
    [
      { resources: ['stream'], methods: ['get'] },
      { resources: ['session/*'], methods: ['*'] },
    ],
  ];
  const outside: AccessRule[][] = [
    [{ resources: ['*'] }],
    [{ resources: ['stream'] }],
    [{ resources: ['stream'], methods: ['*'] }],
    [{ resources: ['stream'], methods: ['get', 'delete'] }],
    [{ resources: ['stream/*'], methods: ['get'] }],
    [{ resources: ['session'] }],
    [{ resources: ['session/1'] }, { resources: ['user/:id'] }],
  ];
  for (const rules of inside) assert.ok(isContained({ rules }, parent), JSON.stringify(rules));
  for (const rules of outside) assert.ok(!isContained({ rules }, parent), JSON.stringify(rules));
  assert.ok(!isContained(undefined, parent), 'a key without rules may do more');
  assert.ok(isContained(undefined, { rules: [{ resources: ['*'] }] }));
  assert.ok(isContained(parent, undefined));
});

/** Few words, so that rules and requests meet often. */
const segment = fc.constantFrom('stream', 'user', ':id', ':x', '1');
const resource = fc
  .tuple(fc.array(segment, { maxLength: 3 }), fc.boolean(), fc.boolean())
  .filter(([segments, ends]) => segments.length > 0 || ends)
  .map(([segments, ends, slash]) => (slash ? '/' : '') + [...segments, ...(ends ? ['*'] : [])].join('/'));
const methods = fc.uniqueArray(fc.constantFrom('get', 'post', '*'), { minLength: 1 });
const rule: fc.Arbitrary<AccessRule> = fc.oneof(
  fc.record({ resources: fc.array(resource, { maxLength: 3 }), methods }),
  fc.record({ resources: fc.array(resource, { maxLength: 3 }) }),
);
const access: fc.Arbitrary<Access> = fc.option(fc.record({ rules: fc.array(rule, { maxLength: 3 }) }), {
  nil: undefined,
  freq: 20,
});
const path = fc
  .array(fc.constantFrom('stream', 'user', '1', '2', '*', ':id'), { minLength: 1, maxLength: 4 })
  .map((segments) => segments.join('/'));
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PATCH');

test('whatever a contained key may do, its parent may do', () => {
  let contained = 0;
  fc.assert(
    fc.property(
      access,
      access,
      fc.array(fc.tuple(method, path), { minLength: 30, maxLength: 30 }),
      (child, parent, requests) => {
        if (!isContained(child, parent)) return;
        contained += 1;
        for (const [verb, target] of requests) {
          if (allows(child, verb, target)) assert.ok(allows(parent, verb, target), `${verb} ${target}`);
        }
      },
    ),
    { numRuns: 3000 },
  );
  assert.ok(contained > 100, `${contained} pairs were contained`);
});

test('rules contain themselves, and any part of themselves', () => {
  fc.assert(
    fc.property(access, fc.nat({ max: 3 }), (parent, from) => {
      assert.ok(isContained(parent, parent));
      if (parent) assert.ok(isContained({ rules: parent.rules.slice(from) }, parent));
    }),
  );
});
