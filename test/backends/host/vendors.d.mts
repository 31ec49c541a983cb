export type Vendor = {
  readonly url: string
  readonly root: string
  readonly state: string
  readonly temporary: string
  readonly asked: readonly string[]
  /** Hosts by id. */
  readonly known: Map<string, string>
  readonly stop: () => void
}
export const vendorCases: 'all' | 'transport'
export function playDaytona(key: string): Promise<Vendor>
export function playE2b(key: string): Promise<Vendor>

export type VercelVendor = Omit<Vendor, 'known'> & {
  /** Sessions that run, by the name of their sandbox. */
  readonly known: Map<string, { readonly id: string; readonly status: string }>
  /** What was asked for. */
  readonly created: readonly object[]
  /** Milliseconds more, each time. */
  readonly prolonged: readonly number[]
}
export function playVercel(key: string): Promise<VercelVendor>
