/**
 * Removes fences from text that a model writes. A model that repeats recalled context must not show it to a reader, also
 * when a delimiter arrives in pieces. Text without `<` passes at once.
 */

import { fenceName } from './fence.ts'

export type FenceFilter = {
  /** Returns the text that may be shown now. The rest is kept until it cannot belong to a fence any more. */
  readonly push: (piece: string) => string
  /** Returns the rest. A fence that was not closed is dropped. */
  readonly flush: () => string
}

/** A whole opening delimiter, as fence.ts writes it. Its source is short, and has no quotation mark or bracket. */
const opening = new RegExp(`^<${fenceName}-([A-Za-z0-9]{4,64}) source="[^"<>\\n]{0,200}">`)
const closing = new RegExp(`^</${fenceName}-[A-Za-z0-9]{4,64}>`)
/** Every text that a delimiter may begin with, up to where it ends. */
const openingStart = new RegExp(
  `^<${fenceName}-[A-Za-z0-9]{0,64}(?:$| (?:$|s$|so$|sou$|sour$|sourc$|source$|source=$|source="[^"<>\\n]{0,200}"?$))`,
)
const closingStart = new RegExp(`^</${fenceName}-[A-Za-z0-9]{0,64}$`)

/** A fence that is never closed hides at most so much: then the text goes on. */
const maxHiddenChars = 200_000

export function openFenceFilter(): FenceFilter {
  let held = ''
  let end: string | undefined
  let hidden = 0

  /** Drops what a fence hides. False while its end has not come. */
  function skip(): boolean {
    if (end === undefined) return true
    const at = held.indexOf(end)
    if (at >= 0) {
      held = held.slice(at + end.length)
      end = undefined
      return true
    }
    const kept = Math.min(held.length, end.length - 1)
    hidden += held.length - kept
    held = held.slice(held.length - kept)
    if (hidden <= maxHiddenChars) return false
    end = undefined
    return true
  }

  /** Returns what may be shown of the held text, and removes it from there. */
  function take(): string {
    let shown = ''
    while (skip()) {
      const at = held.indexOf('<')
      shown += at < 0 ? held : held.slice(0, at)
      held = at < 0 ? '' : held.slice(at)
      if (!held) return shown
      const opened = opening.exec(held)
      const closed = closing.exec(held)
      if (opened) {
        held = held.slice(opened[0].length)
        end = `</${fenceName}-${opened[1]}>`
        hidden = 0
      } else if (closed) held = held.slice(closed[0].length)
      else if (mayBecomeDelimiter(held)) return shown
      else {
        shown += '<'
        held = held.slice(1)
      }
    }
    return shown
  }

  return {
    push(piece) {
      if (held === '' && end === undefined && !piece.includes('<')) return piece
      held += piece
      return take()
    },
    flush() {
      const shown = end === undefined ? held : ''
      held = ''
      end = undefined
      return shown
    },
  }
}

const starts = [`<${fenceName}-`, `</${fenceName}-`] as const

function mayBecomeDelimiter(text: string): boolean {
  if (starts.some((start) => start.startsWith(text))) return true
  return openingStart.test(text) || closingStart.test(text)
}

/** Removes fences from a whole text. */
export function removeFences(text: string): string {
  if (!text.includes(`<${fenceName}-`) && !text.includes(`</${fenceName}-`)) return text
  const filter = openFenceFilter()
  return filter.push(text) + filter.flush()
}
