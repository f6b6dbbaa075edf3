/**
 * The pages of the dashboard. To add one, write a folder for it and name it in this list.
 */
import type { JSX } from 'preact';
import type { IconName } from '../shared/ui/icon.tsx';
import { FirstRun } from './first-run/first-run.tsx';
import { GoLive } from './first-run/go-live.tsx';
import { Home } from './home/home.tsx';
import type { PageProps } from './page-props.ts';
import { StreamPage } from './stream/stream.tsx';
import { Streams } from './streams/streams.tsx';

/** The pages that are opened less often. */
const more = () => import('./more.ts');

/** What shows a page. */
export type PageComponent = (props: PageProps) => JSX.Element;

/** A page. */
export interface Page {
  /** The path below `/dashboard`. */
  readonly pattern: string;
  readonly title: string;
  /** Loads the page's own script when it is opened. */
  readonly load: () => Promise<PageComponent>;
  /** The page's entry in the navigation. Undefined for a page to which only other pages link. */
  readonly nav?: { readonly icon: IconName; readonly for?: 'admins' };
}

/** For a page that is opened often: its script is part of the main script. */
const at = (component: PageComponent) => async () => component;

/** All pages, in the order of the navigation. Those of `more.ts` share one script, which is loaded when one of them is first opened. */
export const PAGES: readonly Page[] = [
  { pattern: '/', title: 'Home', load: at(Home), nav: { icon: 'home' } },
  { pattern: '/wall', title: 'Wall', load: async () => (await more()).Wall },
  { pattern: '/dock/:id', title: 'Dock', load: async () => (await more()).Dock },
  { pattern: '/streams', title: 'Streams', load: at(Streams), nav: { icon: 'streams' } },
  { pattern: '/streams/new', title: 'New stream', load: at(FirstRun) },
  { pattern: '/streams/:id/start', title: 'Go live', load: at(GoLive) },
  { pattern: '/streams/:id', title: 'Stream', load: at(StreamPage) },
  { pattern: '/sessions', title: 'Sessions', load: async () => (await more()).Sessions, nav: { icon: 'history' } },
  { pattern: '/sessions/:id', title: 'Session', load: async () => (await more()).SessionPage },
  { pattern: '/recordings', title: 'Recordings', load: async () => (await more()).Recordings, nav: { icon: 'film' } },
  { pattern: '/recordings/:id', title: 'Recording', load: async () => (await more()).RecordingPage },
  { pattern: '/webhooks', title: 'Webhooks', load: async () => (await more()).Webhooks, nav: { icon: 'hook' } },
  { pattern: '/webhooks/:id', title: 'Webhook', load: async () => (await more()).WebhookPage },
  { pattern: '/keys', title: 'Keys', load: async () => (await more()).Keys, nav: { icon: 'key' } },
  { pattern: '/usage', title: 'Usage', load: async () => (await more()).Usage, nav: { icon: 'chart' } },
  { pattern: '/admin', title: 'Admin', load: async () => (await more()).Admin, nav: { icon: 'admin', for: 'admins' } },
];
