/** Finds the type of a picture by its first bytes. Names may lie; only an SVG has no mark of its own. */

const marks: readonly (readonly [mime: string, bytes: readonly number[]])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
]

/** `RIFF`, its length, `WEBP`. Sound may be RIFF, too. */
const isWebp = (bytes: Uint8Array): boolean =>
  String.fromCharCode(...bytes.subarray(0, 4), ...bytes.subarray(8, 12)) === 'RIFFWEBP'

export function findMime(bytes: Uint8Array, path: string): string | undefined {
  const found = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte))
  if (found) return found[0]
  if (isWebp(bytes)) return 'image/webp'
  const isMarkup = bytes.includes(0x3c) && !bytes.includes(0)
  return path.toLowerCase().endsWith('.svg') && isMarkup ? 'image/svg+xml' : undefined
}
