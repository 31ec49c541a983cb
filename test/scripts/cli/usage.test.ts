/** Tests that the help of each command names its actions, and that it is read as it is written. */

import { describe, expect, it } from 'vitest'
import { commands } from '../../../cli/commands.mjs'

type Command = {
  readonly usage: string
  readonly words: readonly number[] | Readonly<Record<string, readonly number[]>>
  readonly options?: Readonly<Record<string, { readonly choices?: readonly string[]; readonly short?: string }>>
}
const listed: [string, Command][] = Object.entries(commands)

/** The actions that the help names: small words at the beginning of its parts, perhaps several. */
const actionsOf = (usage: string) =>
  usage
    .replaceAll(/ \| (?=cool)/g, ' · ')
    .split(' · ')
    .flatMap((part, at) => (at ? part : part.replace(/^\S+ ?/, '')).replace(/^\[/, '').split(/[\s[\]]/, 1))
    .flatMap((part = '') => part.split('|'))
    .filter((word) => /^[a-z][a-z-]*$/.test(word))

describe('the help of a command', () => {
  it.each(listed.filter(([, { words }]) => !Array.isArray(words)))(
    'names each action of %s',
    (_name, { usage, words }) => {
      const known = Object.keys(words).filter((word) => word !== '*')
      // `ls` alone needs no word.
      expect(new Set(['ls', ...actionsOf(usage)])).toEqual(new Set(['ls', ...known]))
    },
  )

  it.each(listed)('of %s names each option, with its choices', (_name, { usage, options = {} }) => {
    // `-z` is written for `final`.
    const missing = Object.entries(options).filter(
      ([name, { short, choices }]) =>
        name !== 'final' &&
        !usage.includes(choices ? `--${name} ${choices.join('|')}` : `--${name}`) &&
        !(short && usage.includes(`-${short}`)),
    )
    expect(missing).toEqual([])
  })
})
