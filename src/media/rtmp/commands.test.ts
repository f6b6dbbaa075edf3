import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decodeAmf0 } from './amf0.ts';
import { connectResult } from './commands.ts';

it('the answer to connect declares the supported parts of Enhanced RTMP, and no others', () => {
  const [name, transactionId, properties] = decodeAmf0(connectResult(1));
  assert.deepEqual([name, transactionId], ['_result', 1]);
  assert.ok(properties instanceof Map);
  const [canDecode, canForward] = [1, 4];
  const [modEx, nanoseconds] = [4, 8];
  assert.deepEqual(properties.get('fourCcList'), ['avc1', 'hvc1', 'av01', 'mp4a', 'Opus']);
  assert.deepEqual(
    properties.get('videoFourCcInfoMap'),
    new Map(['avc1', 'hvc1', 'av01'].map((fourCc) => [fourCc, canDecode | canForward])),
  );
  assert.deepEqual(
    properties.get('audioFourCcInfoMap'),
    new Map([
      ['mp4a', canForward],
      ['Opus', canDecode],
    ]),
  );
  assert.equal(properties.get('capsEx'), modEx | nanoseconds, 'neither reconnect nor several tracks');
});
