import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newNodeId, newStreamId, newUserId } from '#domain/ids.ts';
import { announcementOfText, type StoreAnnouncement, textOfAnnouncement } from './announcement.ts';

it('an announcement is read as it was written', () => {
  const announcements: StoreAnnouncement[] = [
    { type: 'stream_changed', streamId: newStreamId() },
    { type: 'stream_published', streamId: newStreamId(), nodeId: newNodeId() },
    { type: 'user_changed', userId: newUserId() },
  ];
  for (const each of announcements) assert.deepEqual(announcementOfText(textOfAnnouncement(each)), each);
  assert.deepEqual(announcementOfText(undefined), { type: 'missed' });
});

it('a text that no store wrote is not an announcement', () => {
  for (const text of [
    '',
    'missed',
    'null',
    '7',
    '"stream_changed"',
    '[]',
    '{}',
    '{"type":null}',
    '{"type":"constructor"}',
    '{"type":"toString","streamId":"a"}',
    '{"type":"stream_changed"}',
    '{"type":"stream_changed","streamId":7}',
    '{"type":"stream_published","streamId":"a"}',
    '{"type":"user_changed","streamId":"a"}',
    '{"type":"stream_changed","streamId":"a"',
  ]) {
    assert.equal(announcementOfText(text), undefined, text);
  }
});
