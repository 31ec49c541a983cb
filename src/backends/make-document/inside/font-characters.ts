/** Reads which characters a TrueType font has, from the segmented coverage of its `cmap` table. */

export type HasCharacter = (code: number) => boolean

/** Throws for a font without such a table. */
export function readCharacters(font: ArrayBuffer): HasCharacter {
  const view = new DataView(font)
  const groups = findCoverage(view, findTable(view, 'cmap'))
  const count = view.getUint32(groups + 12)
  const ranges = Array.from({ length: count }, (_, n) => {
    const at = groups + 16 + n * 12
    return [view.getUint32(at), view.getUint32(at + 4)] as const
  })
  return (code) => ranges.some(([first, last]) => code >= first && code <= last)
}

function findTable(view: DataView, name: string): number {
  const count = view.getUint16(4)
  for (let at = 12; at < 12 + count * 16; at += 16) {
    const tag = String.fromCharCode(...new Uint8Array(view.buffer, at, 4))
    if (tag === name) return view.getUint32(at + 8)
  }
  throw new Error(`The font has no table ${name}.`)
}

const segmentedCoverage = 12

function findCoverage(view: DataView, table: number): number {
  const count = view.getUint16(table + 2)
  for (let n = 0; n < count; n++) {
    const at = table + view.getUint32(table + 4 + n * 8 + 4)
    if (view.getUint16(at) === segmentedCoverage) return at
  }
  throw new Error('The font has no segmented coverage.')
}

const maxShown = 20

/** The characters of a text that a font does not have, except white space. */
export const listMissing = (text: string, has: HasCharacter): readonly string[] =>
  [...new Set(text.replace(/\s/g, ''))].filter((char) => !has(char.codePointAt(0) ?? 0))

export const warnOfMissing = (missing: readonly string[], advice: string): readonly string[] =>
  missing.length ? [`No font here has these characters: ${missing.slice(0, maxShown).join(' ')}. ${advice}`] : []
