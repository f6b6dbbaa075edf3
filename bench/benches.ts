/**
 * Every bench by the group it is asked in: the service without transcoding, its renditions, managing it, its recordings, its events, its dashboard, and what attackers can
 * do to others. A new bench is a file that answers one question, and one line here.
 */
import { assetsMs } from './assets-ms.ts';
import { createsAtAMillion } from './creates-at-a-million.ts';
import { crossNodeDisconnectMs } from './cross-node-disconnect-ms.ts';
import { cursorWalk } from './cursor-walk.ts';
import { dashboardEventMs } from './dashboard-event-ms.ts';
import { dashboardFirstPageMs } from './dashboard-first-page-ms.ts';
import { dashboardLongList } from './dashboard-long-list.ts';
import { dashboardPagesPercent } from './dashboard-pages-percent.ts';
import { dashboardScriptKb } from './dashboard-script-kb.ts';
import { dashboardStartMs } from './dashboard-start-ms.ts';
import { dashboardVisibleMs } from './dashboard-visible-ms.ts';
import { dashboardWallPercent } from './dashboard-wall-percent.ts';
import { deadReceiver } from './dead-receiver.ts';
import { durableCreatesPerS } from './durable-creates-per-s.ts';
import { dvrViewers } from './dvr-viewers.ts';
import { eventStreamMs } from './event-stream-ms.ts';
import { firstPartMs } from './first-part-ms.ts';
import { firstRenditionPartMs } from './first-rendition-part-ms.ts';
import { firstRequests } from './first-requests.ts';
import { frameToPartMs } from './frame-to-part-ms.ts';
import { getStreamCpuUs } from './get-stream-cpu-us.ts';
import { glassToGlassMs, renditionGlassToGlassMs } from './glass-to-glass-ms.ts';
import { hostileAddress } from './hostile-address.ts';
import { hostileCustomer } from './hostile-customer.ts';
import { hostileStranger } from './hostile-stranger.ts';
import { hostileViewer } from './hostile-viewer.ts';
import { ladderCpuSPerMin } from './ladder-cpu-s-per-min.ts';
import { listPageMs } from './list-page-ms.ts';
import { liveLadders } from './live-ladders.ts';
import { memoryMb } from './memory-mb.ts';
import { mp4FirstByteMs } from './mp4-first-byte-ms.ts';
import { nameSearchMs } from './name-search-ms.ts';
import { passthroughAgainstNginx } from './passthrough-against-nginx.ts';
import { passthroughCpuPercent } from './passthrough-cpu-percent.ts';
import { playbackRights } from './playback-rights.ts';
import { playersMatrix } from './players.ts';
import { postgresCpuUs } from './postgres-cpu-us.ts';
import { publishStopCycles } from './publish-stop-cycles.ts';
import { recordingCpuPercent } from './recording-cpu-percent.ts';
import { recordingFrozenWriter } from './recording-frozen-writer.ts';
import { recordingKills } from './recording-kills.ts';
import { recordingPlaylistMs } from './recording-playlist-ms.ts';
import { recordingReadyMs } from './recording-ready-ms.ts';
import { recordingUploads } from './recording-uploads.ts';
import { recordingsStartMs } from './recordings-start-ms.ts';
import { renditionDelayMs } from './rendition-delay-ms.ts';
import { renditionPsnrDb } from './rendition-psnr-db.ts';
import { segmentCpuSPerGb } from './segment-cpu-s-per-gb.ts';
import { startMs } from './start-ms.ts';
import type { Bench } from './support/question.ts';
import { transcoderKills } from './transcoder-kills.ts';
import { transcoderMemoryMb } from './transcoder-memory-mb.ts';
import { variantSwitches } from './variant-switches.ts';
import { viewersAcrossNodes } from './viewers-across-nodes.ts';
import { viewersWakeUpMs } from './viewers-wake-up-ms.ts';
import { webhooksPerS } from './webhooks-per-s.ts';

/** The benches of each group, in the order in which they run and are listed in the table. */
export const GROUPS: Readonly<Record<string, Readonly<Record<string, Bench>>>> = {
  passthrough: {
    'get-stream-cpu-us': getStreamCpuUs,
    'durable-creates-per-s': durableCreatesPerS,
    'creates-at-a-million': createsAtAMillion,
    'frame-to-part-ms': frameToPartMs,
    'first-part-ms': firstPartMs,
    'glass-to-glass-ms': glassToGlassMs,
    'passthrough-cpu-percent': passthroughCpuPercent,
    'passthrough-against-nginx': passthroughAgainstNginx,
    'viewers-wake-up-ms': viewersWakeUpMs,
    'segment-cpu-s-per-gb': segmentCpuSPerGb,
    'memory-mb': memoryMb,
    'start-ms': startMs,
  },
  renditions: {
    'ladder-cpu-s-per-min': ladderCpuSPerMin,
    'live-ladders': liveLadders,
    'rendition-delay-ms': renditionDelayMs,
    'rendition-psnr-db': renditionPsnrDb,
    'rendition-glass-to-glass-ms': renditionGlassToGlassMs,
    'first-rendition-part-ms': firstRenditionPartMs,
    'transcoder-memory-mb': transcoderMemoryMb,
    'variant-switches': variantSwitches,
    'transcoder-kills': transcoderKills,
  },
  manage: {
    'list-page-ms': listPageMs,
    'name-search-ms': nameSearchMs,
    'cursor-walk': cursorWalk,
    'cross-node-disconnect-ms': crossNodeDisconnectMs,
    'postgres-cpu-us': postgresCpuUs,
    'viewers-across-nodes': viewersAcrossNodes,
    'playback-rights': playbackRights,
  },
  recordings: {
    'assets-ms': assetsMs,
    'recording-cpu-percent': recordingCpuPercent,
    'recording-frozen-writer': recordingFrozenWriter,
    'recording-kills': recordingKills,
    'recording-playlist-ms': recordingPlaylistMs,
    'recording-ready-ms': recordingReadyMs,
    'recording-uploads': recordingUploads,
    'recordings-start-ms': recordingsStartMs,
    'mp4-first-byte-ms': mp4FirstByteMs,
    'dvr-viewers': dvrViewers,
  },
  players: {
    'stock-players': playersMatrix,
  },
  events: {
    'webhooks-per-s': webhooksPerS,
    'dead-receiver': deadReceiver,
    'event-stream-ms': eventStreamMs,
  },
  dashboard: {
    'dashboard-script-kb': dashboardScriptKb,
    'dashboard-first-page-ms': dashboardFirstPageMs,
    'dashboard-event-ms': dashboardEventMs,
    'dashboard-visible-ms': dashboardVisibleMs,
    'dashboard-long-list': dashboardLongList,
    'dashboard-wall-percent': dashboardWallPercent,
    'dashboard-pages-percent': dashboardPagesPercent,
    'dashboard-start-ms': dashboardStartMs,
  },
  hostile: {
    'hostile-stranger': hostileStranger,
    'hostile-viewer': hostileViewer,
    'hostile-customer': hostileCustomer,
    'hostile-address': hostileAddress,
    'first-requests': firstRequests,
    'publish-stop-cycles': publishStopCycles,
  },
};
