import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { sliceObjects } from '#agent/providers/shared/json-slices.ts'

it('cuts objects out of lists as they are written', () => {
  const json = `{ "content": [ {"type":"text"}, {"input": { "a": 5.0, "input": {} }},
    {"input":{"b":"}\\"{"},"x":[{"input":{}}]}, {"input":[]} ], "input": {} }`
  expect([...sliceObjects(json, 'content.*.input')]).toEqual([
    [1, '{ "a": 5.0, "input": {} }'],
    [2, '{"b":"}\\"{"}'],
    [3, '[]'],
  ])
  expect(sliceObjects(json, 'output.message.content.*.toolUse.input').size).toBe(0)
})

it('cuts what parsing finds', () => {
  const inputs = fc.array(fc.dictionary(fc.string(), fc.jsonValue()))
  fc.assert(
    fc.property(inputs, fc.boolean(), (all, isWide) => {
      const json = JSON.stringify(
        { m: { content: all.map((input) => ({ id: '[', input })) } },
        undefined,
        isWide ? 2 : 0,
      )
      const slices = sliceObjects(json, 'm.content.*.input')
      expect([...slices.values()].map((text) => JSON.stringify(JSON.parse(text)))).toEqual(
        all.map((input) => JSON.stringify(input)),
      )
    }),
  )
})

it('takes linear time on what is no JSON', () => {
  for (const text of ['"'.repeat(100_000), '{"'.repeat(50_000), '\\'.repeat(100_000), '[,'.repeat(50_000)])
    expect(sliceObjects(text, 'a.*.b').size).toBe(0)
})
