/**
 * Peer: the system's nginx with the module `rtmp`, which takes what publishers send and writes HLS.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { runNginx } from './nginx.ts';

const MODULE = '/usr/lib/nginx/modules/ngx_rtmp_module.so';
/** The folder of segments, which is in memory, so that nginx does not wait for a disk. */
const MEMORY = '/dev/shm';

/** A running nginx that accepts RTMP in its application `live`. */
export interface NginxRtmp extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

/** Starts nginx with one process, and with segments and playlists as long as those of our server. */
export async function startNginxRtmp(): Promise<NginxRtmp> {
  if (!existsSync(MODULE)) throw new Error('nginx has no module rtmp: install libnginx-mod-rtmp');
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await temporaryFolder(existsSync(MEMORY) ? MEMORY : undefined)).path;
  // nginx started by root writes as another user.
  spawnSync('chmod', ['0777', folder]);
  const port = await freePort();
  const configuration = `
    load_module ${MODULE};
    daemon off; master_process off; pid ${folder}/pid; error_log stderr error;
    events { worker_connections 1024; }
    rtmp {
      access_log off;
      server {
        listen 127.0.0.1:${port};
        application live { live on; hls on; hls_path ${folder}/hls; hls_fragment 2s; hls_playlist_length 36s; }
      }
    }`;
  const pid = await runNginx(parts, folder, configuration);
  const listens = async () => {
    const socket = connect(port, '127.0.0.1');
    return await once(socket, 'connect')
      .then(() => true)
      .catch(() => false)
      .finally(() => socket.destroy());
  };
  await waitFor(listens, { what: 'nginx to listen' });
  const running = parts.move();
  return { pid, port, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
