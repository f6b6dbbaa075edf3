/**
 * Renders the Markdown of the documentation as HTML.
 */
import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from '#pages/layout.ts';

/** A heading of a page and the text that follows it, for the search. */
export interface Section {
  /** The anchor of the heading; empty for what comes before the first one. */
  readonly id: string;
  readonly heading: string;
  readonly text: string;
}

/** A page of the documentation. */
export interface RenderedMarkdown {
  /** The first heading, without markup. */
  readonly title: string;
  readonly html: string;
  /** Every heading below the title, to two levels. */
  readonly headings: readonly { readonly id: string; readonly depth: number; readonly text: string }[];
  readonly sections: readonly Section[];
}

/** How links are converted. */
export interface LinkRules {
  /** The address that a link to this target has on the site; undefined when the target is not on it, and the link becomes plain text. */
  readonly addressOf: (target: string) => string | undefined;
}

/** Renders a page. Raw HTML in it is left out: the documentation has only comments for tools. */
export function renderMarkdown(text: string, { addressOf }: LinkRules): RenderedMarkdown {
  const idOf = headingIds();
  const headings: { id: string; depth: number; text: string }[] = [];
  const marked = new Marked({
    gfm: true,
    renderer: {
      html: () => '',
      heading({ tokens, depth }) {
        const heading = plainText(tokens);
        const id = idOf(heading);
        headings.push({ id, depth, text: heading });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const label = this.parser.parseInline(tokens);
        const address = addressOf(href);
        return address === undefined ? label : `<a href="${escapeHtml(address)}">${label}</a>`;
      },
      image({ href, text: alt }) {
        const address = addressOf(href);
        return address === undefined
          ? escapeHtml(alt)
          : `<img src="${escapeHtml(address)}" alt="${escapeHtml(alt)}" loading="lazy">`;
      },
    },
  });
  const tokens = marked.lexer(text);
  // Each table scrolls in a box of its own, so that a wide one does not widen the page on a phone.
  const html = marked
    .parser(tokens)
    .replaceAll('<table>', '<div class="table"><table>')
    .replaceAll('</table>', '</table></div>');
  return {
    title: headings[0]?.text ?? '',
    html,
    headings: headings.slice(1).filter(({ depth }) => depth <= 3),
    sections: sectionsOf(tokens, headings),
  };
}

/** Gives headings the anchors that GitHub gives them, so that links work in both places. */
function headingIds(): (heading: string) => string {
  const given = new Map<string, number>();
  return (heading) => {
    const id = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-');
    const times = given.get(id) ?? 0;
    given.set(id, times + 1);
    return times === 0 ? id : `${id}-${times}`;
  };
}

function sectionsOf(tokens: readonly Token[], headings: readonly { id: string; text: string }[]): readonly Section[] {
  const sections: { id: string; heading: string; text: string }[] = [{ id: '', heading: '', text: '' }];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { id, text } = headings[sections.length - 1]!;
      // The title names the page itself.
      sections.push({ id: sections.length === 1 ? '' : id, heading: text, text: '' });
    } else {
      const section = sections.at(-1)!;
      section.text = `${section.text} ${plainText([token])}`.trim();
    }
  }
  return sections.filter(({ heading, text }) => heading !== '' || text !== '');
}

/** Text without any markup, words separated by single spaces. */
function plainText(tokens: readonly Token[]): string {
  return tokens.map(textOf).join('').replace(/\s+/g, ' ').trim();
}

function textOf(token: Token): string {
  switch (token.type) {
    case 'html':
    case 'space':
    case 'hr':
    case 'br':
      return ' ';
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].map((cells) => cells.map((cell) => plainText(cell.tokens)).join(' ')).join(' ');
    }
    case 'list':
      return (token as Tokens.List).items.map((item) => ` ${plainText(item.tokens)}`).join('');
    case 'image':
      return '';
    default: {
      const { tokens, text = '', raw } = token as Tokens.Generic & { text?: string };
      const inner = tokens === undefined ? (text === '' ? raw : text) : tokens.map(textOf).join('');
      return isBlock(token) ? ` ${inner} ` : inner;
    }
  }
}

const isBlock = ({ type }: Token): boolean => type === 'paragraph' || type === 'code' || type === 'blockquote';
