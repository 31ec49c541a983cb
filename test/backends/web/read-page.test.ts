/** Tests the reading of HTML pages: articles, bounds on hostile pages, charsets. */

import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { readPage } from '#backends/web/page/inside/read-page.ts'

const read = (html: string | Uint8Array<ArrayBuffer>, charset?: string) =>
  readPage(new Response(html).body as ReadableStream<Uint8Array>, {
    url: 'https://site.example/blog/post',
    ...(charset && { charset }),
  })

const paragraphs =
  '<p>The harbour was quiet, and the boats lay in rows along the old stone wall of the pier.</p>'.repeat(9)
const article = `<!doctype html><html lang="en-GB"><head><title>Boats &amp; tides</title>
<meta property="article:published_time" content="2026-03-01"></head><body>
<nav><a href="/">Home</a><a href="/all">All posts</a></nav>
<div id="cookie-banner" class="cookie-consent">We use cookies. <button>Accept</button></div>
<main><article><h1>Boats &amp; tides</h1>${paragraphs}<h2>Times</h2>
<p>See <a href="../tables/tides?day=1">the tables</a>. <img src="data:image/png;base64,AAAA" alt="chart"></p>
<table><tr><th>day</th><th>high</th></tr><tr><td>Monday</td><td>06:12</td></tr></table>
<pre><code class="language-js">const high = tide(1)
print(high)</code></pre></article></main><footer>Imprint</footer></body></html>`

describe('a page', () => {
  it('keeps headings, tables, code and absolute links of its article, and nothing around it', async () => {
    const { title, markdown, by, date, language, needsScript } = await read(article)
    expect({ title, by, date, language, needsScript }).toEqual({
      title: 'Boats & tides',
      by: 'article',
      date: '2026-03-01',
      language: 'en-GB',
      needsScript: false,
    })
    expect(markdown).toContain('## Times')
    expect(markdown).toContain('[the tables](https://site.example/tables/tides?day=1)')
    expect(markdown).toMatch(/\| day +\| high +\|/)
    expect(markdown).toContain('```js\nconst high = tide(1)\nprint(high)')
    expect(markdown).not.toMatch(/cookies|Imprint|All posts|base64/)
  })

  it('of a product keeps its name, price and data beside long reviews', async () => {
    const review = (n: number) =>
      `<div class="review"><p>${`Review ${n} says much about the chair. `.repeat(12)}</p></div>`
    const html = `<!doctype html><html><head><title>shop page</title></head><body>
      <div class="product"><h1>Blue chair</h1><span class="price">EUR 49.90</span>
      <ul><li>Width: 50 cm</li><li>Height: 90 cm</li></ul></div>
      <div class="reviews">${[0, 1, 2, 3, 4].map(review).join('')}</div></body></html>`
    const { markdown } = await read(html)
    for (const text of ['Blue chair', 'EUR 49.90', 'Width: 50 cm', 'Height: 90 cm', 'Review 4'])
      expect(markdown).toContain(text)
  })

  it('with an article beside short lines of links and notes is its article', async () => {
    const teasers = Array.from(
      { length: 40 },
      (_, n) => `<div><a href="/${n}">Another story number ${n}</a></div>`,
    ).join('')
    const html = article.replace('<footer>', `<div class="more">${teasers}</div><div>By Ada, 5 minutes</div><footer>`)
    const { markdown, by } = await read(html)
    expect(by).toBe('article')
    expect(markdown).not.toContain('Another story')
  })

  itInTurn('without an article is converted as a whole, without navigation and forms', async () => {
    const { markdown, by } = await read(
      `<body><nav>Menu</nav><p>Short <a href="/x">link</a>.</p><form>Search</form><script>x()</script></body>`,
    )
    expect(by).toBe('page')
    expect(markdown).toBe('Short [link](https://site.example/x).')
  })

  it.each([
    [
      'a form around the page',
      '<div>Site</div><form id="aspnetForm"><h1>Permit 42</h1><p>Granted to Ada.</p></form>',
      'Site # Permit 42 Granted to Ada.',
    ],
    [
      'the price in the form of a cart',
      '<h1>Chair</h1><form action="/cart"><span>EUR 49.90</span><button>Buy</button></form>',
      '# Chair EUR 49.90',
    ],
    [
      'no form to type in',
      '<h1>Chair</h1><form><p>Read our news every week</p><input type="email"></form><FORM>Search</FORM>',
      '# Chair',
    ],
    [
      'questions that are buttons, and no others',
      '<h3><button aria-expanded="false">How?</button></h3><p>So.</p><button>Accept</button>',
      '### How? So.',
    ],
    [
      'heads of columns that sort',
      '<table><tr><th><button>Place</button></th></tr><tr><td>Pier</td></tr></table>',
      '| Place | | --- | | Pier |',
    ],
    [
      'answers that a search opens',
      '<h3>How?</h3><div hidden="until-found">So.</div><div hidden>Draft</div>',
      '### How? So.',
    ],
    [
      'what is not hidden from assistive software',
      '<p aria-hidden="false">Shown</p><p aria-hidden="true">x</p>',
      'Shown',
    ],
    [
      'notes of documentation, and no related pages',
      '<p>One.</p><aside class="starlight-aside tip"><p>Note.</p></aside><aside class="related"><p>More</p></aside>',
      'One. Note.',
    ],
    [
      'authors of articles and quotes',
      '<article><p>One.</p><footer>By Ada</footer></article><footer>Imprint</footer>',
      'One. By Ada',
    ],
    [
      'the content of elements of their own',
      '<my-card><template shadowrootmode="open"><p>Card</p></template></my-card><template><p>Row</p></template>',
      'Card',
    ],
    [
      'pages of a PDF file whose lines have places',
      '<p style="position:absolute;top:8px">Line 1</p><p style="position:absolute;top:9px">Line 2</p><p style="position:fixed">Bar</p>',
      'Line 1 Line 2',
    ],
  ])('without an article keeps %s', async (_name, body, text) => {
    const { markdown, by } = await read(`<!doctype html><html><head><title>x</title></head><body>${body}</body></html>`)
    expect(by).toBe('page')
    expect(markdown.replaceAll(/\\(?=\W)/g, '').replaceAll(/\s+/g, ' ')).toBe(text)
  })

  it('of scripts alone says that it needs a browser', async () => {
    expect(
      await read('<html><head><title>App</title></head><body><div id=root></div><script src=a.js></script>'),
    ).toMatchObject({ needsScript: true, title: 'App' })
  })

  it('names the address that it sends browsers to, and the base of its links', async () => {
    const found = await read(
      '<base href="https://other.example/a/"><meta http-equiv="refresh" content="0; url=b?c=1&amp;d=2"><a href=x>x</a>',
    )
    expect(found.refresh).toBe('https://other.example/a/b?c=1&d=2')
    expect(found.markdown).toBe('[x](https://other.example/a/x)')
  })

  it('with rows and cells outside of tables is read', async () => {
    expect((await read('<p>a</p><tr><td>b</td></tr><th>c</th><td>d')).markdown.replace(/[^a-d]/g, '')).toBe('abcd')
  })

  it('has no links with scripts', async () => {
    expect(
      (await read('<p><a href="javascript:steal()">a</a> <a href="blob:https://x.example/1">b</a></p>')).markdown,
    ).not.toMatch(/javascript|blob/)
  })
})

