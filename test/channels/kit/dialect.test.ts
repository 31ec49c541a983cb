import { expect, it } from 'vitest'
import { defineDialect } from '#channels/kit/dialect.ts'

it('splits plain text at the limit in its unit', () => {
  const bytes = defineDialect({ max: 10, unit: 'utf8' })
  expect(bytes.render('ääää ääää', 'plain').map(({ text }) => text)).toEqual(['ääää', 'ääää'])
  const units = defineDialect({ max: 10, unit: 'utf16' })
  expect(units.render('ääää ääää', 'plain')).toHaveLength(1)
})

it('writes addresses behind the labels of links, and no marks, without marks of its own', () => {
  const { render, encode } = defineDialect({ max: 200, unit: 'utf16' })
  expect(render('**Read** [this](https://a.example)', 'markdown').map(encode)).toEqual([
    'Read this (https://a.example)',
  ])
})
