/** Reads the tree of subagents below a session. Its code is loaded when somebody looks at it. */

import { log } from '#agent/core/log.ts'
import type { SubagentRole, SubagentStatus } from '#agent/core/subagent.ts'
import { activityOf, type ChildRow } from '../subagents/child-rows.ts'
import { withinLimit } from '../subagents/reach.ts'
import { iso } from '../views/api-views.ts'

export type SubagentNode = {
  readonly session_id: string
  readonly run_id: string
  readonly delegation_id: string
  readonly task_index: number
  readonly depth: number
  readonly goal: string
  readonly role: SubagentRole
  readonly status: 'queued' | 'running' | SubagentStatus
  /** Its activity now, or the limit that it waits for; null when there is neither. */
  readonly activity: string | null
  readonly api_calls: number
  readonly cost_usd: number
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly error: string | null
  readonly children: readonly SubagentNode[]
}

/** Older subagents of one session are left out. */
const maxChildren = 200

type TreeReader = (id: string, depth: number) => Promise<readonly SubagentNode[]>

/** `depth`: that of these subagents. A session that cannot be reached has no children here. */
export function readTree(rows: readonly ChildRow[], depth: number, read: TreeReader): Promise<readonly SubagentNode[]> {
  return Promise.all(
    rows.slice(-maxChildren).map(async (row) => {
      const hasChildren = row.task.role === 'orchestrator' && row.state.at !== 'queued'
      return nodeOf(row, depth, hasChildren ? await tryRead(read, row.id, depth + 1) : [])
    }),
  )
}

async function tryRead(read: TreeReader, id: string, depth: number): Promise<readonly SubagentNode[]> {
  try {
    return await withinLimit(() => read(id, depth))
  } catch (error) {
    log.warn('subagent.unreachable', 'A part of a tree of subagents cannot be read.', { error })
    return []
  }
}

function nodeOf(
  { id, runId, delegation, index, task, state }: ChildRow,
  depth: number,
  children: readonly SubagentNode[],
): SubagentNode {
  return {
    session_id: id,
    run_id: runId,
    delegation_id: delegation,
    task_index: index,
    depth,
    goal: task.goal.slice(0, 200),
    role: task.role,
    ...stateOf(state),
    children,
  }
}

type NodeState = Pick<
  SubagentNode,
  'status' | 'activity' | 'api_calls' | 'cost_usd' | 'started_at' | 'ended_at' | 'error'
>

const notStarted = { activity: null, api_calls: 0, cost_usd: 0, started_at: null, ended_at: null, error: null } as const

function stateOf(state: ChildRow['state']): NodeState {
  switch (state.at) {
    case 'queued':
      return { ...notStarted, status: 'queued', activity: activityOf(state) }
    case 'running': {
      const { apiCalls } = state.watched.progress
      const activity = activityOf(state)
      return { ...notStarted, status: 'running', activity, api_calls: apiCalls, started_at: iso(state.since) }
    }
    case 'ended': {
      const { status, apiCalls, usage, durationMs, error = null } = state.report
      const times = { started_at: iso(state.endedAt - durationMs), ended_at: iso(state.endedAt) }
      return { status, activity: null, api_calls: apiCalls, cost_usd: usage.costUsd, ...times, error }
    }
  }
}
