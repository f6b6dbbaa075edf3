/**
 * The pages that are opened less often, which share one script. To add one, name it here and in `pages.ts`.
 */
export { Admin } from './admin/admin.tsx';
export { Dock } from './dock/dock.tsx';
export { Keys } from './keys/keys.tsx';
export { SessionPlots } from './plots/session-plots.tsx';
export { RecordingPage } from './recordings/recording.tsx';
export { Recordings } from './recordings/recordings.tsx';
export { SessionPage } from './sessions/session.tsx';
export { Sessions } from './sessions/sessions.tsx';
export { Usage } from './usage/usage.tsx';
export { Wall } from './wall/wall.tsx';
export { WebhookPage } from './webhooks/webhook.tsx';
export { Webhooks } from './webhooks/webhooks.tsx';
