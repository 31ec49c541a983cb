/** Defines the port of a service that remembers conversations outside of this system. */

/** The services that a setting may name. */
export const memoryProviders = ['mem0', 'supermemory', 'hindsight', 'honcho', 'http'] as const
export type MemoryProviderName = (typeof memoryProviders)[number]

/** Whose memories are read and written. The service gets no name that a person could be found by. */
export type MemorySubject = { readonly userId: string; readonly sessionId: string }

export type RememberedTurn = { readonly user: string; readonly assistant: string }

export type MemoryProvider = {
  readonly name: MemoryProviderName
  /** Finds memories that matter for a message, best first. Rejects when the service fails. */
  readonly recall: (query: string, subject: MemorySubject, signal: AbortSignal) => Promise<readonly string[]>
  /** Hands over a finished turn. Rejects when the service fails. */
  readonly store: (turn: RememberedTurn, subject: MemorySubject, signal: AbortSignal) => Promise<void>
}
