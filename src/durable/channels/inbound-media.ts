/** Reads the files of inbound messages from their platform, and stores their images. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { ImagePart } from '#agent/core/message.ts'
import type { FetchedMedia } from '#channels/channel.ts'
import { clock } from '#durable/platform/clock.ts'
import { attachmentPrefix, canStore, storeImages } from '#durable/workspace/attachments.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'

/** Limit of one file. It is held in memory. */
const maxFileBytes = 20_000_000
/** Pauses before the attempts after the first one. */
const retryPausesMs = [1_000, 4_000]

export type InboundMediaOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly sessionId: string
  readonly loadConnection: (origin: ChatOrigin) => Promise<LoadedConnection | { readonly refused: string }>
}

export class InboundMedia {
  readonly #options: InboundMediaOptions

  constructor(options: InboundMediaOptions) {
    this.#options = options
  }

  async fetch(origin: ChatOrigin, reference: MediaReference): Promise<FetchedMedia> {
    if (reference.isCarried) return this.#readCarried(reference)
    const connection = await this.#options.loadConnection(origin)
    if ('refused' in connection) return { kind: 'failed', detail: connection.refused, canRetry: false }
    const { fetchMedia } = connection.channel
    if (!fetchMedia) return { kind: 'failed', detail: 'files of this platform cannot be read', canRetry: false }
    let fetched = await fetchMedia(connection, reference, maxFileBytes)
    for (const pauseMs of retryPausesMs) {
      if (fetched.kind === 'fetched' || !fetched.canRetry) return fetched
      await clock.wait(pauseMs)
      fetched = await fetchMedia(connection, reference, maxFileBytes)
    }
    return fetched
  }

  async #readCarried(reference: MediaReference): Promise<FetchedMedia> {
    const { readCarriedFile } = await import('./carried-files.ts')
    return readCarriedFile(this.#options.env.BLOBS, this.#options, reference)
  }

  /** Deletes what we store of the files of a message that took effect. Never rejects. */
  async discard(media: readonly MediaReference[] = []): Promise<void> {
    if (!media.some(({ isCarried }) => isCarried)) return
    const { deleteCarriedFiles } = await import('./carried-files.ts')
    await deleteCarriedFiles(this.#options.env.BLOBS, this.#options, media)
  }

  /** Undefined when the image is too large to be stored. */
  async storeImage(image: ImagePart): Promise<ImagePart | undefined> {
    const { env, tenantId, sessionId } = this.#options
    const message = { role: 'user', content: [image] } as const
    if (!canStore(message, env.BLOBS)) return undefined
    const { content } = await storeImages(message, env.BLOBS, attachmentPrefix(tenantId, sessionId))
    return content[0]?.type === 'image' ? content[0] : undefined
  }
}
