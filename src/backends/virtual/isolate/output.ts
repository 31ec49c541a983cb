/** Keeps the head and the tail of a long output and says how much is missing between them. */

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export type Clipped = { readonly text: string; readonly clipped: boolean }

export function clip(text: string, maxBytes: number): Clipped {
  // A character is at least a byte and at most three per UTF-16 unit.
  if (text.length * 3 <= maxBytes) return { text, clipped: false }
  const bytes = encoder.encode(text)
  if (bytes.byteLength <= maxBytes) return { text, clipped: false }
  const head = boundary(bytes, Math.floor(maxBytes * 0.4))
  const tail = boundary(bytes, bytes.byteLength - (maxBytes - head))
  const start = decoder.decode(bytes.subarray(0, head))
  const end = decoder.decode(bytes.subarray(tail))
  return { text: `${start}\n[... ${tail - head} bytes left out ...]\n${end}`, clipped: true }
}

/** The next place at or after `at` where a character begins. */
function boundary(bytes: Uint8Array, at: number): number {
  let place = at
  while (place < bytes.byteLength && ((bytes[place] ?? 0) & 0xc0) === 0x80) place++
  return place
}
