/** What an exit code means where it is not what it looks like. */

export type EndedCommand = {
  readonly command: string
  readonly exitCode: number
  readonly stderr: string
  readonly languages: readonly string[]
}

export type ExitCodeMeaning = {
  readonly text: string
  /** The command did what it should; the code is an answer. */
  readonly isSuccess: boolean
}

const GENERAL: Readonly<Record<number, string>> = {
  124: 'timed out',
  126: 'found but could not be run, or stopped at a limit of the shell (see stderr)',
  130: 'interrupted',
  137: 'killed',
  139: 'crashed',
  143: 'terminated',
}

const ANSWERS: readonly (readonly [RegExp, number, string])[] = [
  [/^(e|f|z)?grep$|^rg$|^ag$/, 1, 'no lines matched (not an error)'],
  [/^diff$|^cmp$|^comm$/, 1, 'the files differ (not an error)'],
  [/^test$|^\[$|^\[\[$/, 1, 'the condition is false (not an error)'],
]

export function explainExitCode(ended: EndedCommand): ExitCodeMeaning | undefined {
  if (ended.exitCode === 0) return undefined
  if (ended.exitCode === 127) return { text: missing(ended), isSuccess: false }
  const program = lastProgram(ended)
  const answer = ANSWERS.find(([name, code]) => code === ended.exitCode && program !== undefined && name.test(program))
  if (answer) return { text: answer[2], isSuccess: true }
  const text = GENERAL[ended.exitCode]
  return text === undefined ? undefined : { text, isSuccess: false }
}

/**
 * The program whose code a command line ends with: the last one of the last pipeline. Undefined where the code may be
 * that of one before it: behind `&&` and `||`, or with `set -e` and `pipefail`.
 */
function lastProgram({ command, stderr }: EndedCommand): string | undefined {
  const plain = command.replace(/'[^']*'|"[^"]*"/g, 'x').replace(/\\\n|(&&|\|)[^\S\n]*\n/g, '$1 ')
  if (/(^|\s)set\s+-/.test(plain)) return undefined
  const list = plain.split(/[;\n]/).findLast((part) => part.trim() !== '') ?? ''
  if (list.includes('||')) return undefined
  const pipelines = list.split('&&')
  const last = pipelines.pop() ?? ''
  // A directory that is not there is told.
  if (pipelines.some((one) => !/^\s*cd\s/.test(one)) || (pipelines.length > 0 && stderr !== '')) return undefined
  const words = (last.split('|').at(-1) ?? '').trim().split(/\s+/)
  return (words.find((word) => !/^\w+=/.test(word)) ?? '').replace(/^.*\//, '')
}

const INTERPRETERS =
  /^(python[\d.]*|pip\d?|node|npm|npx|yarn|pnpm|bun|deno|ruby|perl|php|go|cargo|rustc|java|javac|gcc|g\+\+|cc|make)$/
const NETWORK = /^(curl|wget|ssh|scp|git|ping|nc|docker|apt|apt-get|brew)$/

function missing({ stderr, languages }: EndedCommand): string {
  const name = /(?<!\S)(\S+): command not found/.exec(stderr)?.[1] ?? ''
  if (INTERPRETERS.test(name))
    return `${name} does not exist on this machine (it has ${languages.join(', ')}). Use execute_code if you have it, or shell tools like awk, sed and jq.`
  if (NETWORK.test(name))
    return `${name} does not exist on this machine, which has no network. Use the web tools if you have them.`
  return 'command not found on this machine'
}
