/** Gives the present state of the workspace a name, to which it can be restored. */

import * as z from 'zod'
import { maxCheckpointName } from '#agent/core/tool.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'

export default defineTool({
  name: 'checkpoint',
  toolset: 'checkpoints',
  description: 'Names the present state of the workspace before a risky change, so that it can be restored.',
  input: z.object({ name: z.string().trim().min(1).max(maxCheckpointName) }),
  needs: ['checkpoints'],
  effect: 'keyed',
  risk: () => 'read',
  touches: () => 'alone',
  run: async ({ name }, { checkpoints }) => {
    switch (await checkpoints.create(name)) {
      case 'created':
        return { created: name }
      case 'exists':
        return fail(`There is a checkpoint "${name}" already. Choose another name.`)
      case 'unsupported':
        return fail('This workspace keeps no checkpoints. Commit to git, or copy the files.')
    }
  },
})
