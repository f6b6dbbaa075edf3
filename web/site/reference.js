// @ts-check
/**
 * Shows the OpenAPI document with Swagger UI, as light or dark as the system is.
 */

/** @type {{ SwaggerUIBundle: (options: object) => unknown }} */
const { SwaggerUIBundle } = /** @type {any} */ (globalThis);
const place = /** @type {HTMLElement} */ (document.getElementById('reference'));

const isDark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', isDark.matches);
follow();
isDark.addEventListener('change', follow);

SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  layout: 'BaseLayout',
  docExpansion: 'list',
  persistAuthorization: false,
  validatorUrl: null,
});
