/**
 * Withholds addresses in the text of an answer that nobody has written before: a page could have told the model to put
 * private data into a link or an image, which a client opens by itself. Blocks of code are kept, because nothing opens
 * what is in them.
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

export function openLinkFilter(isKnown: (url: URL) => boolean): LinkFilter {
  let held = ''
  let lineStart = ''
  let fence = ''
  let before = ''

  /** Follows the lines, of which some open and close blocks of code. */
  function pass(text: string): string {
    for (const [at, line] of text.split('\n').entries()) {
      if (at > 0) {
        fence = nextFence(fence, lineStart)
        lineStart = ''
      }
      if (lineStart.length < maxFenceLine) lineStart += line.slice(0, maxFenceLine)
    }
    before = text.at(-1) ?? before
    return text
  }

  /** Takes the address at the beginning of the held text. Undefined: it has not ended. */
  function takeLink(minChars: number, isEnd: boolean): string | undefined {
    const end = findEnd(held, minChars)
    if (end < 0 && !isEnd && held.length <= maxHeldChars) return undefined
    const link = end < 0 ? held : held.slice(0, end)
    held = held.slice(link.length)
    // The middle of another scheme, or of a path.
    const isPart = link.startsWith('//') && /[\w:/]/.test(before)
    return fence !== '' || isPart ? link : render(link, isKnown)
  }

  function take(isEnd: boolean): string {
    let shown = ''
    for (let found = linkStart.exec(held); found; found = linkStart.exec(held)) {
      shown += pass(held.slice(0, found.index))
      held = held.slice(found.index)
      const link = takeLink(found[0].length, isEnd)
      if (link === undefined) return shown
      shown += pass(link)
    }
    const kept = isEnd ? 0 : (partialStart.exec(held)?.[0].length ?? 0)
    shown += pass(held.slice(0, held.length - kept))
    held = held.slice(held.length - kept)
    return shown
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

function render(link: string, isKnown: (url: URL) => boolean): string {
  const [, address = '', after = ''] = /^(.*?)([.,;:!?*_]*)$/s.exec(link) ?? []
  const url = URL.parse(
    address.startsWith('//') ? `https:${address}` : /^www\./i.test(address) ? `https://${address}` : address,
  )
  // A comment of code begins so too.
  if (!url || (address.startsWith('//') && !url.hostname.includes('.'))) return link
  if (isLocal(url) || isKnown(url)) return link
  return `[link withheld: ${url.hostname || url.protocol.slice(0, -1)}]${after}`
}

/** Nobody outside answers there. */
const isLocal = ({ hostname }: URL): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|.*\.localhost)$/.test(hostname)
