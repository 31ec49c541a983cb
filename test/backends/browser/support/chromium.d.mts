/** The path of the first browser that is found. */
export const chromium: string | undefined
export type Chromium = { readonly url: string; readonly close: () => Promise<void> }
export function startChromium(path?: string, more?: readonly string[]): Promise<Chromium>
