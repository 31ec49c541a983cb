/**
 * A map that begins anew when it is full: for what an isolate, which may live for long, can work out, ask or learn
 * again.
 */
export class Bounded<Key, Value> extends Map<Key, Value> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#most && !this.has(key)) this.clear()
    return super.set(key, value)
  }
}
