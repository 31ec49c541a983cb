/** The parts of a session that its browser uses. */

import type { MediaSession } from '../../media/media-host.ts'
import type { ToolPorts } from '../tool-ports.ts'
import type { BrowserRow } from './browser-row.ts'

/** `arm` sets the alarm of the session again. */
export type BrowserSession = Pick<MediaSession, 'billing' | 'openTurn' | 'arm' | 'hasTable'>

export type BrowserHost = ToolPorts & BrowserSession & { readonly row: BrowserRow }

const defaultIdleSeconds = 120

/** The time after which an unused browser is closed. */
export const getIdleMs = ({ deployment }: Pick<ToolPorts, 'deployment'>): number =>
  1_000 * (deployment().settings.browser?.idle_seconds ?? defaultIdleSeconds)

/** The browser outlives the alarm that closes it. */
const keepAliveMarginMs = 60_000

/** The time after which an unused browser ends by itself. */
export const getKeepAliveMs = (ports: Pick<ToolPorts, 'deployment'>): number => getIdleMs(ports) + keepAliveMarginMs
