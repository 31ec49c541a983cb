/** Command lines that are known to change no file. Everything else may: the list is short on purpose. */

import { judgeCommand } from './judge.ts'

/** None of them writes where a file is named, with whatever options. */
const readers: ReadonlySet<string> = new Set(
  'ls cat pwd head tail grep egrep fgrep rg wc stat file du df which echo printf date whoami id uname nl cut cmp diff md5sum sha1sum sha256sum basename dirname realpath readlink true false test [ cd'.split(
    ' ',
  ),
)

export function onlyReads(command: string): boolean {
  // Wherever it stands: in quotes it is taken for what it might be.
  if (command.includes('>')) return false
  const around = { cwd: '/workspace', workspace: '/workspace', env: {}, sandboxed: true, online: false }
  const { verdict, programs } = judgeCommand(command, around)
  return verdict === 'allow' && programs.length > 0 && programs.every((program) => readers.has(program))
}
