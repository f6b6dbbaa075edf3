import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deliveryWords } from './delivery-words.ts';

const counted = (length: number, next?: string) => ({ rows: Array<number>(length).fill(0), next });

test('deliveries that wait and those that were given up are counted apart, and more of them than one list has are not left out', () => {
  assert.equal(deliveryWords(counted(0), counted(0)), undefined);
  assert.equal(deliveryWords(counted(1), counted(0)), '1 delivery waiting, 0 given up');
  assert.equal(deliveryWords(counted(50, '/next'), counted(3)), '50 or more deliveries waiting, 3 given up');
});
