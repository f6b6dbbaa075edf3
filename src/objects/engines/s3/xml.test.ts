import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { MalformedXml, readXml, textOf, type XmlElement } from './xml.ts';

test('a list of a bucket is read', () => {
  const root = readXml(`<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix/><IsTruncated>false</IsTruncated>
<Contents><Key>a&amp;b&#x26;&#38;.mp4</Key><Size>12</Size></Contents><Contents><Key>c</Key><Size>0</Size></Contents></ListBucketResult>`);
  assert.equal(root.name, 'ListBucketResult');
  assert.equal(textOf(root, 'Prefix'), '');
  assert.equal(textOf(root, 'IsTruncated'), 'false');
  const found = root.children.filter(({ name }) => name === 'Contents').map((each) => textOf(each, 'Key'));
  assert.deepEqual(found, ['a&b&&.mp4', 'c']);
  assert.equal(textOf(root, 'Contents') ?? textOf(root, 'Absent'), undefined);
});

const MALFORMED = [
  '',
  'no XML',
  '<a>',
  '</a>',
  '<a></b>',
  '<a/><b/>',
  '<a>&nbsp;</a>',
  '<a>&</a>',
  '<a>&#x110000;</a>',
  '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
  '<a><![CDATA[b]]></a>',
  '<a><!-- b --></a>',
  '</a b>',
  '<a>b</a b>',
  `${'<a>'.repeat(17)}${'</a>'.repeat(17)}`,
  `<a>${'<b/>'.repeat(120_000)}</a>`,
];
for (const [index, text] of MALFORMED.entries()) {
  test(`malformed document ${index} is refused: ${text.slice(0, 40)}`, () => {
    assert.throws(() => readXml(text), MalformedXml);
  });
}

test('what is written as XML is read back', () => {
  const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,8}$/);
  const { element } = fc.letrec<{ element: XmlElement }>((tie) => ({
    element: fc.record(
      {
        name: word,
        text: fc.string({ unit: 'grapheme' }),
        children: fc.oneof({ maxDepth: 4 }, fc.constant([]), fc.array(tie('element'), { maxLength: 4 })),
      },
      { noNullPrototype: true },
    ),
  }));
  const escaped = (text: string) => text.replace(/[&<]/g, (each) => `&#${each.charCodeAt(0)};`);
  const written = ({ name, text, children }: XmlElement): string =>
    `<${name} x="1">${escaped(text)}${children.map(written).join('')}</${name}>`;
  fc.assert(fc.property(element, (each) => assert.deepEqual(readXml(written(each)), each)));
});

test('any text is read or refused, and nothing else happens', () => {
  const pieces = fc.array(
    fc.oneof(
      fc.constantFrom('<', '>', '/', '<a>', '</a>', '<a/>', '&', '&amp;', '"', ' x="y"', '<?xml?>'),
      fc.string(),
    ),
  );
  fc.assert(
    fc.property(pieces, (text) => {
      try {
        readXml(text.join(''));
      } catch (error) {
        assert.ok(error instanceof MalformedXml);
      }
    }),
  );
});
