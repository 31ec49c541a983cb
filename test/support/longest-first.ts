/** Orders the files so that no worker is started twice and none of them runs alone at the end. */

import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * First those that count what a whole isolate holds: no other file has left objects running there. Then in the order of
 * their time, which is mostly waiting. The others follow as vitest orders them: by size.
 */
export const longest = [
  'worker/nightly-backup',
  'worker/routes/platform-setup',
  'durable/session/deployments',
  'durable/session/subagents/crash',
  'backends/cloudflare/container-box',
  'backends/browser/page-activity',
  'sandbox/server',
  'backends/cloudflare/workspace-copies',
  'scripts/mcp-conformance/conformance',
  'worker/matrix',
  'backends/daytona/daytona',
  'backends/host/host-backend',
  'durable/channels/delivery',
  'durable/models/side-call',
  'backends/virtual/bounds',
  'backends/isolate/programs',
  'worker/access',
  'backends/cloudflare/native-container',
  'durable/tenant/spending-cap',
  'worker/contributions',
  'backends/browser/page',
  'durable/session/self-started/goals',
  'worker/credentials',
  'durable/events/events',
  'e2e/page-walk',
  'e2e/page-rows',
  'e2e/start',
  'e2e/page-screens',
  'e2e/page',
  'e2e/deploy',
  'e2e/crash',
  'e2e/mcp',
  'e2e/backup',
  'e2e/page-progress',
  'e2e/backends',
] as const

/** A worker ends when the next file is of another project, and loads the app again with the next one of its own. */
const projects: readonly string[] = ['hosts', 'pure', 'workerd', 'e2e']

const rank = ({ moduleId }: TestSpecification): number => {
  const at = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return at === -1 ? longest.length : at
}

const projectRank = ({ project }: TestSpecification): number => projects.indexOf(project.name)

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line no-array-sort -- the method of vitest
    return (await super.sort(files)).toSorted(
      (one, other) => projectRank(one) - projectRank(other) || rank(one) - rank(other),
    )
  }
}
