/** Assesses a command line with the shell policy, for the host where it would run. */

import { judgeCommand } from '../../agent/shell-policy/judge-command.ts'
import type { Services } from '../../agent/model/tool.ts'

export function assessCommand(command: string, cwd: string, { backend, shell }: Pick<Services, 'backend' | 'shell'>) {
  const { root, network, isolated } = backend.capabilities
  // The host behind `http` counts as a shared machine unless it reports isolation. An allow-list still lets data out.
  const host = { isSandboxed: backend.kind !== 'http' || isolated === true, isOnline: network !== 'none' }
  return judgeCommand(command, { cwd, workspace: root, env: shell.read().env, ...host })
}
