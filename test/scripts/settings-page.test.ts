/** Tests that docs/settings.md lists exactly the settings of the schema. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { expect, it } from 'vitest'
import { settingsSchema } from '#agent/core/settings.ts'

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
}

/** Names chosen by users are written as <…>. */
function* pathsOf({ properties, additionalProperties, items }: Schema, at: string): Generator<string> {
  if (properties)
    for (const [name, inner] of Object.entries(properties)) yield* pathsOf(inner, at ? `${at}.${name}` : name)
  else if (typeof additionalProperties === 'object') yield* pathsOf(additionalProperties, `${at}.<>`)
  else if (items?.properties) yield* pathsOf(items, `${at}[]`)
  else yield at
}

it('the page of settings has every setting, and no other', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/settings.md'), 'utf8')
  const tops = Object.keys(settingsSchema.shape)
  const named = [...page.matchAll(/`([a-z_]+(?:\[\]|\.[\w<>:./[\]]+)*)`/g)]
    .map(([, name = '']) => name.replaceAll(/<[^>]*>/g, '<>'))
    .filter((name) => tops.includes(name.split(/[.[]/)[0] ?? ''))
  const taken = [...pathsOf(z.toJSONSchema(settingsSchema) as Schema, '')]
  expect([...new Set(named)].toSorted()).toEqual(taken.toSorted())
})
