export type Slots = {
  readonly acquire: (workspace: string, signal?: AbortSignal) => Promise<() => void>
  readonly count: () => number
  readonly waiting: () => number
}
export function openSlots(options: {
  readonly limits: Readonly<Record<string, number>>
  readonly tenantOf: (workspace: string) => string
  readonly limitsMemory: boolean
}): Slots

export type Judged = { readonly refused: string } | { readonly address: string; readonly port: number }
export function isPublicAddress(address: string): boolean
export function createGuard(options: {
  readonly ports: readonly number[]
  readonly hosts?: readonly string[]
  readonly map?: Readonly<Record<string, string>>
  readonly resolve?: (name: string) => Promise<readonly { readonly address: string }[]>
}): (host: string, port: number) => Promise<Judged>

export type GroupTree = {
  readonly groups: {
    readonly level: string
    readonly enter: (workspace: string, tenant?: string) => readonly string[]
    readonly sweep: () => void
  }
  readonly pass: (ms: number) => void
  readonly setProcesses: (path: string, text: string) => void
  readonly filesOf: (path: string) => Readonly<Record<string, string>> | undefined
  readonly remove: () => void
}
export function openGroupTree(limits: Readonly<Record<string, number>>, version: 1 | 2): GroupTree
export function startOutside(): Promise<{ readonly port: number; readonly stop: () => void }>
