/** What stand-ins keep for one test file ends with it, because files share their isolate. */

const resets = new Set<() => void>()

/** Called once for each stand-in, when it is loaded. */
export const atFileEnd = (reset: () => void): void => void resets.add(reset)
export const endFile = (): void => resets.forEach((reset) => reset())
