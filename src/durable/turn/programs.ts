/**
 * Dispatches the tool calls of a program like all other calls. Each is stored as part of the program's own call before
 * it starts, so that a crash leaves a record of how far the program came.
 */

import { awaitDelegation, beginNested, delegationIn, endNested } from '#agent/loop/nested.ts'
import type { ApprovalDecision } from '#agent/core/permission/approval.ts'
import { type ToolMessage, textIn } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import type { Program, ProgramEnd } from '#agent/core/program.ts'
import type { Programs } from '#agent/core/tool.ts'
import { type Commit, addDecision, type NestedCall, type Turn } from '#agent/core/turn.ts'
import { joinMarks, type Marks, noMarks } from '#agent/core/marks.ts'
import { explainNestedCallLimit } from '#agent/policy/tool-loop-guard.ts'
import type { DispatchOptions } from '#tools/dispatch.ts'

/** Records the calls of a program in its turn. */
export type ProgramLog = {
  readonly started: (parent: string, call: NestedCall) => void
  readonly waits: (parent: string, id: string, delegation: string) => void
  readonly ended: (parent: string, id: string, message: ToolMessage) => void
  /** The delegation whose results a program does not have. */
  readonly openDelegation: (parent: string) => string | undefined
  readonly decided: (decision: ApprovalDecision) => void
  /** The reason why a tool may not be called any more in this turn. */
  readonly explainLimit: (name: string) => string | undefined
  readonly state: Programs['state']
}

type TurnWriter = { readonly turn: () => Turn; readonly save: (commit: Commit) => void; readonly write: () => void }

const maxPreviewChars = 200

export function createProgramLog(store: () => TurnWriter, look: () => View): ProgramLog {
  const put = (change: (turn: Turn) => Commit): void => {
    store().save(change(store().turn()))
    store().write()
  }
  return {
    started: (parent, call) => put((turn) => beginNested(turn, parent, call)),
    waits: (parent, id, delegation) => put((turn) => awaitDelegation(turn, parent, id, delegation)),
    openDelegation: (parent) => {
      const { stage } = store().turn()
      const calls = stage.at === 'tools' ? stage.calls : []
      return delegationIn(
        calls.find(({ id }) => id === parent),
        { isOpen: true },
      )
    },
    ended: (parent, id, message) => {
      const preview = textIn(message).slice(0, maxPreviewChars)
      put((turn) => endNested(turn, parent, { id, name: message.name, failed: message.failed, preview }))
    },
    decided: (decision) => put((turn) => ({ turn: addDecision(turn, decision) })),
    explainLimit: (name) => explainNestedCallLimit(store().turn(), name, look()),
    state: {
      read: () => store().turn().programState,
      keep: (programState) => put((turn) => ({ turn: { ...turn, programState } })),
    },
  }
}

/** Adds programs, which can call the same tools, to the options of the dispatcher. */
export function withPrograms(options: DispatchOptions, run: Programs['run'], log: ProgramLog): DispatchOptions {
  const read = new Map<string, Marks>()
  const programs: Programs = {
    run: (program) => (program.language === 'python' ? runOnHost(options, program) : run(program)),
    toolbox: () => options.toolbox,
    touches: (tool, input) => tool.touches(input, options.services),
    state: log.state,
    leftWaiting: (parent, end) => {
      const workId = log.openDelegation(parent)
      const marks = read.get(parent) ?? noMarks
      return workId === undefined ? undefined : { kind: 'child', workId, program: { ...end, marks } }
    },
    dispatch: async (request) => {
      const { dispatchNested } = await import('./dispatch-nested.ts')
      const message = await dispatchNested(request, options, log)
      read.set(request.parent, joinMarks(read.get(request.parent), message.marks))
      return message
    },
  }
  return { ...options, nestedMarks: (id) => read.get(id) ?? noMarks, services: { ...options.services, programs } }
}

async function runOnHost({ services: { backend } }: DispatchOptions, program: Program): Promise<ProgramEnd> {
  if (!backend) throw new Error('A program in Python needs the service backend.')
  const { runPython } = await import('#backends/python/run-python.ts')
  return runPython(backend, program)
}
