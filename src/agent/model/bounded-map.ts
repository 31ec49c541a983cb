/**
 * A map that begins anew when it is full: for what an isolate, which may live for long, can work out, ask or learn
 * again.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number

  constructor(most: number) {
    super()
    this.#maxSize = most
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#maxSize && !this.has(key)) this.clear()
    return super.set(key, value)
  }
}
