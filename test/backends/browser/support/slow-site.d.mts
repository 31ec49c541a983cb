export type SlowSite = { readonly base: string; readonly close: () => void }
/** How long the answer to a slow request takes. */
export const slowMs: number
export function startSlowSite(): Promise<SlowSite>
