/** Reads the output of a terminal: colours become spans, other control sequences are dropped. */

export type TerminalSpan = { readonly text: string; readonly kind: string }

const colours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
const maxSpans = 4_000

type Style = { readonly colour: string; readonly isBold: boolean; readonly isDim: boolean }
const plain: Style = { colour: '', isBold: false, isDim: false }

const escape = String.fromCharCode(27)
const bell = String.fromCharCode(7)
/** Sequences that move, clear or ask are no text. Titles end with BEL or ST. */
const sequence = new RegExp(
  [
    `${escape}\\[([\\d;:?<=>]{0,60})([@-~])`,
    `${escape}\\][^${bell}${escape}]{0,2000}(?:${bell}|${escape}\\\\)?`,
    `${escape}[()][A-Z0-9]`,
    `${escape}[@-Z\\\\^_a-z=>]`,
  ].join('|'),
  'g',
)

const changes: Readonly<Record<number, Partial<Style>>> = {
  0: plain,
  1: { isBold: true },
  2: { isDim: true },
  22: { isBold: false, isDim: false },
  39: { colour: '' },
  ...Object.fromEntries(colours.flatMap((colour, at) => [30 + at, 90 + at].map((code) => [code, { colour }]))),
}

/** Of 256 colours the first sixteen are the same. */
const indexed = /(?:^|;)([34])8[;:](?:5[;:](\d{1,3})|2(?:[;:]\d{0,3}){3})/g

const apply = (style: Style, codes: string): Style =>
  codes
    .replace(indexed, (_, layer: string, index = '') => {
      if (layer === '4') return ';49'
      return index !== '' && Number(index) < 16 ? `;${30 + (Number(index) % 8)}` : ';39'
    })
    .split(/[;:]/)
    .reduce((before, code) => ({ ...before, ...changes[Number(code)] }), style)

const kindOf = ({ colour, isBold, isDim }: Style): string =>
  [colour && `ansi-${colour}`, isBold && 'ansi-bold', isDim && 'ansi-dim'].filter(Boolean).join(' ')

/** A progress bar writes its line again after a carriage return: the last one is shown. */
const lastOfLines = (text: string): string => text.replaceAll('\r\n', '\n').replace(/[^\n]*\r(?!$)(?=[^\n])/g, '')

const hasText = (spans: readonly TerminalSpan[], text: string): boolean =>
  spans
    .map((span) => span.text)
    .join('')
    .trimEnd() === text.trimEnd()

/** The result is what the model reads, without colours. They are those of what came while it ran, where that is all of it. */
export function colourOutput(output: string, progress: string): readonly TerminalSpan[] {
  const live = progress ? readTerminal(progress) : []
  return hasText(live, output) ? live : readTerminal(output)
}

export function readTerminal(output: string): readonly TerminalSpan[] {
  const text = lastOfLines(output)
  const spans: TerminalSpan[] = []
  let style = plain
  let from = 0
  const add = (part: string) => {
    const shown = [...part].filter((one) => one >= ' ' || one === '\n' || one === '\t').join('')
    if (shown) spans.push({ text: shown, kind: kindOf(style) })
  }
  for (const found of text.matchAll(sequence)) {
    add(text.slice(from, found.index))
    from = found.index + found[0].length
    if (found[2] === 'm') style = apply(style, found[1] ?? '')
    if (spans.length > maxSpans) break
  }
  add(text.slice(from))
  return spans
}
