/** Builds the UTF-8 bytes of a text that only grows at its end. Each part is encoded once. */

const encoder = new TextEncoder()
/** UTF-8 needs at most three bytes for one UTF-16 code unit. */
const maxBytesPerUnit = 3
/** Above this length, reserving `maxBytesPerUnit` for each code unit would waste memory. */
const largeTextChars = 64 * 1024
/** Small texts double. Large ones grow by an eighth, because an isolate holds those of many sessions at once. */
const doublingBytes = 64 * 1024
const maxSpareBytes = 4 * 1024 * 1024

export class Utf8Builder {
  #bytes: Uint8Array = new Uint8Array()
  #length = 0

  /** Bytes in memory, spare ones included. */
  get capacity(): number {
    return this.#bytes.length
  }

  append(text: string): void {
    // Most conversations are short, so spare capacity is reserved from the second append on.
    if (!this.#length) {
      this.#bytes = encoder.encode(text)
      this.#length = this.#bytes.length
      return
    }
    if (text.length > largeTextChars) return this.#appendLarge(text)
    this.#reserve(text.length * maxBytesPerUnit)
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written
  }

  /** Joins small texts. Joining large ones would hold them twice. */
  appendAll(texts: readonly string[]): void {
    if (countChars(texts) <= largeTextChars) return this.append(texts.join(''))
    for (const text of texts) if (text) this.append(text)
  }

  /** Encodes in place: base64 of images is ASCII and would else be held twice. */
  #appendLarge(text: string): void {
    this.#reserve(text.length)
    const { read, written } = encoder.encodeInto(text, this.#bytes.subarray(this.#length))
    this.#length += written
    if (read < text.length) this.#appendBytes(encoder.encode(text.slice(read)))
  }

  #appendBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  #reserve(byteCount: number): void {
    const needed = this.#length + byteCount
    if (needed <= this.#bytes.length) return
    const size = this.#bytes.length
    const spare = Math.min(size, Math.max(doublingBytes, size >> 3), maxSpareBytes)
    this.#bytes = enlarge(this.#bytes, Math.max(needed, size + spare))
  }

  /** Returns a copy of all bytes followed by the suffix, which is not appended. */
  toBytesWith(suffix: readonly string[]): Uint8Array {
    if (countChars(suffix) <= largeTextChars) {
      const end = encoder.encode(suffix.join(''))
      const all = new Uint8Array(this.#length + end.length)
      all.set(this.#bytes.subarray(0, this.#length))
      all.set(end, this.#length)
      return all
    }
    const copy = new Utf8Builder()
    copy.#bytes = new Uint8Array(this.#length + countChars(suffix) + suffixSpareBytes)
    copy.#bytes.set(this.#bytes.subarray(0, this.#length))
    copy.#length = this.#length
    return copy.finishWith(suffix)
  }

  /** Appends the suffix and returns all bytes without a copy. The builder cannot be used again. */
  finishWith(suffix: readonly string[]): Uint8Array {
    this.#reserve(countChars(suffix) + suffixSpareBytes)
    for (const text of suffix) this.#appendLarge(text)
    return this.#bytes.subarray(0, this.#length)
  }
}

/** Room for a few characters that are not ASCII. */
const suffixSpareBytes = 16 * 1024

const countChars = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0)

/** Moves the memory where possible, so that old and new bytes are not held at once. */
function enlarge(bytes: Uint8Array, size: number): Uint8Array {
  const { buffer, byteLength } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) return new Uint8Array(buffer.transfer(size))
  const larger = new Uint8Array(size)
  larger.set(bytes)
  return larger
}
