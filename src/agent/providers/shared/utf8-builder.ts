/** Builds the UTF-8 bytes of a text that only grows at its end. Each part is encoded once. */

const encoder = new TextEncoder()
/** UTF-8 needs at most three bytes for one UTF-16 code unit. */
const maxBytesPerUnit = 3
/** Above this length, reserving `maxBytesPerUnit` for each code unit would waste memory. */
const largeTextChars = 64 * 1024
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
    if (text.length > largeTextChars) return this.#appendBytes(encoder.encode(text))
    this.#reserve(text.length * maxBytesPerUnit)
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written
  }

  #appendBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  #reserve(byteCount: number): void {
    const needed = this.#length + byteCount
    if (needed <= this.#bytes.length) return
    // Doubling a request full of images would hold as much again.
    const spare = Math.min(this.#bytes.length, maxSpareBytes)
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length + spare))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }

  /** Returns a copy of all bytes followed by `suffix`. The suffix is not appended. */
  toBytesWith(suffix: string): Uint8Array {
    // Encoded in place: a suffix with images, which are ASCII, would else be held twice.
    const spare = Math.min(suffix.length * (maxBytesPerUnit - 1), largeTextChars)
    const whole = new Uint8Array(this.#length + suffix.length + spare)
    whole.set(this.#bytes.subarray(0, this.#length))
    const { read, written } = encoder.encodeInto(suffix, whole.subarray(this.#length))
    const filled = whole.subarray(0, this.#length + written)
    return read === suffix.length ? filled : join(filled, encoder.encode(suffix.slice(read)))
  }
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length)
  whole.set(first)
  whole.set(second, first.length)
  return whole
}
