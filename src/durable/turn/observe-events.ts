/** Informs plugins of what has happened in a session, beside the turn. */

import type { SessionEvent } from '#agent/core/event.ts'
import { observers } from '#agent/core/hook.ts'
import type { PluginHooks } from '#durable/tenant/plugins/plugin-hooks.ts'
import type { TurnSession } from './turn-session.ts'

/** One after another, in the order of the events. Nothing waits for them. */
export function observeEvents(session: TurnSession, events: readonly SessionEvent[]): void {
  const hooks = session.tenant.hooks
  if (!hooks?.has(...observers)) return
  session.runInBackground(tell(session, hooks, events))
}

async function tell(
  { sessionId, toolRuntime }: TurnSession,
  hooks: PluginHooks,
  events: readonly SessionEvent[],
): Promise<void> {
  const { observe } = await import('#agent/plugins/observed-events.ts')
  for (const event of events)
    for (const { hook, data } of observe(event)) {
      const { run_id: runId, at } = event
      await hooks.observe(hook, { ...data, at }, { sessionId, runId, model: toolRuntime.model })
    }
}
