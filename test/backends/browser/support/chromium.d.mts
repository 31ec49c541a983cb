/** The path of the preferred browser. */
export const chromium: string | undefined
/** The paths of the preferred browser and of the last choice. */
export const chromiums: readonly string[]
export type Chromium = { readonly url: string; readonly close: () => Promise<void> }
export function startChromium(path?: string, more?: readonly string[]): Promise<Chromium>
