/** Renders Markdown as lines of a terminal. A text that is still growing is rendered as far as it goes. */

import { wrap } from './width.mjs'

const reset = '\u001b[0m'
const style = (codes) => (text) => `\u001b[${codes}m${text}${reset}`
const bold = style('1')
export const dim = style('2')
const italic = style('3')
const code = style('36')
const link = style('4')
const struck = style('9')
export const good = style('32')
export const bad = style('31')
export const warn = style('33')
export const accent = style('36;1')

const inlines = [
  [/^`([^`\n]+)`/, (text) => code(text)],
  [/^\*\*([^*\n]+)\*\*/, (text) => bold(text)],
  [/^__([^_\n]+)__/, (text) => bold(text)],
  [/^\*([^*\s][^*\n]*)\*/, (text) => italic(text)],
  [/^~~([^~\n]+)~~/, (text) => struck(text)],
  [/^!?\[([^\]\n]*)\]\(([^)\s]+)[^)\n]*\)/, (text, url) => (text === url ? link(url) : `${link(text)} (${url})`)],
]

function renderInline(text) {
  let [out, rest] = ['', text]
  while (rest) {
    const found = inlines.map(([pattern, draw]) => [pattern.exec(rest), draw]).find(([match]) => match)
    if (found) {
      const [[whole, ...parts], draw] = found
      out += draw(...parts)
      rest = rest.slice(whole.length)
    } else {
      // The next sign that may begin something.
      const next = rest.slice(1).search(/[`*_~![]/)
      const plain = next < 0 ? rest : rest.slice(0, next + 1)
      out += plain
      rest = rest.slice(plain.length)
    }
  }
  return out
}

const fence = /^\s*(`{3,}|~{3,})\s*(\S*)/

export function renderMarkdown(text, width) {
  const lines = []
  let open
  for (const line of text.replace(/\n+$/, '').split('\n')) {
    const [, mark, language] = fence.exec(line) ?? []
    if (open !== undefined) {
      if (mark?.startsWith(open) && !language) open = undefined
      else lines.push(...wrap(`${dim('│')} ${code(line.replaceAll('\t', '    '))}`, width, `${dim('│')} `))
    } else if (mark) {
      open = mark
      if (language) lines.push(dim(`│ ${language}`))
    } else lines.push(...renderLine(line, width))
  }
  return lines
}

function renderLine(line, width) {
  const [, hashes, title] = /^(#{1,6})\s+(.*)$/.exec(line) ?? []
  if (hashes) return wrap(bold(title.replace(/\s+#+\s*$/, '')), width)
  if (/^\s*(?:[-*_]\s*){3,}$/.test(line)) return [dim('─'.repeat(Math.min(width, 40)))]
  const [, quote] = /^>\s?(.*)$/.exec(line) ?? []
  if (quote !== undefined) return wrap(`${dim('▏')}${italic(quote)}`, width, dim('▏'))
  const [, space, item, rest] = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line) ?? []
  if (item) {
    const sign = /\d/.test(item) ? item : '•'
    const before = `${space}${sign} `
    return wrap(before + renderInline(rest), width, ' '.repeat(before.length))
  }
  return wrap(renderInline(line), width)
}
