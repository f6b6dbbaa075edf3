/**
 * Reads the subset of XML that S3's answers use: elements with text. Anything else is an error and is never skipped, except attributes.
 */

/** An element, without its attributes. */
export interface XmlElement {
  readonly name: string;
  /** The text directly in this element, with entities resolved. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** An answer is not XML, uses more of XML than S3 does, or has too many elements. */
export class MalformedXml extends Error {
  override readonly name = 'MalformedXml';
}

const MAX_DEPTH = 16;
/** The most elements that are read. A list has a thousand objects with about ten elements each. */
const MAX_ELEMENTS = 50_000;

/** A tag. Its name may be followed by attributes, a slash, or both. */
const TAG = /<(\/?)([A-Za-z_][\w.:-]{0,99})([\s/][^<>]{0,2000})?>/y;
const DECLARATION = /^\uFEFF?<\?xml[^<>?]{0,200}\?>/;
const ENTITY = /&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(\w{1,8}));|&/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

interface Open {
  name: string;
  text: string;
  children: XmlElement[];
}

/**
 * Parses a document. Returns its root element.
 * @param document a text whose size the caller has bounded
 * @throws {MalformedXml} when it cannot be read
 */
export function readXml(document: string): XmlElement {
  const open: Open[] = [{ name: '', text: '', children: [] }];
  let at = DECLARATION.exec(document)?.[0].length ?? 0;
  for (let count = 0; at < document.length; count += 1) {
    const tagAt = document.indexOf('<', at);
    const text = document.slice(at, tagAt === -1 ? undefined : tagAt);
    open.at(-1)!.text += resolved(text);
    if (tagAt === -1) break;
    if (count > 2 * MAX_ELEMENTS) throw new MalformedXml('too many elements');
    TAG.lastIndex = tagAt;
    const tag = TAG.exec(document);
    if (tag === null) throw new MalformedXml(`no tag at ${tagAt}`);
    at = TAG.lastIndex;
    const [, ending, name = '', rest = ''] = tag;
    if (ending === '/') {
      const closed = open.pop()!;
      if (open.length === 0 || closed.name !== name || rest.trim() !== '') throw new MalformedXml(`</${name}>`);
      open.at(-1)!.children.push(closed);
    } else if (rest.endsWith('/')) open.at(-1)!.children.push({ name, text: '', children: [] });
    else if (open.push({ name, text: '', children: [] }) > MAX_DEPTH) throw new MalformedXml('too deep');
  }
  const [document_] = open;
  const root = document_?.children[0];
  if (open.length !== 1 || root === undefined || document_?.children.length !== 1 || document_.text.trim() !== '') {
    throw new MalformedXml('not one element');
  }
  return root;
}

/** The text of the child with a name. Undefined when there is no such child, or more than one. */
export function textOf(element: XmlElement, name: string): string | undefined {
  const found = element.children.filter((each) => each.name === name);
  return found.length === 1 ? found[0]!.text : undefined;
}

function resolved(text: string): string {
  return text.replace(ENTITY, (match: string, decimal?: string, hex?: string, name?: string) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : undefined;
    const character =
      code === undefined ? ENTITIES[name ?? ''] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
    if (character === undefined) throw new MalformedXml(`unknown ${match}`);
    return character;
  });
}
