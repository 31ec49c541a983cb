/** The bytes of a text that only grows at its end. What was put in once is not encoded again. */

const encoder = new TextEncoder()
/** UTF-8 takes at most three bytes for a unit of a string. */
const widest = 3
/** Units of a text for which room for the widest would be a waste. */
const large = 64 * 1024

export class GrowingBytes {
  #bytes: Uint8Array = new Uint8Array()
  #length = 0

  append(text: string): void {
    // Most conversations are short: room to grow is made when there is something behind the beginning.
    if (!this.#length) {
      this.#bytes = encoder.encode(text)
      this.#length = this.#bytes.length
      return
    }
    if (text.length > large) return this.#put(encoder.encode(text))
    this.#reserve(text.length * widest)
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written
  }

  #put(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }

  /** A copy of all of it, with a tail that is not kept. */
  with(tail: string): Uint8Array {
    const end = encoder.encode(tail)
    const whole = new Uint8Array(this.#length + end.length)
    whole.set(this.#bytes.subarray(0, this.#length))
    whole.set(end, this.#length)
    return whole
  }
}
