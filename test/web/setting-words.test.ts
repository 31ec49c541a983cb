/** Tests that every setting has a name in both languages, and a description in German where the schema has one. */

import { expect, it } from 'vitest'
import * as z from 'zod'
import { settingsSchema } from '#agent/core/settings.ts'
import { groupFields, listFields, type Schema } from '../../web/model/settings-form.ts'
import { settingsInEnglish } from '../../web/words/settings-en.ts'
import { settingsInGerman } from '../../web/words/settings-de.ts'

const fields = listFields(z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' }) as Schema)

it('names every setting in both languages, and none that does not exist', () => {
  const paths = fields.map(({ path }) => path).toSorted()
  for (const { labels } of [settingsInEnglish, settingsInGerman]) expect(Object.keys(labels).toSorted()).toEqual(paths)
})

it('describes in German what the schema describes', () => {
  const described = fields.filter(({ description }) => description).map(({ path }) => path)
  expect(described.filter((path) => !settingsInGerman.descriptions?.[path])).toEqual([])
})

it('names every group, and the same choices in both languages', () => {
  for (const { groups } of [settingsInEnglish, settingsInGerman])
    expect(Object.keys(groups)).toEqual(groupFields(fields).map(([group]) => group))
  expect(Object.keys(settingsInGerman.choices)).toEqual(Object.keys(settingsInEnglish.choices))
})
