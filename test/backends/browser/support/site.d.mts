import type { NetworkGuard } from '#backends/browser/request-guard.ts'

export const host: string
export function address(path: string): string
export type Site = {
  readonly port: number
  /** Paths in the order of the requests. */
  readonly asked: string[]
  readonly network: NetworkGuard
  readonly close: () => void
}
export function startSite(): Promise<Site>
