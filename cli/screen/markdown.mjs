/** Renders Markdown as lines of a terminal. A text that is still growing is rendered as far as it goes. */

import { widthOf, wrap } from './width.mjs'

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
  const source = text.replace(/\n+$/, '').split('\n')
  let [open, at] = [undefined, 0]
  while (at < source.length) {
    const line = source[at]
    const end = open === undefined ? findTableEnd(source, at) : at
    if (end > at) {
      lines.push(...renderTable(source.slice(at, end), width))
      at = end
      continue
    }
    at++
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

const isRule = (line = '') => /^[\s|:-]+$/.test(line) && line.includes('-') && line.includes('|')

/** The line behind a table that begins at a line; that line itself if none does. */
function findTableEnd(lines, at) {
  if (!lines[at].includes('|') || !isRule(lines[at + 1])) return at
  let end = at + 2
  while (end < lines.length && lines[end].includes('|')) end++
  return end
}

const maxColumns = 30
const cellsOf = (line) =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => renderInline(cell.trim().replaceAll('\\|', '|')))

/** The widest columns give way until the table fits. A table of very many columns stays text. */
function renderTable([first, , ...others], width) {
  const rows = [first, ...others].map(cellsOf)
  const count = rows[0].length
  if (count > maxColumns || count * 6 > width)
    return [first, ...others].flatMap((line) => wrap(renderInline(line), width))
  const widths = rows[0].map((_, at) => Math.max(1, ...rows.map((row) => widthOf(row[at] ?? ''))))
  for (let over = sum(widths) + 3 * (count - 1) - width; over > 0; over--) widths[widths.indexOf(Math.max(...widths))]--
  const drawn = rows.map((row) => drawRow(row, widths))
  return [...drawn[0], dim(widths.map((size) => '─'.repeat(size)).join('─┼─')), ...drawn.slice(1).flat()]
}

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0)

function drawRow(row, widths) {
  const cells = widths.map((size, at) => wrap(row[at] ?? '', size))
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, at) => (lines[line] ?? '') + ' '.repeat(Math.max(0, widths[at] - widthOf(lines[line] ?? ''))))
      .join(dim(' │ '))
      .trimEnd(),
  )
}

const boxes = { '[ ] ': '☐ ', '[x] ': '☑ ', '[X] ': '☑ ' }

function renderLine(line, width) {
  const [, hashes, title] = /^(#{1,6})\s+(.*)$/.exec(line) ?? []
  if (hashes) return wrap(bold(title.replace(/\s+#+\s*$/, '')), width)
  if (/^\s*(?:[-*_]\s*){3,}$/.test(line)) return [dim('─'.repeat(Math.min(width, 40)))]
  const [, quote] = /^>\s?(.*)$/.exec(line) ?? []
  if (quote !== undefined) return wrap(`${dim('▏')}${italic(quote)}`, width, dim('▏'))
  const [, space, item, rest] = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line) ?? []
  if (item) {
    const box = boxes[rest.slice(0, 4)]
    const sign = box?.trim() ?? (/\d/.test(item) ? item : '•')
    const before = `${space}${sign} `
    return wrap(before + renderInline(box ? rest.slice(4) : rest), width, ' '.repeat(before.length))
  }
  return wrap(renderInline(line), width)
}
