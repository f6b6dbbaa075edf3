/**
 * The list of operations. To add one, write its file and name it in this list.
 */
import type { ApiRoute } from './api.ts';
import { getDoctor, listNodes } from './routes/admin.ts';
import { deleteBrowserSession, listBrowserSessions } from './routes/browser-sessions.ts';
import { deleteAsset, updateAsset } from './routes/change-asset.ts';
import { deleteSigningKey, updateSigningKey } from './routes/change-signing-key.ts';
import { createApiToken } from './routes/create-api-token.ts';
import { createClip } from './routes/create-clip.ts';
import { createSigningKey } from './routes/create-signing-key.ts';
import { createStream } from './routes/create-stream.ts';
import { createUser } from './routes/create-user.ts';
import { createWebhook } from './routes/create-webhook.ts';
import { deleteApiToken } from './routes/delete-api-token.ts';
import { deleteStream, deleteStreams } from './routes/delete-stream.ts';
import { deleteWebhook, deleteWebhooks } from './routes/delete-webhook.ts';
import { getStreamByKey, getStreamByPlaybackId } from './routes/find-streams.ts';
import { getIngest } from './routes/get-ingest.ts';
import { getPlayback } from './routes/get-playback.ts';
import { getSamples } from './routes/get-samples.ts';
import { getSession } from './routes/get-session.ts';
import { getStream } from './routes/get-stream.ts';
import { getStreamInfo } from './routes/get-stream-info.ts';
import { getUsage, getUsageMetrics } from './routes/get-usage.ts';
import { getTotalViews, getViews } from './routes/get-views.ts';
import { getViewsNow } from './routes/get-views-now.ts';
import { listAttempts } from './routes/list-attempts.ts';
import { listAudit } from './routes/list-audit.ts';
import { listEvents } from './routes/list-events.ts';
import { listSessions, listStreamSessions } from './routes/list-sessions.ts';
import { listStreams, listStreamsOfUser } from './routes/list-streams.ts';
import { notImplemented } from './routes/not-implemented.ts';
import { getAssetPlaybackToken, getStreamPlaybackToken } from './routes/playback-token.ts';
import { getApiToken, listApiTokens } from './routes/read-api-tokens.ts';
import {
  getAsset,
  listAssetClips,
  listAssets,
  listClips,
  listSessionClips,
  listStreamClips,
} from './routes/read-assets.ts';
import { getSigningKey, listSigningKeys } from './routes/read-signing-keys.ts';
import { getTask, listTasks } from './routes/read-tasks.ts';
import { getMe, getUser, listUsers } from './routes/read-users.ts';
import { getWebhook, listSubscribedWebhooks, listWebhooks } from './routes/read-webhooks.ts';
import { rotateStreamKey } from './routes/rotate-stream-key.ts';
import { streamEvents } from './routes/stream-events.ts';
import { terminateStream } from './routes/terminate-stream.ts';
import { startTestPicture, stopTestPicture } from './routes/test-picture.ts';
import { setRecord, setSuspended, updateStream } from './routes/update-stream.ts';
import { updateUser } from './routes/update-user.ts';
import { replaceWebhook, updateWebhook } from './routes/update-webhook.ts';
import { listWebhookDeliveries, resendWebhookDeliveries } from './routes/webhook-deliveries.ts';
import { getWebhookLog, listWebhookLog, resendWebhookLog } from './routes/webhook-log.ts';
import { testWebhook } from './routes/webhook-test.ts';

/** Every operation, in the order of the documentation. */
export const routes: readonly ApiRoute[] = [
  createStream,
  getStream,
  listStreams,
  listStreamsOfUser,
  updateStream,
  setSuspended,
  setRecord,
  terminateStream,
  rotateStreamKey,
  startTestPicture,
  stopTestPicture,
  deleteStream,
  deleteStreams,
  getStreamByKey,
  getStreamByPlaybackId,
  getStreamInfo,
  getStreamPlaybackToken,
  listSessions,
  getSession,
  listStreamSessions,
  getSamples,
  listAssets,
  getAsset,
  getAssetPlaybackToken,
  updateAsset,
  deleteAsset,
  createClip,
  listClips,
  listAssetClips,
  listStreamClips,
  listSessionClips,
  listTasks,
  getTask,
  getViewsNow,
  getViews,
  getTotalViews,
  getUsage,
  getUsageMetrics,
  getPlayback,
  getIngest,
  listAttempts,
  listEvents,
  streamEvents,
  createWebhook,
  listWebhooks,
  getWebhook,
  listSubscribedWebhooks,
  updateWebhook,
  replaceWebhook,
  deleteWebhook,
  deleteWebhooks,
  listWebhookLog,
  getWebhookLog,
  resendWebhookLog,
  listWebhookDeliveries,
  resendWebhookDeliveries,
  testWebhook,
  createApiToken,
  listApiTokens,
  getApiToken,
  deleteApiToken,
  listBrowserSessions,
  deleteBrowserSession,
  createSigningKey,
  listSigningKeys,
  getSigningKey,
  updateSigningKey,
  deleteSigningKey,
  getMe,
  createUser,
  listUsers,
  getUser,
  updateUser,
  listAudit,
  getDoctor,
  listNodes,
  notImplemented,
];
