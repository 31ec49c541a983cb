/** MCP servers: their health, their tools, changes that wait for approval, and sign-ins. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { needsSignIn } from '../../model/mcp-tools.ts'
import type { McpServer } from '../../model/types.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { place } from '../../parts/route.ts'
import { explainReason, showDone, showError } from '../../parts/toast.ts'
import { formatNumber, formatTime } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { nameOf, say } from './mcp-words.ts'
import { NewServer } from './new-server.tsx'
import { ServerTools } from './server-tools.tsx'

type Verdict = { readonly ok: boolean; readonly tools: number; readonly ms: number; readonly reason: string | null }

export function McpServers() {
  const servers = useLoad(() => get<Page<McpServer>>('/api/mcp/servers'), '')
  return (
    <Screen title={t('mcp')}>
      <Panel of={servers}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((server) => (
              <ServerCard key={server.alias} server={server} onChange={servers.reload} />
            ))}
            {!data.length && <li class="note">{say('none')}</li>}
          </ul>
        )}
      </Panel>
      {can('write') && <NewServer onAdded={servers.reload} />}
    </Screen>
  )
}

type CardProps = { readonly server: McpServer; readonly onChange: () => Promise<void> }

/** A program runs in sessions alone. Before one has listed its tools, nothing is known of it, and that is no failure. */
const isUntried = ({ transport, status, fetched_at: fetchedAt }: McpServer): boolean =>
  transport === 'stdio' && status === 'unavailable' && !fetchedAt

/** A server whose calls are held back after failures is not shown as one that works. */
function health(server: McpServer): string {
  const { status, breaker, reason } = server
  if (isUntried(server)) return ''
  if (status === 'unavailable') return 'bad'
  return status === 'ready' && breaker === 'closed' && !reason ? 'good' : 'warn'
}

/** A program has a command instead. */
const addressOf = ({ url, command = '', args = [] }: McpServer): string => url ?? [command, ...args].join(' ')

function ServerCard({ server, onChange }: CardProps) {
  const { alias, status, breaker, tool_count: tools, source, era, fetched_at: fetchedAt } = server
  const isNamed = place.value.id === alias
  const [isOpen, setOpen] = useState(isNamed)
  return (
    <li class="card" id={`mcp-${alias}`} ref={isNamed ? scrollTo : null}>
      <p class="row">
        <strong dir="auto">{alias}</strong>
        <span class={`badge ${health(server)}`}>{nameOf('status', isUntried(server) ? 'untried' : status)}</span>
        {era && <span class="badge">{server.protocol_version ?? era}</span>}
        {server.trusted && <span class="badge">{say('trusted')}</span>}
        {breaker !== 'closed' && <span class="badge warn">{say('resting')}</span>}
      </p>
      <p>
        <code class="code-once">{addressOf(server)}</code>
      </p>
      <State of={server} />
      <p class="note">
        {say('toolCount', { count: formatNumber(tools) })} {fetchedAt && formatTime(fetchedAt)}
      </p>
      <div class="row">
        <Button onClick={() => setOpen(!isOpen)}>{say(isOpen ? 'hideTools' : 'showTools')}</Button>
        {can('write') && <ServerActions server={server} isOwn={source === 'tenant'} onChange={onChange} />}
      </div>
      {isOpen && <ServerTools alias={alias} onApproved={onChange} />}
    </li>
  )
}

/** A link of a chat names one server of many. */
const scrollTo = (card: HTMLElement | null): void => card?.scrollIntoView()

const State = ({ of: server }: { readonly of: McpServer }) =>
  isUntried(server) ? <p class="note">{say('untriedMeans')}</p> : server.reason && <Reason of={server.reason} />

/** A server, or its host, may have written it. */
function Reason({ of: reason }: { readonly of: string }) {
  const said = explainReason(reason)
  return (
    <p class="failure" dir="auto" lang={said === undefined ? 'en' : undefined}>
      {said ?? reason}
    </p>
  )
}

function ServerActions({ server, isOwn, onChange }: CardProps & { readonly isOwn: boolean }) {
  const { alias, enabled, trusted, auth, transport } = server
  const address = path`/api/mcp/servers/${alias}`
  const change = async (fields: object) => {
    await api('PATCH', address, { body: fields })
    await onChange()
  }
  const test = async () => {
    const { ok, tools, ms, reason } = await api<Verdict>('POST', `${address}/test`)
    if (ok) showDone(say('tested', { count: formatNumber(tools), ms: formatNumber(ms) }))
    else showError(new Error(explainReason(reason ?? '') ?? reason ?? ''))
    await onChange()
  }
  const signIn = async () => {
    const { authorize_url: target } = await api<{ authorize_url: string }>('POST', `${address}/oauth/start`)
    const question = {
      title: say('signIn'),
      text: say('leaves', { host: new URL(target).host }),
      action: say('signIn'),
    }
    if ((await ask(question)) !== undefined) location.assign(target)
  }
  const signOut = async () => {
    await api('DELETE', `${address}/oauth`)
    await onChange()
  }
  const trust = async () => {
    const question = { title: say('trust'), text: say('trustMeans'), action: say('trust') }
    if (trusted || (await ask(question)) !== undefined) await change({ trusted: !trusted })
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: alias, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', address)
    await onChange()
  }
  return (
    <>
      {needsSignIn(server) && (
        <Button kind="main" onClick={signIn}>
          {say('signIn')}
        </Button>
      )}
      {transport !== 'stdio' && <Button onClick={test}>{t('test')}</Button>}
      <Button onClick={() => change({ enabled: !enabled })}>{t(enabled ? 'pause' : 'resume')}</Button>
      {isOwn && can('approve') && <Button onClick={trust}>{say(trusted ? 'distrust' : 'trust')}</Button>}
      {auth === 'oauth' && !needsSignIn(server) && <Button onClick={signOut}>{say('signOut')}</Button>}
      {isOwn && <Button onClick={remove}>{t('delete')}</Button>}
    </>
  )
}
