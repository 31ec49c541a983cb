/** The parts of a session that its browser uses. */

import type { ToolPorts } from '../tool-ports.ts'
import type { BrowserRow } from './browser-row.ts'

export type BrowserHost = ToolPorts & {
  readonly row: BrowserRow
  /** Sets the alarm of the session again. */
  readonly arm: () => void
}

const defaultIdleSeconds = 120

/** The time after which an unused browser is closed. */
export const getIdleMs = ({ deployment }: Pick<ToolPorts, 'deployment'>): number =>
  1_000 * (deployment().settings.browser?.idle_seconds ?? defaultIdleSeconds)
