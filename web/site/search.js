// @ts-check
/**
 * The search of the documentation. The index is loaded when somebody begins to search.
 */

/** A section: its address below the root, the page's title, its heading, and its text. @typedef {[string, string, string, string]} Row */

const MAX_RESULTS = 12;
/** Characters of text shown before the first word that was found, and in all. */
const BEFORE = 40;
const SHOWN = 160;

const form = /** @type {HTMLFormElement} */ (document.getElementById('search'));
const input = /** @type {HTMLInputElement} */ (document.getElementById('search-words'));
const results = /** @type {HTMLElement} */ (document.getElementById('search-results'));
/** @type {Promise<Row[]> | undefined} */
let index;

openPageListWhereThereIsRoom();
form.hidden = false;
input.addEventListener('input', () => void show());
form.addEventListener('submit', (event) => {
  event.preventDefault();
  results.querySelector('a')?.click();
});
form.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') clear();
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  move(event.key === 'ArrowDown' ? 1 : -1);
});
document.addEventListener('click', (event) => {
  if (event.target instanceof Node && !form.contains(event.target)) results.hidden = true;
});

/** Shows the sections that have all words typed so far. */
async function show() {
  const words = wordsOf(input.value);
  if (words.length === 0) return clear();
  const rows = await load();
  // More may have been typed while the index was loading.
  if (rows === undefined || wordsOf(input.value).join() !== words.join()) return;
  const found = search(rows, words);
  results.replaceChildren(...(found.length === 0 ? [notice('Nothing found.')] : found.map((row) => link(row, words))));
  results.hidden = false;
}

/** @returns {Promise<Row[] | undefined>} */
async function load() {
  try {
    index ??= fetch(form.dataset.index ?? '').then((response) => {
      if (!response.ok) throw new Error(`the server answers ${response.status}`);
      return response.json();
    });
    return await index;
  } catch {
    index = undefined; // loaded again with the next letter
    results.replaceChildren(notice('The index cannot be loaded.'));
    results.hidden = false;
  }
}

/** The best sections first: words in a heading count more than words in the text. @param {Row[]} rows @param {string[]} words */
function search(rows, words) {
  return rows
    .map((row) => ({ row, score: score(row, words) }))
    .filter((found) => found.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_RESULTS)
    .map(({ row }) => row);
}

/** How well a section fits; 0 unless it has every word. @param {Row} row @param {string[]} words */
function score([, title, heading, text], words) {
  const places = [heading.toLowerCase(), title.toLowerCase(), text.toLowerCase()];
  const weights = [10, 4, 1];
  let sum = 0;
  for (const word of words) {
    const place = places.findIndex((each) => each.includes(word));
    if (place === -1) return 0;
    sum += weights[place] ?? 0;
  }
  return sum;
}

/** @param {Row} row @param {string[]} words */
function link([address, title, heading, text], words) {
  const anchor = document.createElement('a');
  anchor.href = `${form.dataset.root}${address}`;
  const name = document.createElement('strong');
  name.textContent = heading === title || heading === '' ? title : `${title} › ${heading}`;
  const snippet = document.createElement('span');
  const at = Math.max(
    0,
    ...words
      .map((word) => text.toLowerCase().indexOf(word))
      .filter((each) => each >= 0)
      .slice(0, 1),
  );
  const from = Math.max(0, at - BEFORE);
  const shown = text.slice(from, from + SHOWN);
  snippet.append(from > 0 ? '… ' : '', ...marked(shown, words), from + SHOWN < text.length ? ' …' : '');
  anchor.append(name, snippet);
  return anchor;
}

/** Text with the words marked. @param {string} text @param {string[]} words */
function marked(text, words) {
  /** @type {(string | Node)[]} */
  const pieces = [];
  let rest = text;
  while (rest !== '') {
    const lower = rest.toLowerCase();
    const hits = words.map((word) => ({ word, at: lower.indexOf(word) })).filter(({ at }) => at >= 0);
    const first = hits.sort((a, b) => a.at - b.at)[0];
    if (first === undefined) break;
    const mark = document.createElement('mark');
    mark.textContent = rest.slice(first.at, first.at + first.word.length);
    pieces.push(rest.slice(0, first.at), mark);
    rest = rest.slice(first.at + first.word.length);
  }
  return [...pieces, rest];
}

/** Moves the focus through the results. @param {1 | -1} step */
function move(step) {
  const links = [...results.querySelectorAll('a')];
  const at = links.findIndex((each) => each === document.activeElement);
  const next = at + step;
  if (next < 0) input.focus();
  else links[next]?.focus();
}

function clear() {
  results.hidden = true;
  results.replaceChildren();
}

/** @param {string} text */
function notice(text) {
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  return paragraph;
}

/** @param {string} text */
function wordsOf(text) {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** On a phone the list of pages is folded up above the text; beside the text it is open and cannot be folded. */
function openPageListWhereThereIsRoom() {
  const list = document.querySelector('.pages details');
  if (!(list instanceof HTMLDetailsElement)) return;
  const isNarrow = matchMedia('(max-width: 48rem)');
  const follow = () => {
    list.open = !isNarrow.matches;
  };
  follow();
  isNarrow.addEventListener('change', follow);
}
