/** A case in TypeScript: structured output. */

import type { EvalCase } from '../../cli/eval/case.d.ts'

export default {
  name: 'extracts an order as JSON',
  messages: ['Answer with JSON alone, {"item", "count"}: "Please send me three blue chairs."'],
  repeat: 2,
  least: 0.5,
  assert: [
    {
      output: {
        schema: {
          type: 'object',
          properties: { item: { type: 'string' }, count: { const: 3 } },
          required: ['item', 'count'],
        },
      },
    },
    { maxToolCalls: 0 },
  ],
} satisfies EvalCase
