/** Lists the built-in plugins. */

import type { BuiltInPlugin } from './define-plugin.ts'
import a2a from './a2a.plugin.ts'
import gitGuard from './git-guard.plugin.ts'
import homeassistant from './homeassistant.plugin.ts'
import sendMessage from './send-message.plugin.ts'
import spotify from './spotify.plugin.ts'

export const builtInPlugins: readonly BuiltInPlugin[] = [a2a, gitGuard, homeassistant, sendMessage, spotify]
