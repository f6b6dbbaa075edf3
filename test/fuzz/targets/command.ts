/**
 * The reader of RTMP commands.
 */
import { readCommand } from '#media/rtmp/commands.ts';
import { MESSAGE } from '#media/rtmp/message.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import { AMF_DICTIONARY, COMMANDS } from '../rtmp-corpus.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** The first byte of an input says whether the message is an AMF0 or an AMF3 command. */
export const commandTarget: Target = {
  name: 'command',
  corpus: COMMANDS.map((command) => Buffer.concat([Buffer.of(0), command])),
  dictionary: AMF_DICTIONARY,
  maxBytes: 1024,
  expected: [RtmpError],
  open: () => ({
    read(input) {
      const type = ((input[0] ?? 0) & 1) === 0 ? MESSAGE.command : MESSAGE.commandAmf3;
      const payload = input.subarray(1);
      const command = readCommand({ type, streamId: 0, timestamp: 0, chunkStreamId: 3, payload });
      must(command.args.length <= payload.length, () => `${command.args.length} arguments`);
      return behaviour(command.name.length, magnitude(command.object.size), command.args.length);
    },
  }),
};
