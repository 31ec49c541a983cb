/**
 * The command lines of commands.txt, each run in a fresh workspace after prelude.sh. `%%%` begins a group,
 * `%%` a case; what follows is bash.
 */

export type Case = { readonly group: string; readonly name: string; readonly script: string }
export type Outcome = { readonly stdout: string; readonly exitCode: number }
/** The recorded output of a real bash, with its versions. */
export type Recording = {
  readonly versions: Readonly<Record<string, string>>
  readonly outcomes: Readonly<Record<string, Outcome>>
}

/** A fixed author and date, so that commit hashes are the same everywhere. */
export const ENVIRONMENT = {
  LANG: 'C.UTF-8',
  TZ: 'UTC',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_AUTHOR_DATE: '1767225600 +0000',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_COMMITTER_DATE: '1767225600 +0000',
}

export function casesOf(text: string): Case[] {
  return text
    .split(/^%%% /m)
    .slice(1)
    .flatMap((part) => {
      const [title = '', ...blocks] = part.split(/^%% /m)
      return blocks.map((block) => {
        const end = block.indexOf('\n')
        const group = title.trim()
        return { group, name: `${group}: ${block.slice(0, end).trim()}`, script: block.slice(end + 1) }
      })
    })
}
