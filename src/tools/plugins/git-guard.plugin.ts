/** Has a person look at every push to a remote repository, and refuses those that destroy history there. */

import { definePlugin } from './define-plugin.ts'

const mainBranches = new Set(['main', 'master'])
const quotes = /["'`\\]/g

/** The words behind `git … push` in each command of a text. Quotes and continued lines make no difference. */
export function listPushes(text: string): readonly (readonly string[])[] {
  const commands = text.replaceAll('\\\n', ' ').split(/[\n;&|(){}]/)
  return commands.flatMap((command) => {
    const words = command
      .replaceAll(quotes, '')
      .split(/[\s,[\]]+/)
      .filter(Boolean)
    const git = words.findIndex((word) => word === 'git' || word.endsWith('/git'))
    const push = git < 0 ? -1 : words.indexOf('push', git)
    return push < 0 || words[push - 1] === 'stash' ? [] : [words.slice(push + 1)]
  })
}

/** Why a push is refused. Undefined: a person may allow it. */
function explainRefusal(words: readonly string[]): string | undefined {
  if (words.some(isForced)) return 'a forced push replaces what others have; push a new branch instead'
  if (words.some(isDeletion)) return 'it deletes or mirrors branches of the remote'
  if (words.some((word) => mainBranches.has(targetOf(word))))
    return 'nobody pushes to the main branch; push another one'
  return undefined
}

const isForced = (word: string): boolean =>
  word === '--force' || word.startsWith('--force-') || /^-\w*f/.test(word) || word.startsWith('+')
const isDeletion = (word: string): boolean =>
  word === '--delete' || word === '--mirror' || word === '--prune' || /^-\w*d/.test(word) || word.startsWith(':')
/** The branch of the remote that a word such as `HEAD:refs/heads/main` names. */
const targetOf = (word: string): string => word.slice(word.lastIndexOf(':') + 1).replace(/^refs\/heads\//, '')

export default definePlugin({
  name: 'git_guard',
  createHooks: () => ({
    pre_tool_call: {
      matcher: 'terminal|execute_code',
      required: true,
      run: ({ args }) => {
        const { command, code } = args as { readonly command?: unknown; readonly code?: unknown }
        const texts = [command, code].flat().filter((text): text is string => typeof text === 'string')
        const pushes = texts.flatMap(listPushes)
        const refusal = pushes.map(explainRefusal).find((reason) => reason !== undefined)
        if (refusal !== undefined) return { action: 'block', message: refusal }
        return pushes.length ? { action: 'approve', message: 'it pushes to a remote repository' } : undefined
      },
    },
  }),
})
