/**
 * The child process that bundles the dashboard: sends the files to its parent, and exits.
 */
import { setPriority } from 'node:os';
import { bundleFiles } from './bundle-files.ts';

/** A low priority, so that live media goes first. The process that esbuild starts inherits it. */
const NICENESS = 15;

setPriority(NICENESS);
const files = await bundleFiles();
process.send!([...files], () => process.disconnect!());
