/** Checks before a run, without any call that costs money, that its configuration can work. */

import { scan } from '#agent/untrusted/injection-scan.ts'
import type { JobPlan } from '#agent/schedule/job/job.ts'
import type { Sources } from '#agent/routing/route.ts'
import { createRoutes, explainMissing, listModelIds } from '#durable/models/model-routes.ts'
import { explainFinding } from './explain-finding.ts'

/** The model that a run without a pinned one uses. */
export const defaultModelOf = (sources: Sources): string => listModelIds(undefined, sources)[0] ?? ''

/** Returns why the run cannot begin, and how to mend it. `ofProject`: the default model of its project. */
export function findBlock(plan: JobPlan, sources: Sources, ofProject?: string | null): string | undefined {
  const [finding] = scan(plan.prompt, 'strict')
  if (finding) return explainFinding(finding)
  if (plan.isScriptOnly) return undefined
  const { model, expectedModel } = plan
  const current = ofProject ?? defaultModelOf(sources)
  if (model === undefined && expectedModel !== undefined && expectedModel !== current)
    return `The default model was ${expectedModel} when this job was made, and is ${current} now. Nothing was called. Set the model of the job to ${expectedModel} to keep it, or to ${current} to accept the change.`
  const chosen = model ?? ofProject ?? undefined
  if (createRoutes(chosen, sources).length) return undefined
  return `No model can be called: ${explainMissing(chosen, sources)}`
}
