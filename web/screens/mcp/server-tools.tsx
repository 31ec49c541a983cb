/** The tools of one MCP server: what they cost in a prompt, why one is withheld, and the approval of changes. */

import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { renderToolDiff, tokensOfTool } from '../../model/mcp-tools.ts'
import type { McpTool } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { Diff } from '../../markdown/diff.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { nameOf, say } from './mcp-words.ts'

type Props = { readonly alias: string; readonly onApproved: () => Promise<void> }

export function ServerTools({ alias, onApproved }: Props) {
  const tools = useLoad(() => get<Page<McpTool>>(`${path`/api/mcp/servers/${alias}`}/tools`), alias)
  const approve = async ({ tool, hash }: McpTool) => {
    await api('POST', `${path`/api/mcp/servers/${alias}`}/approve`, { body: { tools: [{ tool, hash }] } })
    await Promise.all([tools.reload(), onApproved()])
  }
  return (
    <Panel of={tools}>
      {({ data }) => (
        <>
          <p class="note">{say('cost', { tokens: formatNumber(sumTokens(data)) })}</p>
          <ul class="list-of">
            {data.map((tool) => (
              <ToolEntry key={tool.tool} tool={tool} onApprove={() => approve(tool)} />
            ))}
          </ul>
        </>
      )}
    </Panel>
  )
}

const sumTokens = (tools: readonly McpTool[]): number =>
  tools.filter(({ state }) => state === 'active').reduce((sum, tool) => sum + tokensOfTool(tool), 0)

function ToolEntry({ tool, onApprove }: { readonly tool: McpTool; readonly onApprove: () => Promise<void> }) {
  const { name, tool: own, title, description, state, reason, diff } = tool
  const isWithheld = state === 'changed' || state === 'quarantined'
  return (
    <li class={isWithheld ? 'card waiting' : 'card'}>
      <p class="row">
        <strong dir="auto">{title ?? own}</strong> <code>{name}</code>
        <span class={`badge ${state === 'active' ? 'good' : 'warn'}`}>{nameOf('tool', state)}</span>
      </p>
      <p class="pre-line" dir="auto">
        {description}
      </p>
      {reason && <p class="note">{reason}</p>}
      {diff && <Diff text={renderToolDiff(diff)} />}
      {isWithheld && can('approve') && (
        <Button kind="main" onClick={onApprove}>
          {t('approve')}
        </Button>
      )}
    </li>
  )
}
