import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../shared/errors.ts';
import { find } from './find.ts';

const ID = '5v8c2hq0jn6t1wkz';
const INFO = { isPlaybackid: true, stream: { id: 's1', name: 'the evening show' } };

/** Finds with an API that answers these requests and refuses all others. @param answers by the beginning of the path */
async function findWith(text: string, answers: Readonly<Record<string, unknown>>, status = 404) {
  const asked: string[] = [];
  const get = async (path: string) => {
    asked.push(path);
    const start = Object.keys(answers).find((each) => path.startsWith(each));
    if (start === undefined) throw new ApiError(status, 'code', 'The sentence.');
    return answers[start];
  };
  const hits = await find(text, get as never);
  return { paths: hits.map(({ path }) => path), asked };
}

test('a failed request does not hide what another one found', async () => {
  for (const status of [403, 429, 503]) {
    const { paths } = await findWith(ID, { [`/stream/${ID}/info`]: INFO }, status);
    assert.deepEqual(paths, ['/streams/s1']);
  }
});

test('a long text is looked up only by the id in it, and not as a name', async () => {
  const { paths, asked } = await findWith(`${'x '.repeat(300)}${ID}`, { [`/stream/${ID}/info`]: INFO });
  assert.deepEqual(paths, ['/streams/s1']);
  assert.ok(!asked.some((path) => path.startsWith('/stream?')));
  assert.deepEqual((await findWith('x'.repeat(600), {})).asked, []);
});

test('nothing is found, without an error, when nothing matches or the key may not read it', async () => {
  assert.deepEqual((await findWith(ID, {})).paths, []);
  assert.deepEqual((await findWith(ID, { '/stream?': [] }, 403)).paths, []);
});

test('when the server does not answer or refuses everything, the search fails', async () => {
  await assert.rejects(findWith(ID, {}, 503), ApiError);
  await assert.rejects(findWith(ID, { '/stream?': [] }, 503), ApiError);
  await assert.rejects(findWith('show', {}, 403), ApiError);
});

test('a stream key is sent in no query, and a text that is only a secret in no request', async () => {
  const key = '7f3q-x0m2-9kdp-4rtz';
  const { paths, asked } = await findWith(`rtmp://localhost/live/${key}`, { [`/stream/${key}/info`]: INFO });
  assert.deepEqual([paths, asked], [['/streams/s1'], [`/stream/${key}/info`]]);
  assert.deepEqual(await findWith('#jwt=a.b.c', {}), { paths: [], asked: [] });
});
