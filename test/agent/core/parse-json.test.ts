import { expect, it } from 'vitest'
import { parseJson } from '#agent/core/parse-json.ts'

it.each([
  ['{"a":1}', { a: 1 }],
  [' null ', null],
  ['<html>', undefined],
  ['', undefined],
  ['{"a":', undefined],
])('parses %j, as text and as bytes', (text, value) => {
  expect([parseJson(text), parseJson(new TextEncoder().encode(text))]).toEqual([value, value])
})
