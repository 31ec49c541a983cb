/** Ends all that stand-ins keep and wait for with the test file, because files share their isolate and its processor. */

const resets = new Set<() => void>()

/** Called once for each stand-in, when it is loaded. */
export const atFileEnd = (reset: () => void): void => void resets.add(reset)

let ended = 0
export function endFile(): void {
  ended++
  resets.forEach((reset) => reset())
}

/** The function says whether the present file has ended. No test looks any more at what was begun for it. */
export function watchFileEnd(): () => boolean {
  const before = ended
  return () => ended !== before
}
