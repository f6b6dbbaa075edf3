import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderMarkdown } from './markdown.ts';

const TEXT = `<!-- for tools -->

# The *title*

First \`code\` and [a page](a.md#there), [a file](../src/a.ts), ![a picture](a.png).

## Two words

| a | b |
|---|---|
| \`x\` | y |

## Two words

- one
- two <b>bold</b>

\`\`\`sh
echo "<hi>"
\`\`\`
`;

const addressOf = (target: string) => (target.startsWith('a.') ? `docs/${target}` : undefined);

test('a page has a title, anchors as GitHub makes them, links only to what the site has, and no raw HTML', () => {
  const { title, html, headings } = renderMarkdown(TEXT, { addressOf });
  assert.equal(title, 'The title');
  assert.deepEqual(headings, [
    { id: 'two-words', depth: 2, text: 'Two words' },
    { id: 'two-words-1', depth: 2, text: 'Two words' },
  ]);
  assert.match(html, /<h1 id="the-title">The <em>title<\/em><\/h1>/);
  assert.match(html, /<a href="docs\/a\.md#there">a page<\/a>, a file, <img src="docs\/a\.png" alt="a picture"/);
  assert.match(html, /<div class="table"><table>/);
  assert.match(html, /echo &quot;&lt;hi&gt;&quot;/);
  assert.doesNotMatch(html, /<!--|<b>/);
});

test('the index of the search has the words of each section without markup', () => {
  const { sections } = renderMarkdown(TEXT, { addressOf });
  assert.deepEqual(sections, [
    { id: '', heading: 'The title', text: 'First code and a page, a file, .' },
    { id: 'two-words', heading: 'Two words', text: 'a b x y' },
    { id: 'two-words-1', heading: 'Two words', text: 'one two bold echo "<hi>"' },
  ]);
});
