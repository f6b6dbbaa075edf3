/**
 * The landing page at `/`, for people who open the address of a server, and the form at `/play`.
 */
import { escapeHtml } from './layout.ts';

/** HTML of the landing page's content. @param api the paths of the API reference and of its OpenAPI document, relative to the root */
export function landingContent(api: { readonly reference: string; readonly document: string }): string {
  return `    <main class="plain" id="content">
      <h1>Millrace</h1>
      <p class="lead">This server runs Millrace, a live-video streaming service: send video to it over RTMP, and watch it in a browser about two seconds later.</p>
      <ul class="cards">
        <li><a href="dashboard">Dashboard</a><span>Create a stream, see it arrive and how healthy it is, share it, and run the server. For those who publish and operate.</span></li>
        <li><a href="docs">Documentation</a><span>Create a stream, publish to it, watch it, and run the server.</span></li>
        <li><a href="${escapeHtml(api.reference)}">API reference</a><span>Every operation, with examples. Programs read the <a href="${escapeHtml(api.document)}">OpenAPI document</a>.</span></li>
        <li><a href="healthz">Health check</a><span>Answers while the server runs.</span></li>
      </ul>
${watchForm('play')}
    </main>`;
}

/** HTML of the content of `/play`. */
export function watchContent(): string {
  return `    <main class="plain" id="content">
      <h1>Watch a stream</h1>
${watchForm('play')}
    </main>`;
}

/** A form that leads to the player page of a stream. @param action the path of `/play` */
export function watchForm(action: string): string {
  return `      <form class="watch" action="${action}">
        <label for="id">Playback id of the stream</label>
        <input id="id" name="id" required maxlength="100" autocomplete="off" spellcheck="false" placeholder="16 letters and digits">
        <button>Watch</button>
      </form>`;
}
