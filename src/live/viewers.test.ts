import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPlaybackId, newUserId } from '#domain/ids.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { type ReportedViewer, Viewers } from './viewers.ts';

const [one, other] = [newPlaybackId(), newPlaybackId()];
const user = newUserId();

function viewersOf(limit: number) {
  let now = ms(0);
  const clock = { now: () => now, monotonic: () => now };
  const viewers = new Viewers(limit, clock);
  return {
    viewers,
    /** Notes a viewer. Each name comes from an address of its own, unless one is given. */
    note: (playbackId: typeof one, name: string, address = `10.0.${name.charCodeAt(0)}.1`) =>
      viewers.note(playbackId, { name, address }, { ofUser: user, atMost: 0 }, true) !== 'refused',
    passMs: (span: number) => (now = (now + span) as Milliseconds),
  };
}

const reports = (isNew: boolean, ...names: string[]): ReportedViewer[] => names.map((name) => ({ name, isNew }));

test('a viewer counts once for each stream it watches', () => {
  const { viewers, note } = viewersOf(10);
  note(one, 'a');
  note(one, 'a');
  note(one, 'b');
  note(other, 'a');
  assert.equal(viewers.count, 3);
  assert.equal(viewers.countOf(one), 2);
  assert.equal(viewers.countOf(other), 1);
  assert.equal(viewers.countOf(newPlaybackId()), 0);
});

test('a viewer counts until ten seconds after the last playlist request', () => {
  const { viewers, note, passMs } = viewersOf(10);
  note(one, 'a');
  passMs(6000);
  note(one, 'b');
  note(one, 'a');
  passMs(9999);
  assert.equal(viewers.countOf(one), 2);
  passMs(1);
  assert.equal(viewers.countOf(one), 0);
  assert.equal(viewers.count, 0);
});

test('viewers are counted by the rendition that they requested last, until they are gone', () => {
  const { viewers, passMs } = viewersOf(10);
  const watch = (name: string, rendition?: string) =>
    viewers.note(one, { name, address: '10.0.0.1', rendition }, { ofUser: user, atMost: 0 }, true);
  const counts = () => ['source', '480p'].map((rendition) => viewers.countOfRendition(one, rendition));
  watch('a');
  assert.deepEqual(counts(), [0, 0], 'the multivariant playlist is no rendition');
  watch('a', 'source');
  watch('b', 'source');
  watch('b');
  assert.deepEqual(counts(), [2, 0]);
  watch('b', '480p');
  assert.deepEqual(counts(), [1, 1]);
  passMs(5000);
  watch('b', '480p');
  passMs(5000);
  assert.deepEqual(counts(), [0, 1]);
  passMs(5000);
  assert.deepEqual(counts(), [0, 0]);
});

test('when many networks have taken all places, a viewer that has probably left makes room for another one of its network', () => {
  const { viewers, note, passMs } = viewersOf(3);
  for (const name of ['a', 'b', 'c']) note(one, name);
  passMs(5999);
  note(one, 'b');
  assert.equal(note(one, 'new', '10.0.97.1'), false, 'the viewer of that address may still be watching');
  passMs(1);
  assert.equal(note(one, 'new', '10.0.97.1'), true);
  assert.equal(note(one, 'newer', '10.0.97.1'), false);
  assert.equal(note(one, 'other', '10.0.98.1'), false);
  assert.equal(viewers.count, 3);
});

test('above the limit new viewers are refused, known ones are not, and viewers who left make room', () => {
  const { viewers, note, passMs } = viewersOf(2);
  assert.equal(note(one, 'a'), true);
  passMs(5000);
  assert.equal(note(other, 'b'), true);
  assert.equal(note(one, 'c'), false);
  assert.equal(viewers.countOf(one), 1, 'the refused viewer is not counted');
  assert.equal(note(one, 'a'), true);
  passMs(5000);
  assert.equal(note(other, 'b'), true, 'the place was renewed just in time');
  assert.equal(note(one, 'c'), false);
  passMs(5000);
  assert.equal(note(one, 'c'), true, 'the first viewer has left');
  assert.equal(viewers.count, 2);
});

test('an address that invents user agents takes places only from itself, and a viewer from another address always gets a place', () => {
  const { viewers, note } = viewersOf(10);
  note(one, 'a viewer');
  for (let invented = 0; invented < 1000; invented += 1) note(one, `invented ${invented}`, '10.9.9.9');
  assert.equal(viewers.count, 10);
  for (const name of ['b', 'c', 'd']) assert.equal(note(one, name), true, name);
  assert.equal(note(one, 'a viewer'), true);
  assert.equal(viewers.count, 10);
  assert.equal(note(one, 'invented again', '10.9.9.9'), false);
  for (const name of ['a viewer', 'b', 'c', 'd']) assert.equal(note(one, name), true, name);
  assert.equal(viewers.countOf(one), 10);
});