describe('the charset of a page', () => {
  const windows1252 = Uint8Array.from([...'<p>caf'].map((sign) => sign.charCodeAt(0)).concat(0xe9, 0x80))
  const shiftJis = Uint8Array.from([0x3c, 0x70, 0x3e, 0x93, 0xfa, 0x96, 0x7b])
  const utf16 = Uint8Array.from([
    0xff,
    0xfe,
    ...[...'<p>日本'].flatMap((sign) => [sign.charCodeAt(0) & 255, sign.charCodeAt(0) >> 8]),
  ])
  const withMeta = (bytes: Uint8Array, charset: string) =>
    Uint8Array.from([...new TextEncoder().encode(`<meta charset="${charset}">`), ...bytes])

  it.each([
    ['of the header', windows1252, 'windows-1252', 'café€'],
    ['of the header in Japanese', shiftJis, 'Shift_JIS', '日本'],
    ['of a meta element', withMeta(shiftJis, 'shift_jis'), undefined, '日本'],
    ['of the byte order mark', utf16, 'utf-8', '日本'],
    ['unknown', withMeta(new TextEncoder().encode('<p>héllo'), 'nonsense'), 'also-nonsense', 'héllo'],
  ])('%s is used', async (_name, bytes, charset, text) => {
    expect((await read(bytes, charset)).markdown).toBe(text)
  })
})

