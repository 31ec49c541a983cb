/**
 * Caches the encoded beginning of request bodies by their transcript. All caches of an isolate have one budget of bytes,
 * because an isolate runs many sessions: above it the prefixes that were not used for longest are dropped.
 */

import type { Message } from '#agent/core/message.ts'
import type { Utf8Builder } from './utf8-builder.ts'

const maxCachedBytes = 8 * 1024 * 1024
const maxCachedPrefixes = 256

type Transcript = readonly Message[]
/** `drop` holds the transcript weakly: a session that has ended is not kept by its prefix. */
type Cached = { bytes: number; readonly drop: () => void }

/** Of all caches, the least recently used first. */
const recent = new Set<Cached>()
let cachedBytes = 0

export class PrefixCache<Prefix extends { readonly bytes: Utf8Builder }> {
  readonly #prefixes = new WeakMap<Transcript, { readonly prefix: Prefix; readonly cached: Cached }>()

  get(transcript: Transcript): Prefix | undefined {
    return this.#prefixes.get(transcript)?.prefix
  }

  /** Stores a new prefix, or counts one that has grown. It becomes the most recently used one. */
  set(transcript: Transcript, prefix: Prefix): void {
    const known = this.#prefixes.get(transcript)
    const cached = known?.cached ?? this.#track(transcript)
    if (known?.prefix !== prefix) this.#prefixes.set(transcript, { prefix, cached })
    recent.delete(cached)
    cachedBytes += prefix.bytes.capacity - cached.bytes
    cached.bytes = prefix.bytes.capacity
    recent.add(cached)
    dropOldest()
  }

  #track(transcript: Transcript): Cached {
    const reference = new WeakRef(transcript)
    const drop = () => {
      const known = reference.deref()
      if (known) this.#prefixes.delete(known)
    }
    return { bytes: 0, drop }
  }
}

function dropOldest(): void {
  for (const cached of recent) {
    if (cachedBytes <= maxCachedBytes && recent.size <= maxCachedPrefixes) return
    recent.delete(cached)
    cachedBytes -= cached.bytes
    cached.drop()
  }
}
