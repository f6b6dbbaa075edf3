import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ms } from '#lib/units.ts';
import { nextSessionState, type SessionInput, type SessionState } from './session.ts';

const STATES: Record<string, SessionState> = {
  starting: { phase: 'starting' },
  live: { phase: 'live', since: ms(1) },
  reconnecting: { phase: 'reconnecting', until: ms(2) },
  ended: { phase: 'ended', at: ms(3), reason: 'unpublished' },
};
const INPUTS: Record<string, SessionInput> = {
  first_part: { type: 'first_part', at: ms(10) },
  connection_lost: { type: 'connection_lost', until: ms(20) },
  publisher_returned: { type: 'publisher_returned', at: ms(30) },
  end: { type: 'end', at: ms(40), reason: 'terminated' },
};

const CHANGES: readonly [from: string, input: string, to: SessionState][] = [
  ['starting', 'first_part', { phase: 'live', since: ms(10) }],
  ['live', 'connection_lost', { phase: 'reconnecting', until: ms(20) }],
  ['reconnecting', 'publisher_returned', { phase: 'live', since: ms(30) }],
  ['starting', 'end', { phase: 'ended', at: ms(40), reason: 'terminated' }],
  ['live', 'end', { phase: 'ended', at: ms(40), reason: 'terminated' }],
  ['reconnecting', 'end', { phase: 'ended', at: ms(40), reason: 'terminated' }],
];

for (const [from, state] of Object.entries(STATES)) {
  for (const [name, input] of Object.entries(INPUTS)) {
    const change = CHANGES.find(([each, by]) => each === from && by === name);
    test(`${name} ${change === undefined ? 'changes nothing while' : `leads to ${change[2].phase} from`} ${from}`, () => {
      assert.deepEqual(nextSessionState(state, input), change?.[2] ?? state);
    });
  }
}
