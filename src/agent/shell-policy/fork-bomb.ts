/** Recognises functions that call themselves in a pipe or in the background, so that processes multiply without end. */

import type { AndOr, CommandNode } from 'unbash'
import type { JudgedShell } from './shell-state.ts'

type CommandShape = {
  readonly type?: string
  readonly background?: boolean
  readonly name?: { readonly value: string }
}

export function isForkBomb({ functions }: Pick<JudgedShell, 'functions'>, name: string): boolean {
  const seen = new Set<string>()
  const searchNode = (node: object, isConcurrent: boolean): boolean => {
    const { type, background, name: nameNode } = node as CommandShape
    const callee = type === 'Command' ? (nameNode?.value ?? '') : ''
    if (callee === name && isConcurrent) return true
    const below = isConcurrent || background === true || type === 'Pipeline'
    if (callee !== '' && callee !== name && searchFunction(callee, isConcurrent)) return true
    return listUnconditionalParts(node).some(
      (child) => typeof child === 'object' && child !== null && searchNode(child, below),
    )
  }
  const searchFunction = (callee: string, isConcurrent: boolean): boolean => {
    const key = `${callee} ${isConcurrent}`
    const body = functions.get(callee)
    if (seen.has(key) || !body) return false
    seen.add(key)
    return searchNode(body, isConcurrent)
  }
  return searchFunction(name, false)
}

/**
 * Lists the parts of a node that always run. A recursion under a condition may end, one without a condition does not.
 */
function listUnconditionalParts(part: object): readonly unknown[] {
  const node = part as CommandNode | AndOr
  switch (node.type) {
    case 'If':
      return isTrue(node.clause) ? [node.clause, node.then] : [node.clause]
    case 'While':
      return isTrue(node.clause) ? [node.clause, node.body] : [node.clause]
    case 'For':
      return node.wordlist?.every(({ parts }) => !parts) ? [node.body] : []
    case 'Case':
      return []
    case 'AndOr': {
      const end = node.commands.findIndex(
        (command, i) => node.operators[i] !== '&&' || !isTrue({ commands: [{ command }] }),
      )
      return node.commands.slice(0, end + 1)
    }
    default:
      return Object.values(node)
  }
}

const isTrue = ({ commands }: { readonly commands: readonly { readonly command: object }[] }): boolean =>
  commands.every(({ command }) => ['true', ':'].includes((command as CommandShape).name?.value ?? ''))