describe('a hostile page', () => {
  const nested = '<div>'.repeat(60_000)
  const nestedLess = `${'<div>'.repeat(240)}${'<div><p>deep, b, c, d, e, f, g, h, i, j</p></div>'.repeat(12_000)}`
  const list = (length: number, item: (at: number) => string) => Array.from({ length }, (_, at) => item(at)).join(' ')
  // Each of them took from seconds to minutes in a step that is bounded.
  const pages: Readonly<Record<string, string>> = {
    'with 100,000 nested elements': `<body>${'<div>'.repeat(100_000)}deep`,
    'with 100,000 nested code elements': `<body>${'<code>a'.repeat(100_000)}deep`,
    'with 12,000 elements in 240 others': nestedLess,
    'with 29,000 nested elements of a table': `<p>deep</p>${'<colgroup>'.repeat(29_000)}`,
    'with 14,000 nested cells in items': `<p>deep</p>${'<li><td>'.repeat(14_000)}`,
    'with 14,000 nested rows in annotations': `<p>deep</p>${'<rp><tr>'.repeat(14_000)}`,
    'with 29,000 elements that another tag ends': `<p>deep</p>${'<div></x>'.repeat(29_000)}`,
    'with 100,000 attributes': `<p ${list(100_000, (at) => `a${at}=1`)}>deep</p>`,
    'with 100,000 attributes without values': `<p ${list(100_000, (at) => `a${at}`)}>deep</p>`,
    'with 300 times 999 attributes': `<p>deep</p>${`<p ${list(999, (at) => `a${at}`)}>a</p>`.repeat(300)}`,
    'with 60,000 rows that never end': `${'<table><tr><td>x'.repeat(100)}${'<tr><td>x'.repeat(60_000)}deep`,
    'with 100,000 lines in 900 quotes': `deep${'<blockquote>a'.repeat(900)}${'<br>x'.repeat(100_000)}`,
    'with 100,000 lines in 450 lists': `deep${'<ul><li>a'.repeat(450)}${'<br>x'.repeat(100_000)}`,
    'with quotes after an unusual end of a comment': `deep<!-- --!>${'<blockquote>a'.repeat(250)}${'<p>x</p>'.repeat(20_000)}`,
    'with a million brackets': `<p>${'['.repeat(500_000)}${'](('.repeat(100_000)}deep`,
    'with a million links that never end': `<script></script><p>deep ${']('.repeat(1_000_000)}`,
    'with signs that look like tags': `${'<'.repeat(1_000_000)} deep`,
    'with comments that never end': `<p>deep</p>${'<!--'.repeat(400_000)}`,
    'with metadata that never ends': `<p>deep</p>${'<meta '.repeat(30_000)}${'<html '.repeat(30_000)}`,
    'of elements that are nested beside a script in capital letters': `<SCRIPT>x</SCRIPT>deep${nested}`,
    'of elements that are nested in an element without scripts': `<noscript>${nested}</noscript>deep`,
    'of elements that are nested in a template': `deep<template>${nested}`,
    'of elements that are nested after a script in an attribute': `<p title="<script>">deep</p>${nested}`,
    'of elements that are nested after 30,000 others': `deep${'<br>'.repeat(31_000)}${'<code>a'.repeat(100_000)}`,
    'with paragraphs in rows in paragraphs': `deep${'<p>a<tr>'.repeat(50_000)}`,
    'with 700 long tags that never end': `<p>deep</p>${`<a ${'b='.repeat(1_000)}`.repeat(700)}`,
    'with 400,000 entities': `<p>deep${'&amp;'.repeat(400_000)}</p>`,
    'with 250,000 comments': `<p>deep${'<!---->'.repeat(250_000)}</p>`,
    'of one line of 2 MB': `<p>deep ${'a'.repeat(2_000_000)}`,
  }
  /** The isolate has 2 seconds. Other tests use the same caches of the processor. */
  const maxCpuMs = 3_000

  it.each(Object.entries(pages))('%s is read within the CPU time of its isolate', async (_name, html) => {
    const before = process.threadCpuUsage()
    expect((await read(html)).markdown).toContain('deep')
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(maxCpuMs)
  })
})

describe('a formula', () => {
  const shown = async (body: string) =>
    (await read(`<html><head><title>T</title></head><body>${body}</body></html>`)).markdown
  const tex = (formula: string) => `<annotation encoding="application/x-tex">${formula}</annotation>`
  const glyphs = '<span class="katex-html" aria-hidden="true"><span class="mord">x</span><span>2</span></span>'
  const katex = `<span class="katex"><span class="katex-mathml"><math><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow>${tex('x^2 &lt; y')}</semantics></math></span>${glyphs}</span>`

  it.each([
    ['KaTeX', katex, '`x^2 < y`'],
    [
      'Wikipedia',
      `<span class="mwe-math-element"><span style="display: none;"><math alttext="{\\displaystyle E}"><mi>E</mi></math></span><img src="e.svg" alt="E"></span>`,
      '`E`',
    ],
    [
      'MathML alone',
      '<math><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac><mo>=</mo><msqrt><mi>c</mi></msqrt></math>',
      '`a/(b+1)=√c`',
    ],
    [
      'MathJax 2',
      '<span class="MathJax_Preview">z4</span><span class="MathJax"><span>z</span><span>4</span></span><script type="math/tex">z^4</script>',
      '`z^4`',
    ],
    ['MathJax 3', '<mjx-container><svg></svg><math><msup><mi>y</mi><mn>3</mn></msup></math></mjx-container>', '`y^3`'],
  ])('of %s is there once and whole', async (_, formula, expected) => {
    expect(await shown(`<p>So ${formula} holds.</p>`)).toBe(`So ${expected} holds.`)
    const article = `<article><h1>On it</h1><p>So ${formula} holds. ${'Much more is told here about it. '.repeat(40)}</p></article>`
    expect((await shown(article)).split(expected)).toHaveLength(2)
  })

  it('that is text stays', async () => {
    expect(await shown('<p class="math-note">Plain x2 and <span class="mathematics">words</span></p>')).toBe(
      'Plain x2 and words',
    )
  })
})

