/** What a command line would do where it is to run. */

import { judgeCommand } from '../../agent/shell-policy/judge.ts'
import type { Services } from '../../agent/model/tool.ts'

export function assessCommand(command: string, cwd: string, { backend, shell }: Pick<Services, 'backend' | 'shell'>) {
  const { root, network, isolated } = backend.capabilities
  // The machine behind `http` may be anybody's, unless it says otherwise. An allow-list is a way out as well.
  const machine = { sandboxed: backend.kind !== 'http' || isolated === true, online: network !== 'none' }
  return judgeCommand(command, { cwd, workspace: root, env: shell.read().env, ...machine })
}
