/**
 * Events as sentences for the owner of a stream.
 */
import { bytes, duration, sentence } from '../../shared/format.ts';
import { encoderTitle } from '../parts/encoder-name.ts';
import { END_WORDS } from '../parts/end-words.ts';

/** An event as a sentence, with its color. */
export interface EventWords {
  readonly text: string;
  readonly tone: 'plain' | 'ok' | 'warn' | 'bad';
}

/** Describes an event. For a type that this page does not know, it is the name of the type. */
export function eventWords({ type, payload }: { readonly type: string; readonly payload: unknown }): EventWords {
  const told = payload as Readonly<Record<string, unknown>>;
  const text = (name: string) => optional(told[name]) ?? '';
  const number = (name: string) => Number(told[name] ?? 0);
  switch (type) {
    case 'stream.created':
      return plain('The stream was created.');
    case 'stream.updated':
      return plain(`Changed: ${Array.isArray(told.fields) ? told.fields.join(', ') : ''}.`);
    case 'stream.deleted':
      return plain('The stream was deleted.');
    case 'stream.started':
      return { text: 'Media began to come in.', tone: 'ok' };
    case 'stream.idle':
      return plain('Media stopped coming in.');
    case 'session.started':
      return { text: told.isResumed === true ? 'The session goes on.' : 'Live: viewers can watch.', tone: 'ok' };
    case 'session.ended': {
      const reason = END_WORDS[text('reason') as keyof typeof END_WORDS] ?? text('reason');
      const lastedS = (number('endedAt') - number('startedAt')) / 1000;
      return plain(
        `The session ended after ${duration(lastedS)}, ${bytes(number('sourceBytes'))} and at most ${number('peakViewers')} viewers. ${reason}.`,
      );
    }
    case 'session.warning':
      return { text: sentence(text('message')), tone: text('severity') === 'issue' ? 'warn' : 'plain' };
    case 'session.warning_cleared':
      return { text: `No longer: ${text('code').replaceAll('_', ' ')}.`, tone: 'ok' };
    case 'publish.refused':
      return { text: `${encoderTitle(optional(told.encoder))} was refused: ${text('message')}.`, tone: 'bad' };
    case 'publish.disconnected':
      return { text: `${encoderTitle(optional(told.encoder))} was disconnected: ${text('message')}.`, tone: 'warn' };
    case 'recording.started':
      return plain('The session is being recorded.');
    case 'recording.waiting':
      return plain('The recording is being completed.');
    case 'recording.ready':
      return { text: 'The recording is complete.', tone: 'ok' };
    case 'recording.failed':
      return { text: 'The recording failed; its page says why.', tone: 'bad' };
    case 'asset.created':
      return plain('A recording began, or a clip was made.');
    case 'asset.ready':
      return plain('A recording or clip is complete.');
    case 'asset.deleted':
      return plain('A recording or clip was deleted.');
    case 'access_control.refused':
      return { text: `The playback policy refused ${number('count')} requests of viewers.`, tone: 'plain' };
    default:
      return plain(type);
  }
}

const plain = (text: string): EventWords => ({ text, tone: 'plain' });
const optional = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
