/** Caches values up to a maximum size. A full map drops its oldest entry, so that a long-lived isolate does not grow. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number

  constructor(maxSize: number) {
    super()
    this.#maxSize = maxSize
  }

  override set(key: Key, value: Value): this {
    // An entry that is set again becomes the newest.
    this.delete(key)
    for (const oldest of this.keys()) {
      if (this.size < this.#maxSize) break
      this.delete(oldest)
    }
    return super.set(key, value)
  }
}
