/** Measures and wraps texts for terminals. Sequences of colour take no place; wide characters take two cells. */

// eslint-disable-next-line no-control-regex
const sequence = /\u001b\[[0-9;]*m/g
const reset = '\u001b[0m'
const segmenter = new Intl.Segmenter()
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const unseen = /^[\p{Mark}\u200b-\u200f\u2060-\u2064\ufeff]+$/u

function widthOfCluster(cluster) {
  if (unseen.test(cluster)) return 0
  return wide.test(cluster) ? 2 : 1
}

/** Most texts, of which each character takes a cell. */
const simple = /^[\u0020-\u007e]*$/

export function widthOf(text) {
  const shown = text.replace(sequence, '')
  if (simple.test(shown)) return shown.length
  let sum = 0
  for (const { segment } of segmenter.segment(shown)) sum += widthOfCluster(segment)
  return sum
}

/** Breaks a line without styles by cells, so that the caret stands where its text is. */
export function splitCells(line, width) {
  if (simple.test(line)) return line.match(new RegExp(`.{1,${width}}`, 'g')) ?? ['']
  const lines = ['']
  let cells = 0
  for (const { segment } of segmenter.segment(line)) {
    const size = widthOfCluster(segment)
    if (cells + size > width) {
      lines.push('')
      cells = 0
    }
    lines[lines.length - 1] += segment
    cells += size
  }
  return lines
}

/** Splits styled text into pieces: sequences, spaces, words. */
// eslint-disable-next-line no-control-regex
const pieces = /\u001b\[[0-9;]*m| +|[^ \u001b]+/g

/**
 * Breaks one line into lines of a width, at spaces where there are some. Each line ends with the reset sequence and
 * begins with the styles that are open there. `indent` stands before all lines but the first.
 */
export function wrap(text, width, indent = '') {
  const page = createPage(width, indent)
  for (const [piece] of text.matchAll(pieces)) {
    if (piece.startsWith('\u001b')) page.addStyle(piece)
    else if (piece.startsWith(' ')) page.addSpaces(piece)
    else page.addWord(piece)
  }
  return page.end()
}

function createPage(width, indent) {
  const lines = []
  const indentCells = widthOf(indent)
  let [line, cells, open] = ['', 0, '']
  const isEmpty = () => cells === (lines.length ? indentCells : 0)
  const breakLine = () => {
    lines.push(line.trimEnd() + (open && reset))
    line = indent + open
    cells = indentCells
  }
  const put = (text, size) => {
    if (cells + size > width && !isEmpty()) breakLine()
    line += text
    cells += size
  }
  return {
    addStyle(piece) {
      open = piece === reset ? '' : open + piece
      line += piece
    },
    /** Spaces at which a line was broken are left out. */
    addSpaces(piece) {
      if (lines.length && isEmpty()) return
      if (cells + piece.length > width && !isEmpty()) breakLine()
      else put(piece.slice(0, width), Math.min(width, piece.length))
    },
    /** A word that is longer than a line is broken anywhere. */
    addWord(piece) {
      const size = widthOf(piece)
      if (size <= width - indentCells) return put(piece, size)
      for (const { segment } of segmenter.segment(piece)) put(segment, widthOfCluster(segment))
    },
    end: () => [...lines, line + (open && reset)],
  }
}

/** Cuts a line without styles to a width. */
export function clip(text, width) {
  if (widthOf(text) <= width) return text
  let [cut, cells] = ['', 0]
  for (const { segment } of segmenter.segment(text)) {
    cells += widthOfCluster(segment)
    if (cells > width - 1) break
    cut += segment
  }
  return `${cut}…`
}
