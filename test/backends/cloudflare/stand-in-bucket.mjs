/** Stands in for a bucket of R2, in memory. */
export class StandInBucket {
  objects = new Map()
  isDown = false
  /** The contents of these objects break off, or of all. */
  broken = new Set()
  areAllBroken = false
  /** Uploads do not end. */
  isStuck = false

  async get(key, { range } = {}) {
    this.#require()
    const bytes = this.objects.get(key)
    if (!bytes) return null
    const part = range ? bytes.slice(range.offset, range.offset + range.length) : bytes
    const arrayBuffer = async () => {
      if (this.areAllBroken || this.broken.has(key)) throw new Error('The stream did not see all expected bytes.')
      return part.slice().buffer
    }
    return { size: bytes.length, arrayBuffer }
  }

  async put(key, bytes) {
    this.#require()
    if (this.isStuck) return new Promise(() => {})
    this.objects.set(key, bytes.slice())
  }

  async delete(keys) {
    this.#require()
    for (const key of [keys].flat()) this.objects.delete(key)
  }

  async list({ prefix }) {
    this.#require()
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix))
    return { objects: keys.map((key) => ({ key })), truncated: false }
  }

  #require() {
    if (this.isDown) throw new Error('R2 is not reachable.')
  }
}
