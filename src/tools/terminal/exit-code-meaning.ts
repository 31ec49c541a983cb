/** Explains an exit code whose meaning is not obvious. */

export type EndedCommand = {
  readonly command: string
  readonly exitCode: number
  readonly stderr: string
  readonly languages: readonly string[]
}

export type ExitCodeMeaning = {
  readonly text: string
  /** The code is an answer, not an error. */
  readonly isSuccess: boolean
}

const generalMeanings: Readonly<Record<number, string>> = {
  124: 'timed out',
  126: 'found but could not be run, or stopped at a limit of the shell (see stderr)',
  130: 'interrupted',
  137: 'killed',
  139: 'crashed',
  143: 'terminated',
}

const answerCodes: readonly (readonly [RegExp, number, string])[] = [
  [/^(e|f|z)?grep$|^rg$|^ag$/, 1, 'no lines matched (not an error)'],
  [/^diff$|^cmp$|^comm$/, 1, 'the files differ (not an error)'],
  [/^test$|^\[$|^\[\[$/, 1, 'the condition is false (not an error)'],
]

export function explainExitCode(command: EndedCommand): ExitCodeMeaning | undefined {
  if (command.exitCode === 0) return undefined
  if (command.exitCode === 127) return { text: explainMissingProgram(command), isSuccess: false }
  const program = findLastProgram(command)
  const answer = answerCodes.find(
    ([name, code]) => code === command.exitCode && program !== undefined && name.test(program),
  )
  if (answer) return { text: answer[2], isSuccess: true }
  const text = generalMeanings[command.exitCode]
  return text === undefined ? undefined : { text, isSuccess: false }
}

/**
 * Returns the program that set the exit code of a command line: the last one of its last pipeline. Returns undefined
 * when the code may come from an earlier program: with `&&` or `||`, and with `set -e` or `pipefail`.
 */
function findLastProgram({ command, stderr }: EndedCommand): string | undefined {
  const unquoted = command.replace(/'[^']*'|"[^"]*"/g, 'x').replace(/\\\n|(&&|\|)[^\S\n]*\n/g, '$1 ')
  if (/(^|\s)set\s+-/.test(unquoted)) return undefined
  const lastList = unquoted.split(/[;\n]/).findLast((part) => part.trim() !== '') ?? ''
  if (lastList.includes('||')) return undefined
  const pipelines = lastList.split('&&')
  const last = pipelines.pop() ?? ''
  // A failed `cd` writes an error message.
  if (pipelines.some((pipeline) => !/^\s*cd\s/.test(pipeline)) || (pipelines.length > 0 && stderr !== ''))
    return undefined
  const words = (last.split('|').at(-1) ?? '').trim().split(/\s+/)
  return (words.find((word) => !/^\w+=/.test(word)) ?? '').replace(/^.*\//, '')
}

const interpreters =
  /^(python[\d.]*|pip\d?|node|npm|npx|yarn|pnpm|bun|deno|ruby|perl|php|go|cargo|rustc|java|javac|gcc|g\+\+|cc|make)$/
const networkPrograms = /^(curl|wget|ssh|scp|git|ping|nc|docker|apt|apt-get|brew)$/

function explainMissingProgram({ stderr, languages }: EndedCommand): string {
  const name = /(?<!\S)(\S+): command not found/.exec(stderr)?.[1] ?? ''
  if (interpreters.test(name))
    return `${name} does not exist on this host (it has ${languages.join(', ')}). Use execute_code if you have it, or shell tools like awk, sed and jq.`
  if (networkPrograms.test(name))
    return `${name} does not exist on this host, which has no network. Use the web tools if you have them.`
  return 'command not found on this host'
}
