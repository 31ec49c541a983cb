/** Shell patterns as regular expressions: `*`, `?`, `[…]`, `{a,b}` and `**` across directories. */

/** A pattern without a slash is matched against the name alone, one with a slash against the path below the root. */
export function glob(pattern: string): (relativePath: string) => boolean {
  const trimmed = pattern.replace(/^\.\//, '')
  const expression = new RegExp(`^${translate(trimmed)}$`)
  if (trimmed.includes('/')) return (path) => expression.test(path)
  return (path) => expression.test(path.slice(path.lastIndexOf('/') + 1))
}

const BRACES = /\{([^{}]*,[^{}]*)\}/
const PIECE = /\*\*\/|\*\*|\[!?[^\]]*\]|[\s\S]/g
const MEANING: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' }

/** Each alternative in braces is a pattern of its own: `*.{ts,js}` is `*.ts` or `*.js`. */
function translate(pattern: string): string {
  const braces = BRACES.exec(pattern)
  if (!braces) return pattern.replace(PIECE, (piece) => MEANING[piece] ?? literal(piece))
  const [before, after] = [pattern.slice(0, braces.index), pattern.slice(braces.index + braces[0].length)]
  const each = (braces[1] ?? '').split(',').map((choice) => translate(before + choice + after))
  return `(?:${each.join('|')})`
}

const literal = (piece: string): string =>
  piece.length > 1
    ? piece.replace(/^\[!/, '[^').replaceAll('\\', String.raw`\\`)
    : piece.replace(/[.+^$()|[\]\\{}]/, String.raw`\$&`)
