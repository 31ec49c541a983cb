export function playEngine(containers: { name: string; server?: string }[]): Promise<{
  readonly requests: string[]
  status: number
  /** The outcome of each save. */
  outcome: string
  readonly copied: () => string[]
  readonly removed: () => string[]
  readonly saveContainers: () => Promise<Record<string, string>>
  readonly replaceCutOff: () => Promise<{ readonly name: string; readonly copy?: string }[]>
  readonly close: () => void
}>
