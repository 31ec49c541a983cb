/** Builds the report of a subagent from its run. */

import type { Entry } from '#agent/core/history.ts'
import { type AssistantMessage, callsIn, textIn } from '#agent/core/message.ts'
import type { SubagentCall, SubagentReport, SubagentStatus } from '#agent/core/subagent.ts'
import { isCancelled, modelCallUse, timesUsed, totalUsage, type Turn } from '#agent/core/turn.ts'
import { readTallyKey } from '#agent/core/usage.ts'
import { createRunEnded } from '#agent/loop/announce.ts'
import { joinMarks, type Marks } from '#agent/core/marks.ts'
import { marksOfAuthority } from '#agent/core/permission/authority.ts'
import { marksOfMessages } from '#agent/untrusted/result-marks.ts'
import { sessionMarks } from '#durable/turn/turn-marks.ts'
import { runUsage } from '#durable/storage/session-record.ts'
import type { Session } from '../session.ts'

/** Undefined while the run goes on, and for a session that is no subagent. */
export function endedReport(session: Session): SubagentReport | undefined {
  const { meta, store, journal } = session
  const { subagent: link } = meta
  const current = store.current()
  const turn = link && (current?.id === link.runId ? current : journal.turnOfRun(link.runId))
  return turn && renderReport(session, turn)
}

const maxTrace = 100

/** Undefined while the run goes on. */
export function renderReport(session: Session, turn: Turn): SubagentReport | undefined {
  const { meta, journal } = session
  const { stage } = turn
  if (stage.at !== 'done') return undefined
  const entries = journal.entriesOfRun(turn.id)
  const end = createRunEnded(
    turn,
    entries.map(({ message }) => message),
  )
  const usage = totalUsage({ ...turn, usage: runUsage(meta, turn) })
  const [key] = Object.keys(turn.usage.by ?? {})
  const { contributors } = turn.options.authority ?? {}
  return {
    status: getStatus(turn),
    output: end.output,
    ...(end.error !== undefined && { error: end.error }),
    exitReason: end.exit_reason,
    model: key === undefined ? (turn.options.model ?? meta.model) : readTallyKey(key).model,
    apiCalls: timesUsed(turn, modelCallUse),
    usage,
    durationMs: Math.max(0, stage.endedAt - turn.startedAt),
    toolTrace: getTrace(entries),
    missedSteers: meta.subagent?.missed ?? [],
    marks: marksOfRun(session, turn),
    ...(contributors && { contributors }),
  }
}

/** An older run may have read what the context does not have any more. */
const marksOfRun = (session: Session, { id, options }: Turn): Marks =>
  id === session.store.current()?.id
    ? sessionMarks(session)
    : joinMarks(
        marksOfMessages(session.journal.entriesOfRun(id).map(({ message }) => message)),
        options.authority && marksOfAuthority(options.authority),
      )

function getStatus({ stage }: Turn): SubagentStatus {
  if (stage.at !== 'done') return 'unknown'
  if (isCancelled(stage.outcome)) return 'interrupted'
  return stage.outcome === 'failed' ? 'failed' : 'completed'
}

/** The last calls with their sizes. */
function getTrace(entries: readonly Entry[]): readonly SubagentCall[] {
  const inputs = new Map<string, string>()
  const trace: SubagentCall[] = []
  for (const { message } of entries) {
    if (message.role === 'assistant') {
      trace.push(...serverSearchesIn(message))
      for (const { id, input } of callsIn(message)) inputs.set(id, JSON.stringify(input) ?? '')
    }
    if (message.role === 'tool')
      trace.push({
        tool: message.name,
        args_bytes: inputs.get(message.callId)?.length ?? 0,
        result_bytes: textIn(message).length,
        status: message.failed ? 'error' : 'ok',
      })
  }
  return trace.slice(-maxTrace)
}

/** Searches of the provider have no results in the transcript. */
const serverSearchesIn = ({ content }: AssistantMessage): readonly SubagentCall[] =>
  content.flatMap((part) =>
    part.type === 'thinking' && part.search !== undefined
      ? [{ tool: 'web_search', args_bytes: part.search.length, result_bytes: 0, status: 'ok' as const }]
      : [],
  )
