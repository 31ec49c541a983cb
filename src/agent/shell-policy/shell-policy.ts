/** Collects the judgements of command lines that other rooms use. */

import type { ShellPolicy } from '#agent/core/permission/shell-policy.ts'
import { findForegroundProblem, leavesProcesses } from './detached-processes.ts'
import { judgeCommand } from './judge-command.ts'

/** None of these programs writes to a named file, with any options. */
const readers: ReadonlySet<string> = new Set(
  'ls cat pwd head tail grep egrep fgrep rg wc stat file du df which echo printf date whoami id uname nl cut cmp diff md5sum sha1sum sha256sum basename dirname realpath readlink true false test [ cd'.split(
    ' ',
  ),
)

/** Recognises command lines that change no file. Checkpoints skip them, so the list is short and certain. */
export function isReadOnly(command: string): boolean {
  // A redirection counts even inside quotes.
  if (command.includes('>')) return false
  const host = { cwd: '/workspace', workspace: '/workspace', env: {}, isSandboxed: true, isOnline: false }
  const { verdict, programs } = judgeCommand(command, host)
  return verdict === 'allow' && programs.length > 0 && programs.every((program) => readers.has(program))
}

export const shellPolicy: ShellPolicy = { judgeCommand, isReadOnly, findForegroundProblem, leavesProcesses }