test('all streams of a user together may have as many viewers as its quota, and streams of others are not affected', () => {
  const { viewers } = viewersOf(100);
  const neighbour = newUserId();
  const note = (playbackId: typeof one, name: string, ofUser = user, address = `10.0.${name.charCodeAt(0)}.1`) =>
    viewers.note(playbackId, { name, address }, { ofUser, atMost: 2 }, true) !== 'refused';
  assert.deepEqual([note(one, 'a'), note(other, 'b'), note(one, 'c'), note(other, 'd')], [true, true, false, false]);
  assert.deepEqual([note(one, 'a'), note(other, 'b')], [true, true], 'present viewers go on watching');
  const third = newPlaybackId();
  assert.equal(note(third, 'c', neighbour), true);
  assert.deepEqual([viewers.countOf(one), viewers.countOf(other), viewers.countOf(third)], [1, 1, 1]);
});

test('one address cannot use up the quota of a user: a viewer from another address takes the place of a viewer from that address', () => {
  const { viewers } = viewersOf(100);
  const note = (name: string, address: string) =>
    viewers.note(one, { name, address }, { ofUser: user, atMost: 5 }, true) !== 'refused';
  for (let invented = 0; invented < 20; invented += 1) note(`invented ${invented}`, '10.9.9.9');
  assert.equal(note('a viewer', '10.0.1.1'), true);
  assert.equal(viewers.count, 5);
});

test('a viewer on another node counts for ten seconds, once even if it is also on this node, and takes no place', () => {
  const { viewers, note, passMs } = viewersOf(2);
  viewers.noteElsewhere(one, reports(true, 'a', 'x', 'y'));
  note(one, 'a');
  note(one, 'b');
  assert.equal(viewers.countOf(one), 4);
  assert.equal(viewers.count, 2);
  passMs(6000);
  viewers.noteElsewhere(one, reports(false, 'x'));
  note(one, 'b');
  passMs(4000);
  assert.equal(viewers.countOf(one), 2, 'a and y have left');
  passMs(6000);
  assert.equal(viewers.countOf(one), 0);
});

test('a viewer is reported to the node of the stream when it comes, and every three seconds while it watches', () => {
  const { viewers, note, passMs } = viewersOf(10);
  note(one, 'a');
  note(one, 'b');
  note(other, 'c');
  const taken = (id: typeof one, atMost: number) => viewers.takeUnreported(id, atMost).map(({ name }) => name);
  assert.deepEqual(taken(one, 1), ['a']);
  assert.deepEqual(taken(one, 9), ['b']);
  note(one, 'a');
  assert.deepEqual(taken(one, 9), []);
  passMs(3000);
  note(one, 'a');
  assert.deepEqual(taken(one, 9), ['a']);
  passMs(10_000);
  assert.equal(viewers.count, 0);
  assert.deepEqual(taken(other, 9), [], 'a viewer that has left is not reported');
});

test('the view of a viewer is counted once, at the first request for which this node counts views', () => {
  const { viewers, passMs } = viewersOf(10);
  const note = (isCountedHere: boolean) =>
    viewers.note(one, { name: 'a', address: '10.0.0.1' }, { ofUser: user, atMost: 0 }, isCountedHere);
  assert.deepEqual([note(false), note(true), note(true), note(false)], ['watching', 'began', 'watching', 'watching']);
  passMs(10_000);
  assert.equal(note(true), 'began', 'it has come back');
});

test('a viewer that another node has counted is counted neither when it is reported nor when it comes to this node', () => {
  const { viewers } = viewersOf(10);
  const note = (name: string) => viewers.note(one, { name, address: '10.0.0.1' }, { ofUser: user, atMost: 0 }, true);
  assert.equal(viewers.noteElsewhere(one, [...reports(true, 'a', 'b'), ...reports(false, 'c')]), 2);
  assert.equal(viewers.noteElsewhere(one, reports(true, 'a', 'b', 'c')), 0, 'all are known');
  assert.deepEqual(['a', 'c', 'd'].map(note), ['watching', 'watching', 'began']);
  assert.equal(viewers.noteElsewhere(one, reports(true, 'd')), 0, 'this node has counted it');
  assert.equal(viewers.countOf(one), 4);
});

test('a viewer is reported as new until the node of the stream has got a report', () => {
  const { viewers, passMs } = viewersOf(10);
  const watch = (name: string) => viewers.note(one, { name, address: '10.0.0.1' }, { ofUser: user, atMost: 0 }, false);
  for (const name of ['a', 'b']) watch(name);
  const [a, b] = viewers.takeUnreported(one, 9);
  assert.deepEqual([a, b], reports(true, 'a', 'b'));
  viewers.reported(one, [b!]);
  passMs(3000);
  for (const name of ['a', 'b']) watch(name);
  assert.deepEqual(viewers.takeUnreported(one, 9), [...reports(true, 'a'), ...reports(false, 'b')]);
});