describe('code of a page', () => {
  const shown = async (body: string) =>
    (await read(`<html><head><title>T</title></head><body>${body}</body></html>`)).markdown
  const twoLines = '```\ndef f():\n    return 1\n```'

  it.each([
    [
      'div lines',
      '<pre><code><div class="line"><span>def f():</span></div><div class="line"><span>    return 1</span></div></code></pre>',
    ],
    ['span lines', '<pre><code><span class="line">def f():</span><span class="line">    return 1</span></code></pre>'],
    [
      'span lines with line breaks',
      '<pre><code><span class="line">def f():</span>\n<span class="line">    return 1</span></code></pre>',
    ],
    [
      'lines in lines',
      '<pre><div><span class="code-line">def f():</span></div><div><span class="code-line">    return 1</span></div></pre>',
    ],
    ['br', '<pre>def f():<br>    return 1</pre>'],
    [
      'a table with numbers',
      '<div class="highlight"><table><tr><td class="gutter"><pre>1\n2\n</pre></td><td class="code"><pre>def f():\n    return 1</pre></td></tr></table></div>',
    ],
    [
      'numbers in each line',
      '<pre><span class="lineno">1 </span>def f():\n<span class="lineno">2 </span>    return 1</pre>',
    ],
    [
      'div lines without pre',
      '<div class="highlight">\n  <div class="line">def f():</div>\n  <div class="line">    return 1</div>\n</div>',
    ],
    [
      'a table of GitHub',
      `<div class="blob-wrapper"><table class="highlight tab-size js-file-line-container">
        <tr>
          <td id="L1" class="blob-num js-line-number" data-line-number="1"></td>
          <td id="LC1" class="blob-code blob-code-inner js-file-line"><span class="pl-k">def</span> <span class="pl-en">f</span>():</td>
        </tr>
        <tr>
          <td id="L2" class="blob-num js-line-number" data-line-number="2">2</td>
          <td id="LC2" class="blob-code blob-code-inner js-file-line">    <span class="pl-k">return</span> 1</td>
        </tr>
      </table></div>`,
    ],
    [
      'lines of GitHub',
      `<textarea id="read-only-cursor-text-area" aria-label="file content">def f():\n    return 1</textarea><div class="react-code-file-contents"><div class="react-line-numbers"><div data-line-number="1" class="react-line-number react-code-text">1</div><div data-line-number="2" class="react-line-number react-code-text">2</div></div><div class="react-code-lines"><div class="react-code-text react-code-line-contents"><div id="LC1" class="react-file-line html-div"><span class="pl-k">def</span> f():</div></div><div class="react-code-text react-code-line-contents"><div id="LC2" class="react-file-line html-div">    return 1</div></div></div></div>`,
    ],
  ])('keeps its lines: %s', async (_, html) => {
    expect(await shown(html)).toBe(twoLines)
  })

  it('keeps empty lines of a table of GitHub, and one line alone', async () => {
    const row = (n: number, code: string) =>
      `<tr>\n<td class="blob-num" data-line-number="${n}">${n}</td>\n<td class="blob-code js-file-line">${code}</td>\n</tr>\n`
    const table = (...lines: readonly string[]) =>
      `<table class="js-file-line-container"><tbody>\n${lines.map((line, n) => row(n + 1, line)).join('')}</tbody></table>`
    const read = async (html: string) => /```\n([^]*?)\n```/.exec(await shown(html))?.[1]
    expect(await read(table('a', '\n', '', '  b'))).toBe('a\n\n\n  b')
    expect(await read(table('only &lt;one&gt;'))).toBe('only <one>')
  })

  it('keeps empty lines', async () => {
    expect(await shown('<pre><div>a</div><div></div><div>b</div></pre>')).toBe('```\na\n\nb\n```')
  })

  it('is not seen in tables and text with such names', async () => {
    expect(await shown('<div class="highlight"><p>One</p><p>Two</p></div><p class="line">Three</p>')).toBe(
      'One\n\nTwo\n\nThree',
    )
    expect(await shown('<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>')).toContain(
      '| 1 | 2 |',
    )
  })
})
