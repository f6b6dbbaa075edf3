import { filesOf, runFiles } from '#test/support/shared-process.ts';
import { END_TO_END_TESTS, IN_BROWSERS, WAITING } from './lists.ts';

runFiles(filesOf(END_TO_END_TESTS, [...WAITING, ...IN_BROWSERS]));
