/** Restores files to a named checkpoint, after a person has allowed it. */

import * as z from 'zod'
import { maxCheckpointName } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'

export default defineTool({
  name: 'restore',
  toolset: 'checkpoints',
  description: 'Restores the files of a named checkpoint. Later changes by you are lost, so a person is asked.',
  input: z.object({
    name: z.string().trim().min(1).max(maxCheckpointName),
    path: z.string().min(1).optional().describe('Only this file or folder.'),
  }),
  needs: ['checkpoints'],
  effect: 'effect',
  risk: () => 'write',
  assess: ({ name, path }) => ({
    verdict: 'ask',
    needsPerson: true,
    reasons: [`Restores ${path ?? 'all files'} to the checkpoint "${name}"; later changes by the agent are lost.`],
    subjects: [path === undefined ? name : `${name} ${path}`],
  }),
  touches: () => 'alone',
  run: async ({ name, path }, { checkpoints }) => {
    const result = await checkpoints.restore(name, path)
    if (result.kind === 'done')
      return { restored: result.restored, kept: result.kept, note: 'Read files again before you change them.' }
    return fail(
      result.names.length
        ? `There is no checkpoint "${name}". There are: ${result.names.join(', ')}.`
        : `There is no checkpoint "${name}", and no other one with a name.`,
    )
  },
})
