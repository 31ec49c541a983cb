/** Defines the network of the virtual shell. Its owner judges every address, redirects included, and limits the answers. */

import type { NetworkAnswer, NetworkRequest } from './protocol.ts'

export type Network = {
  /** Rejects with an error whose message the shell prints. */
  readonly fetch: (request: NetworkRequest, signal: AbortSignal) => Promise<NetworkAnswer>
}
