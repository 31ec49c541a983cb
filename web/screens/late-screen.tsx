/** Loads a screen when it is first opened. */

import type { FunctionComponent } from 'preact'
import type { ScreenName } from '../model/screen-names.ts'
import { loadLateStyle } from '../parts/late-style.ts'
import { useLoad, Panel } from '../parts/load.tsx'
import { t } from '../words/words.ts'

type Load = () => Promise<FunctionComponent>
const screens: Readonly<Record<Exclude<ScreenName, 'chat'> | 'palette', Load>> = {
  inbox: async () => (await import('./inbox/inbox.tsx')).Inbox,
  sessions: async () => (await import('./sessions/manage.tsx')).Sessions,
  projects: async () => (await import('./projects/projects.tsx')).Projects,
  run: async () => (await import('./run/run.tsx')).RunScreen,
  palette: async () => (await import('./palette/palette.tsx')).Palette,
  files: async () => (await import('./files/files.tsx')).Files,
  models: async () => (await import('./models/models.tsx')).Models,
  settings: async () => (await import('./settings/settings.tsx')).SettingsScreen,
  usage: async () => (await import('./usage/usage.tsx')).UsageScreen,
  channels: async () => (await import('./channels/channels.tsx')).Channels,
  jobs: async () => (await import('./jobs/jobs.tsx')).Jobs,
  memory: async () => (await import('./memory/memory.tsx')).Memory,
  skills: async () => (await import('./skills/skills.tsx')).Skills,
  mcp: async () => (await import('./mcp/mcp.tsx')).McpServers,
  tools: async () => (await import('./tools/tools.tsx')).Tools,
  plugins: async () => (await import('./plugins/plugins.tsx')).Plugins,
  secrets: async () => (await import('./secrets/secrets.tsx')).Secrets,
  batches: async () => (await import('./batches/batches.tsx')).Batches,
  evals: async () => (await import('./evals/evals.tsx')).Evals,
  tree: async () => (await import('./tree/tree.tsx')).SessionTree,
  browser: async () => (await import('./browser/live-browser.tsx')).LiveBrowser,
  owner: async () => (await import('./owner/owner.tsx')).Owner,
  account: async () => (await import('./account/account.tsx')).Account,
  keys: async () => (await import('./account/key-help.tsx')).KeyHelp,
}

export function LateScreen({ name }: { readonly name: string }) {
  const load = Object.hasOwn(screens, name) ? screens[name as keyof typeof screens] : undefined
  const loaded = useLoad(async () => {
    const [Screen] = await Promise.all([load?.(), loadLateStyle()])
    return { Screen }
  }, name)
  return <Panel of={loaded}>{({ Screen }) => (Screen ? <Screen /> : <p class="note">{t('noScreen')}</p>)}</Panel>
}
