/** Caches values up to a maximum size. A full map is cleared, so that a long-lived isolate does not grow. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number

  constructor(maxSize: number) {
    super()
    this.#maxSize = maxSize
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#maxSize && !this.has(key)) this.clear()
    return super.set(key, value)
  }
}
