/**
 * Withholds addresses in the text of an answer that nobody has written before: a page could have told the model to put
 * private data into a link or an image, which a client opens by itself. Nothing opens what is in code: blocks of it are
 * kept, and an address that a result has shown becomes code.
 */

export type LinkFilter = {
  /** Returns the text that may be shown. An address that has not ended is kept back. */
  readonly push: (piece: string) => string
  readonly flush: () => string
}

/** A longer word is no address that somebody reads. */
const maxHeldChars = 8_000

const linkStart = /https?:\/\/|\/\/|www\.|mailto:/i
/** A piece may end within the beginning of an address. */
const partialStart = /(?:h(?:t(?:t(?:p(?:s?:?\/?)?)?)?)?|\/|w{1,3}|m(?:a(?:i(?:l(?:t(?:o)?)?)?)?)?)$/i
const linkEnd = /[\s<>"'`|\\\])]/

/** `hasShown`: a result has the address, but the model may have composed it before. */
export function openLinkFilter(
  isKnown: (url: URL) => boolean,
  hasShown: (url: URL) => boolean = () => false,
): LinkFilter {
  const shown = followLines()
  let held = ''

  /** Takes the address at the beginning of the held text. Undefined: it has not ended. */
  function takeLink(minChars: number, isEnd: boolean): string | undefined {
    const end = findEnd(held, minChars)
    if (end < 0 && !isEnd && held.length <= maxHeldChars) return undefined
    const link = end < 0 ? held : held.slice(0, end)
    held = held.slice(link.length)
    // The middle of another scheme, or of a path.
    const isPart = link.startsWith('//') && /[\w:/]/.test(shown.before())
    return shown.isInBlock() || isPart ? link : render(link)
  }

  function render(link: string): string {
    const { address, after, url } = parseLink(link)
    if (!url || isLocal(url) || isKnown(url)) return link
    const code = hasShown(url) ? shown.asCode(address, held) : undefined
    return code === undefined
      ? `[link withheld: ${url.hostname || url.protocol.slice(0, -1)}]${after}`
      : `${code}${after}`
  }

  function take(isEnd: boolean): string {
    let text = ''
    for (let found = linkStart.exec(held); found; found = linkStart.exec(held)) {
      text += shown.pass(held.slice(0, found.index))
      held = held.slice(found.index)
      const link = takeLink(found[0].length, isEnd)
      if (link === undefined) return text
      text += shown.pass(link)
    }
    const kept = isEnd ? 0 : (partialStart.exec(held)?.[0].length ?? 0)
    text += shown.pass(held.slice(0, held.length - kept))
    held = held.slice(held.length - kept)
    return text
  }

  return {
    push(piece) {
      held += piece
      return take(false)
    },
    flush: () => take(true),
  }
}

const maxFenceLine = 200

/** Follows the lines of a text, of which some open and close blocks of code. */
function followLines() {
  let lineStart = ''
  let fence = ''
  let before = ''
  /** Backticks of the line, and whether those of the paragraph could open or close code elsewhere. */
  let ticks = 0
  let isTicked = false
  const endLine = () => {
    fence = nextFence(fence, lineStart)
    isTicked = lineStart.trim() !== '' && (isTicked || ticks % 2 > 0)
    ticks = 0
    lineStart = ''
  }
  return {
    before: () => before,
    isInBlock: () => fence !== '',
    pass(text: string): string {
      for (const [at, line] of text.split('\n').entries()) {
        if (at > 0) endLine()
        if (lineStart.length < maxFenceLine) lineStart += line.slice(0, maxFenceLine)
        ticks += line.split('`').length - 1
        isTicked ||= /``|\\`/.test(at ? line : before + line)
      }
      before = text.at(-1) ?? before
      return text
    },
    /** Undefined where ticks around it would make other code, and the address a link. */
    asCode(address: string, next: string): string | undefined {
      const [isTickBefore, isTickBehind] = [before === '`', next.startsWith('`')]
      if (isTicked || before === '\\') return undefined
      if (ticks % 2 > 0) return isTickBefore && isTickBehind ? address : undefined
      if (isTickBefore || isTickBehind) return undefined
      // In brackets and quotes it would still be the target of a link or an image.
      return `${/[("'<=]/.test(before) ? 'address: ' : ''}\`${address}\``
    },
  }
}

/** The fence of the block that goes on after this line. Empty: there is none. */
function nextFence(open: string, line: string): string {
  const [, marks = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line.replace(/\r$/, '')) ?? []
  if (open === '') return rest.includes('`') ? '' : marks
  return marks.startsWith(open) && rest.trim() === '' ? '' : open
}

/** An address may have brackets in pairs. -1: it has not ended. */
function findEnd(text: string, from: number): number {
  let open = 0
  for (let at = from; at < text.length; at++) {
    const sign = text[at] ?? ''
    if (sign === '(') open++
    else if (sign === ')' && open > 0) open--
    else if (linkEnd.test(sign)) return at
  }
  return -1
}

/** `url` is undefined for what is no address. */
function parseLink(link: string) {
  const [, address = '', after = ''] = /^(.*?)([.,;:!?*_]*)$/s.exec(link) ?? []
  const url = URL.parse(
    address.startsWith('//') ? `https:${address}` : /^www\./i.test(address) ? `https://${address}` : address,
  )
  // A comment of code begins so too.
  const isComment = address.startsWith('//') && !url?.hostname.includes('.')
  return { address, after, url: isComment ? undefined : (url ?? undefined) }
}

/** Nobody outside answers there. */
const isLocal = ({ hostname }: URL): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|.*\.localhost)$/.test(hostname)
