/**
 * Builds the scripts that run another script with its output in a file. The file is printed behind a header: its size, the
 * exit code, and the id of the container. What is cut on the way is printed again.
 */

import { quote } from '../host/scripts.ts'

/** Exit code of a script whose place was taken (`claimScript`). */
const claimedCode = 89

export type RunOptions = {
  readonly state: string
  readonly file: string
  readonly script: string
  /** Files of earlier scripts to delete. */
  readonly obsolete: readonly string[]
}

/** Begins with creating a folder, which only one of the script and `claimScript` can do. Starts in a folder that exists. */
export function runToFile({ state, file, script, obsolete }: RunOptions): string {
  const cleanUp = obsolete.length
    ? `rm -rf ${obsolete.flatMap((path) => [path, `${path}.d`].map(quote)).join(' ')}\n`
    : ''
  return `cd /; ${cleanUp}F=${quote(file)}; mkdir -p -m 700 ${quote(state)}; mkdir "$F.d" || exit ${claimedCode}
(
${script}
) > "$F"
echo $? > "$F.d/code"
${printFrom(state, file, 0)}`
}

/**
 * Prints `claimed` when a script has not begun in this container, and prevents it from beginning later; `begun` when it has.
 * Prints nothing in another container.
 */
export const claimScript = (state: string, file: string, bootId: string): string =>
  `[ "$(cat ${quote(state)}/boot 2>/dev/null)" = ${quote(bootId)} ] || exit 0
if mkdir ${quote(`${file}.d`)} 2>/dev/null; then echo claimed; elif [ -e ${quote(file)} ]; then echo begun; fi`

/** Waits for the end of a script for a second, then prints its output. */
export const waitForEnd = (state: string, file: string): string =>
  `for i in 1 2 3 4 5 6 7 8 9 10; do [ -e ${quote(`${file}.d/code`)} ] && break; sleep 0.1; done
${printFrom(state, file, 0)}`

/** Prints the header and the bytes behind the first ones, or `gone` in a container that has not run the script. */
export const printFrom = (state: string, file: string, skipped: number): string =>
  `F=${quote(file)}; [ -e "$F" ] || { echo gone; exit 0; }
echo "$(stat -c %s "$F") $(cat "$F.d/code" 2>/dev/null || echo -) $(cat ${quote(state)}/boot 2>/dev/null || echo -)"; tail -c +${skipped + 1} "$F"`

export type Piece = {
  readonly size: number
  /** Null: the script has not ended by itself. */
  readonly code: number | null
  readonly bootId: string | undefined
  readonly text: string
}

/** Undefined when the header is cut. A cut inside of a character leaves a replacement character, which is fetched again. */
export function parsePiece(stdout: string): Piece | undefined {
  const end = stdout.indexOf('\n')
  const [, size, code, bootId] = /^(\d+) (\d+|-) (\S+)$/.exec(stdout.slice(0, Math.max(0, end))) ?? []
  if (size === undefined) return undefined
  return {
    size: Number(size),
    code: code === '-' ? null : Number(code),
    bootId: bootId === '-' ? undefined : bootId,
    text: stdout.slice(end + 1).replace(/\uFFFD+$/, ''),
  }
}

/** Prints `running` while a job runs that has no exit code yet. */
export const findRunningJob = (state: string): string => `for d in ${quote(state)}/j-*; do
  [ -e "$d/exit" ] && continue
  grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat "$d/pid" 2>/dev/null)/status" 2>/dev/null && { echo running; exit 0; }
done; echo none`
