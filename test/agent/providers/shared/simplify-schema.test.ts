import { expect, it } from 'vitest'
import { simplifySchema } from '#agent/providers/shared/simplify-schema.ts'

it('removes patterns and formats, and keeps properties with these names', () => {
  const schema = {
    type: 'object',
    properties: { format: { type: 'string', format: 'uri', pattern: '^h' }, pattern: { type: 'string' } },
  }
  expect(simplifySchema(schema)).toEqual({
    type: 'object',
    properties: { format: { type: 'string' }, pattern: { type: 'string' } },
  })
})
