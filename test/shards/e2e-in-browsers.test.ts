import { filesOf, runFiles } from '#test/support/shared-process.ts';
import { IN_BROWSERS } from './lists.ts';

runFiles(filesOf(IN_BROWSERS));
