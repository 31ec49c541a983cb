/** Tests that the page names what every platform asks for, and can say it and the commands in German. */

import { expect, it } from 'vitest'
import { type CommandSpec, commandTable } from '#agent/policy/slash-command/command-table.ts'
import { listPlatforms, loadChannel } from '#channels/channels.ts'
import { germanCommands } from '../../web/words/commands-de.ts'
import { englishFields, germanFields } from '../../web/words/field-names.ts'
import { germanHints } from '../../web/words/hints-de.ts'

it('has German words for the hint of every secret', async () => {
  const channels = await Promise.all(listPlatforms().map((name) => loadChannel(name)))
  const hints = channels.flatMap((channel) => Object.values(channel?.secrets ?? {}).map(({ hint }) => hint))
  expect(hints.length).toBeGreaterThan(15)
  expect(hints.filter((hint) => !Object.hasOwn(germanHints, hint))).toEqual([])
})

it('names every secret and every setting in words', async () => {
  const channels = await Promise.all(listPlatforms().map((platform) => loadChannel(platform)))
  const fields = channels.flatMap((channel) => [
    ...Object.keys(channel?.secrets ?? {}),
    ...(channel?.ownSettings ?? []),
  ])
  expect(fields).toContain('bot_token')
  const named = Object.keys(englishFields).map((name) => name.replace(/^field_/, ''))
  expect(fields.filter((field) => !named.includes(field))).toEqual([])
  expect(Object.keys(germanFields)).toEqual(Object.keys(englishFields))
})

it('describes every command of the page in German, and none that does not exist', () => {
  const all: readonly CommandSpec[] = commandTable
  const described = all
    .filter(({ isForChats, isHidden }) => !isForChats && !isHidden)
    .map(({ description }) => description)
  expect(Object.keys(germanCommands).toSorted()).toEqual(described.toSorted())
})
