// @ts-check
/**
 * The choice among a stream's variants: `auto`, or one of them. It applies to the next session too, if that has such a variant.
 */

/**
 * A variant of the stream.
 * @typedef {object} Variant
 * @property {string} id name of its rendition: `source`, or a profile's name
 * @property {number} width
 * @property {number} height
 * @property {number} framesPerSecond 0 when it is not known
 * @property {number} bitrateBps
 */

/** What is shown is kept in data attributes of `<html>`: `quality` is the choice, `level` the variant that is being loaded. */
const shown = document.documentElement.dataset;

/**
 * The control for the choice.
 * @typedef {object} Quality
 * @property {(variants: readonly Variant[], choose: (id: string | undefined) => void) => void} offer shows these, and passes on the
 *   choice, now and whenever it changes; undefined means auto. With fewer than two, the control is hidden.
 * @property {(id: string) => void} show shows which one is being loaded
 */

/** @returns {Quality} */
export function wireQuality() {
  const control = /** @type {HTMLElement} */ (document.getElementById('quality'));
  const select = /** @type {HTMLSelectElement} */ (document.getElementById('quality-select'));
  const autoLabel = /** @type {HTMLElement} */ (document.getElementById('quality-auto'));
  const name = /** @type {HTMLElement} */ (document.getElementById('quality-name'));
  const auto = new Option('Auto', '');
  /** @type {readonly Variant[]} */
  let offered = [];
  /** @type {string | undefined} */
  let wanted;
  let choose = (/** @type {string | undefined} */ _id) => {};

  const isOffered = (/** @type {string | undefined} */ id) => offered.some((variant) => variant.id === id);
  const shortName = (/** @type {string | undefined} */ id) => {
    const variant = offered.find((each) => each.id === id);
    return variant ? nameOf(variant) : '';
  };
  const refresh = () => {
    const chosen = isOffered(wanted) ? wanted : undefined;
    const playing = shortName(chosen ?? shown.level);
    select.value = chosen ?? '';
    shown.quality = chosen ?? 'auto';
    autoLabel.hidden = chosen !== undefined;
    setText(auto, chosen === undefined && playing ? `Auto (${playing})` : 'Auto');
    setText(name, playing);
  };

  select.addEventListener('change', () => {
    wanted = select.value || undefined;
    refresh();
    choose(wanted);
  });

  return {
    offer: (variants, onChoice) => {
      offered = [...variants].sort((a, b) => b.height - a.height || b.bitrateBps - a.bitrateBps);
      choose = onChoice;
      select.replaceChildren(auto, ...offered.map((variant) => new Option(describe(variant), variant.id)));
      control.hidden = offered.length < 2;
      if (offered.length === 0) delete shown.level;
      refresh();
      if (isOffered(wanted)) choose(wanted);
    },
    show: (id) => {
      shown.level = id;
      refresh();
    },
  };
}

/**
 * A name such as `720p30`. It has the length of the shorter side, also for portrait video.
 * @param {Variant} variant
 */
function nameOf({ width, height, framesPerSecond }) {
  return `${Math.min(width, height)}p${Math.round(framesPerSecond) || ''}`;
}

/** @param {Variant} variant */
function describe(variant) {
  const source = variant.id === 'source' ? ' (source)' : '';
  const { bitrateBps } = variant;
  const rate =
    bitrateBps >= 1e6 ? `${(bitrateBps / 1e6).toFixed(1)} Mbit/s` : `${Math.round(bitrateBps / 1000)} kbit/s`;
  return `${nameOf(variant)}${source} · ${rate}`;
}

/** @param {HTMLElement} element @param {string} text */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
