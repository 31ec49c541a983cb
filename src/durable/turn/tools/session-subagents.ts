/** The subagents of a session as a service of its tools. They are created after the tools, so they are read at each use. */

import type { Subagents } from '#agent/core/subagent.ts'

export const createSessionSubagents = (subagents: () => Subagents): Subagents => ({
  limits: () => subagents().limits(),
  spawn: (request) => subagents().spawn(request),
  list: () => subagents().list(),
  steer: (id, message, callId) => subagents().steer(id, message, callId),
  stop: (id) => subagents().stop(id),
  wait: (delegationId, signal) => subagents().wait(delegationId, signal),
  ask: (question) => subagents().ask(question),
})
