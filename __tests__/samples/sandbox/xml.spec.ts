import { elementsOf, parseXml, spokenOf } from '../../../samples/sandbox/xml.ts';

describe('parseXml', () => {
  it('reads elements, attributes, entities and comments', () => {
    const document = parseXml(`<a x="1" y='&quot;2&#x33;'><!-- no <b> --><b/>Tom &amp; <c:d>Jerry</c:d></a>`);
    expect(document).toEqual({
      ...{ name: 'a', attributes: { x: '1', y: '"23' } },
      children: [
        { name: 'b', attributes: {}, children: [] },
        'Tom & ',
        { name: 'c:d', attributes: {}, children: ['Jerry'] },
      ],
    });
    expect([elementsOf(document).map(({ name }) => name), spokenOf(document)]).toEqual([
      ...[['a', 'b', 'c:d'], 'Tom & Jerry'],
    ]);
  });

  for (const broken of [
    ...[
      '',
      'a',
      '<a>',
      '</a>',
      '<a></b>',
      '<a><b></a></b>',
      '<a/><b/>',
      '<a>Tom & Jerry</a>',
      '<a>&nbsp;</a>',
      'x<a/>',
    ],
    ...['<a x=1/>', '<a x="<"/>', '<a x="1" x="2"/>', '<a>1 < 2</a>', '<a>&amp</a>', '<a>\u0007</a>', '<a>\ud800</a>'],
  ]) {
    it(`refuses ${JSON.stringify(broken)}`, () => expect(() => parseXml(broken)).toThrow());
  }
});
