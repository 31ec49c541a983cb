export function playEngine(containers: { name: string; server?: string }[]): Promise<{
  readonly requests: string[]
  status: number
  readonly removed: () => string[]
  readonly saveContainers: () => Promise<Record<string, string>>
  readonly replaceCutOff: () => Promise<string[]>
  readonly close: () => void
}>
