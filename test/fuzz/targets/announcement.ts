/**
 * The text of announcements, which nodes send each other through the database.
 */
import { announcementOfText } from '#store/announcement.ts';
import { behaviour, type Target } from '../target.ts';

const ID = '66e2161c-7670-4d05-b71d-da2d6979556f';

/** A text that no store has written is not read as an announcement. */
export const announcementTarget: Target = {
  name: 'announcement',
  corpus: [
    `{"type":"stream_changed","streamId":"${ID}"}`,
    `{"type":"stream_published","streamId":"${ID}","nodeId":"${ID}"}`,
    `{"type":"user_changed","userId":"${ID}"}`,
    '{"type":"missed"}',
  ].map((text) => Buffer.from(text)),
  dictionary: ['"type":', '"stream_published"', 'null', '[]', '"__proto__":'],
  maxBytes: 512,
  expected: [],
  open: () => ({
    read: (input) => behaviour(String(announcementOfText(input.toString())?.type).length),
  }),
};
