/** Apps that use the MCP server for people of the tenant, and their end. */

import { api, get, type Page } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { ConnectedApp } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { formatDate } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'
import { Scopes } from './scopes.tsx'

const { say } = wordsOf(
  {
    about: 'Claude, ChatGPT and other apps sign in at the address {address}. Whatever they may do is listed here.',
    disconnect: 'Disconnect',
    disconnectText: 'Disconnect {name}? What runs by it stops.',
    none: 'No connected apps.',
    title: 'Connected apps',
  },
  {
    about: 'Claude, ChatGPT und andere Apps melden sich unter der Adresse {address} an. Was sie dürfen, steht hier.',
    disconnect: 'Trennen',
    disconnectText: '{name} trennen? Was damit läuft, hält an.',
    none: 'Keine verbundenen Apps.',
    title: 'Verbundene Apps',
  },
)

export function AppList() {
  const apps = useLoad(() => get<Page<ConnectedApp>>('/api/apps?limit=200'), '')
  const disconnect = async ({ id, name }: ConnectedApp) => {
    const text = say('disconnectText', { name })
    const action = say('disconnect')
    if ((await ask({ title: action, text, action, isDangerous: true })) === undefined) return
    await api('DELETE', `/api/apps/${encodeURIComponent(id)}`)
    await apps.reload()
  }
  return (
    <section class="list-of">
      <h2>{say('title')}</h2>
      <p class="note">{say('about', { address: `${location.origin}/mcp` })}</p>
      <Panel of={apps}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((app) => (
              <AppRow key={app.id} app={app} onEnd={() => disconnect(app)} />
            ))}
            {!data.length && <li class="note">{say('none')}</li>}
          </ul>
        )}
      </Panel>
    </section>
  )
}

const AppRow = ({ app, onEnd }: { readonly app: ConnectedApp; readonly onEnd: () => Promise<void> }) => (
  <li class="card row">
    <strong dir="auto">{app.name}</strong> <code>{app.host}</code>
    <span class="note grow">
      <Scopes of={app.scopes} /> · {t('lastUsed', { at: formatDate(app.last_used_at) })}
    </span>
    {can('write') && (
      <Button onClick={onEnd} label={`${say('disconnect')}: ${app.name}`}>
        {say('disconnect')}
      </Button>
    )}
  </li>
)
