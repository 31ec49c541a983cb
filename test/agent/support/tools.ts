/** Defines small tools for tests of the loop. */

import * as z from 'zod'
import { defineTool } from '#tools/define-tool.ts'

const input = z.object({ path: z.string(), content: z.string() })

export const readFile = defineTool({
  name: 'read_file',
  toolset: 'file',
  description: 'reads',
  input,
  effect: 'pure',
  run: async ({ path }) => ({ contents: `of ${path}` }),
})

export const writeFile = defineTool({
  name: 'write_file',
  toolset: 'file',
  description: 'writes',
  input,
  effect: 'effect',
  run: async ({ path }) => ({ wrote: path }),
})

export const danger = defineTool({
  name: 'danger',
  toolset: 'x',
  description: 'dangerous',
  input: z.object({}),
  effect: 'effect',
  risk: () => 'exec',
  run: async () => ({ boom: true }),
})

export const askPerson = defineTool({
  name: 'clarify',
  toolset: 'x',
  description: 'asks',
  input: z.object({}),
  effect: 'pure',
  run: async () => ({ later: { kind: 'question', question: 'which?', choices: [], multiSelect: false } }),
})

export const failing = defineTool({
  name: 'failing',
  toolset: 'x',
  description: 'fails',
  input: z.object({}),
  effect: 'pure',
  run: async () => ({ content: [{ type: 'text', text: 'no' }], failed: true }),
})

/** The next case of a pending request: the call waits for a child session. */
export const delegate = defineTool({
  name: 'delegate',
  toolset: 'clarify',
  description: 'Hands a goal to a child session.',
  input: z.object({}),
  effect: 'keyed',
  run: async () => ({ later: { kind: 'child', workId: 'ses_child' } }),
})
