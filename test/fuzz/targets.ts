/**
 * All parsers that read bytes from outside: a list with one entry for each.
 */
import { CODECS } from '#media/codecs.ts';
import type { Target } from './target.ts';
import { accessUnit } from './targets/access-unit.ts';
import { amf0Target } from './targets/amf0.ts';
import { announcementTarget } from './targets/announcement.ts';
import { apiRequestTarget } from './targets/api-request.ts';
import { authorizationTarget } from './targets/authorization.ts';
import { chunkReaderTarget } from './targets/chunk-reader.ts';
import { clientHelloTarget } from './targets/client-hello.ts';
import { codecConfig } from './targets/codec-config.ts';
import { commandTarget } from './targets/command.ts';
import { handshakeTarget } from './targets/handshake.ts';
import { cursorTarget, filtersTarget, listQueryTarget } from './targets/lists.ts';
import { mediaReaderTarget } from './targets/media-reader.ts';
import { enhancedTagTarget, flvTagTarget } from './targets/media-tag.ts';
import { metadataTarget } from './targets/metadata.ts';
import { boxWalkTarget, fragmentTarget, initTarget } from './targets/mp4.ts';
import { nalUnitsTarget } from './targets/nal-units.ts';
import { obusTarget } from './targets/obus.ts';
import {
  byteRangeTarget,
  contentCodingTarget,
  directivesTarget,
  entityTagTarget,
  resourceNameTarget,
} from './targets/playback.ts';
import { rtmpConnectionTarget } from './targets/rtmp-connection.ts';
import { framesTarget, fromWorkerTarget, toWorkerTarget } from './targets/worker-protocol.ts';

/** All targets. */
export const TARGETS: readonly Target[] = [
  clientHelloTarget,
  rtmpConnectionTarget,
  handshakeTarget,
  chunkReaderTarget,
  amf0Target,
  commandTarget,
  metadataTarget,
  flvTagTarget,
  enhancedTagTarget,
  mediaReaderTarget,
  ...CODECS.map(({ name }) => codecConfig(name)),
  ...CODECS.map(({ name }) => accessUnit(name)),
  nalUnitsTarget,
  obusTarget,
  directivesTarget,
  resourceNameTarget,
  byteRangeTarget,
  contentCodingTarget,
  entityTagTarget,
  authorizationTarget,
  cursorTarget,
  filtersTarget,
  listQueryTarget,
  apiRequestTarget,
  framesTarget,
  toWorkerTarget,
  fromWorkerTarget,
  announcementTarget,
  fragmentTarget,
  initTarget,
  boxWalkTarget,
];
