/** Tests that each spelling of Mermaid becomes the one that the library draws, and that nothing is drawn as something else. */

import { renderMermaidSVG } from 'beautiful-mermaid'
import { describe, expect, it } from 'vitest'
import { normaliseMermaid, showSigns } from '../../web/model/mermaid-text.ts'

const draw = (text: string) => showSigns(renderMermaidSVG(normaliseMermaid(text) ?? '', {}))
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }
const plain = (text: string) =>
  text
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(?:#(\d+)|(\w+));/g, (_, code?: string, name = '') =>
      code === undefined ? (entities[name] ?? '?') : String.fromCharCode(Number(code)),
    )
    .replace(/\s+/g, ' ')
    .trim()
const listWords = (svg: string) =>
  [...svg.matchAll(/<text[^>]*>([^]*?)<\/text>/g)].map(([, words = '']) => plain(words)).toSorted()
const countLinks = (svg: string) => svg.match(/class="edge"/g)?.length ?? 0

describe('normaliseMermaid()', () => {
  it.each([
    ['links without spaces', 'graph LR\nA-->B', ['A', 'B'], 1],
    ['ids with hyphens', 'flowchart LR\nus-east-->eu-west', ['eu-west', 'us-east'], 1],
    ['ids of other letters', 'graph LR\nA[Größe]-->Ü\nÜ-->Ö', ['Größe', 'Ö', 'Ü'], 2],
    ['semicolons', 'graph TD; A-->B; B-->C;', ['A', 'B', 'C'], 2],
    ['no direction', 'graph\nA --> B', ['A', 'B'], 1],
    ['a text in pipes', 'graph TD\nA-->|yes|B', ['A', 'B', 'yes'], 1],
    ['a text in the link', 'graph TD\nA--yes, sir-->B', ['A', 'B', 'yes, sir'], 1],
    ['a text between spaces', 'graph TD\nA -. "or not" .-> B == so ==> C', ['A', 'B', 'C', 'or not', 'so'], 2],
    ['every line', 'graph TD\nA---B-.-C===D-->E-.->F==>G<-->H--->I', [...'ABCDEFGHI'], 8],
    ['heads that are none here', 'graph TD\nA--xB\nC--oD', [...'ABCD'], 2],
    ['many at once', 'graph TD\nA & B-->C & D', [...'ABCD'], 4],
    [
      'signs in a label',
      'graph TD\nA["f(x) [1] <b> & \'c\' | d; --> e"]-->B',
      ['B', "f(x) [1] <b> & 'c' | d; --> e"],
      1,
    ],
    ['names of signs', 'graph TD\nA["#quot;x#quot; #35;1"]-->B', ['"x" #1', 'B'], 1],
    ['shapes', 'graph TD\nA([a])-->B[(b)]-->C((c))-->D{{d}}-->E{e}-->F>f]-->G[/g/]-->H[[h]]', [...'abcdefgh'], 7],
    [
      'comments, classes and styles',
      'graph TD\n%% no --> one\nA:::big --> B\nclassDef big fill:#f00\nstyle B fill:#0f0',
      ['A', 'B'],
      1,
    ],
    ['a title before it', '---\ntitle: x\n---\ngraph TD\nA-->B', ['A', 'B'], 1],
    [
      'groups',
      'graph TD\nsubgraph Größe\nA-->B\nend\nsubgraph two [Zwei (2)]\nC\nend\nB-->C',
      ['A', 'B', 'C', 'Größe', 'Zwei (2)'],
      2,
    ],
  ])('draws %s', (_, text, words, links) => {
    const svg = draw(text)
    expect(listWords(svg)).toEqual([...words].toSorted())
    expect(countLinks(svg)).toBe(links)
  })

  it.each([
    ['classes', 'classDiagram\nAnimal<|--Duck', ['Animal', 'Duck']],
    ['entities', 'erDiagram\nA||--o{B : has', ['A', 'B', 'has']],
    ['states', 'stateDiagram-v2\n[*]-->Still\nStill-->[*]', ['Still']],
    ['a sequence', 'sequenceDiagram\nAlice->>Bob: Hi (there)', ['Alice', 'Bob', 'Hi (there)']],
  ])('draws %s', (_, text, words) => expect(listWords(draw(text)).filter(Boolean)).toEqual([...words].toSorted()))

  it.each([
    ['a shape of a newer version', 'graph TD\nA@{ shape: rect }-->B'],
    ['an open bracket', 'graph TD\nA[a-->B'],
    ['a link to a group', 'graph TD\nsubgraph one\nA\nend\none-->B'],
    ['a link that leads nowhere', 'graph TD\nA -->'],
    ['an invisible link', 'graph TD\nA ~~~ B'],
    ['words', 'graph TD\nthis is no diagram'],
  ])('refuses %s', (_, text) => expect(normaliseMermaid(text)).toBe(undefined))
})
