/** Collects the judgements of command lines that other rooms use. */

import type { ShellPolicy } from '#agent/core/permission/shell-policy.ts'
import { findForegroundProblem, leavesProcesses } from './detached-processes.ts'
import { isReadOnly } from './is-read-only.ts'
import { judgeCommand } from './judge-command.ts'

export const shellPolicy: ShellPolicy = { judgeCommand, isReadOnly, findForegroundProblem, leavesProcesses }
