/** The tools of the agent: where they come from, what they need, and switches for each toolset and tool. */

import { useState } from 'preact/hooks'
import { api, get, type Page } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { stateOf, switchOff, switchOn, type ToolSettings } from '../../model/tool-switches.ts'
import type { McpServer } from '../../model/types.ts'
import { Field } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { Switch } from '../../parts/switch.tsx'
import { t, wordsOf } from '../../words/words.ts'
import { nameOf as nameOfServer } from '../mcp/mcp-words.ts'
import type { Plugin } from '../plugins/plugin.ts'

type Tool = {
  readonly name: string
  readonly toolset: string
  readonly available: boolean
  readonly by: string | null
  readonly reason: string | null
}
type Loaded = {
  readonly tools: readonly Tool[]
  readonly settings: ToolSettings
  readonly servers: readonly McpServer[]
  readonly plugins: readonly Plugin[]
}

/** The reason of the API for a tool that only the settings leave out. */
const leftOut = 'The setting toolsets leaves it out.'

async function loadTools(): Promise<Loaded> {
  const [tools, settings, servers, plugins] = await Promise.all([
    get<Page<Tool>>('/api/tools?limit=1000'),
    get<{ readonly toolsets?: ToolSettings }>('/api/settings'),
    get<Page<McpServer>>('/api/mcp/servers'),
    get<Page<Plugin>>('/api/plugins'),
  ])
  return { tools: tools.data, settings: settings.toolsets ?? {}, servers: servers.data, plugins: plugins.data }
}

export function Tools() {
  const loaded = useLoad(loadTools, '')
  const [search, setSearch] = useState('')
  return (
    <Screen title={t('tools')}>
      <p class="note">{say('about')}</p>
      <Field label={t('search')} value={search} onChange={setSearch} />
      <Panel of={loaded}>
        {({ tools, settings, servers, plugins }) => (
          <>
            <section class="list-of">
              <h2>{say('builtIn')}</h2>
              <Toolsets tools={findTools(tools, search)} all={tools} settings={settings} onChange={loaded.reload} />
            </section>
            <Foreign servers={servers} plugins={plugins} />
          </>
        )}
      </Panel>
    </Screen>
  )
}

const findTools = (tools: readonly Tool[], search: string): readonly Tool[] =>
  tools.filter((tool) =>
    `${tool.name} ${tool.toolset} ${sayToolset(tool.toolset)}`.toLowerCase().includes(search.toLowerCase()),
  )

const sayToolset = (name: string): string => nameOf('set', name)

type SetsProps = {
  readonly tools: readonly Tool[]
  readonly all: readonly Tool[]
  readonly settings: ToolSettings
  readonly onChange: () => Promise<void>
}

function Toolsets({ tools, all, settings, onChange }: SetsProps) {
  const names = [...new Set(tools.map(({ toolset }) => toolset))].toSorted()
  return (
    <ul class="list-of">
      {names.map((name) => (
        <li key={name} class="card list-of">
          <SetHead
            name={name}
            tools={all.filter(({ toolset }) => toolset === name)}
            settings={settings}
            onChange={onChange}
          />
          <ul class="list-of">
            {tools
              .filter(({ toolset }) => toolset === name)
              .map((tool) => (
                <ToolRow key={tool.name} tool={tool} all={all} settings={settings} onChange={onChange} />
              ))}
          </ul>
        </li>
      ))}
      {!names.length && <li class="note">{t('nothingFound')}</li>}
    </ul>
  )
}

const isLeftOut = ({ reason }: Tool): boolean => reason === leftOut

type HeadProps = Omit<SetsProps, 'all'> & { readonly name: string }

function SetHead({ name, tools, settings, onChange }: HeadProps) {
  const states = tools.map((tool) => stateOf({ ...tool, isLeftOut: isLeftOut(tool) }, settings))
  const isOn = states.includes('on')
  const isFixed = !can('write') || (!isOn && states.includes('off-by-default'))
  const change = async () => {
    const members = tools.map((tool) => tool.name)
    const body = isOn ? switchOff(name, settings) : switchOn({ name, toolset: name, members }, settings)
    await api('PATCH', '/api/settings', { body })
    await onChange()
  }
  return (
    <>
      <div class="row">
        <h3 class="grow">{sayToolset(name)}</h3>
        <Switch
          label={say('switchSet', { name: sayToolset(name) })}
          text={say(isOn ? 'on' : 'off')}
          isOn={isOn}
          isFixed={isFixed}
          onChange={change}
        />
      </div>
      {!isOn && states.includes('off-by-default') && (
        <p class="note">
          {say('offByDefault', { name })} <a href={addressOf('settings')}>{t('settings')}</a>
        </p>
      )}
    </>
  )
}

type RowProps = { readonly tool: Tool } & Omit<SetsProps, 'tools'>

function ToolRow({ tool, all, settings, onChange }: RowProps) {
  const { name, toolset, reason, by, available } = tool
  const state = stateOf({ ...tool, isLeftOut: isLeftOut(tool) }, settings)
  const change = async () => {
    const members = all.filter((one) => one.toolset === toolset).map((one) => one.name)
    const body = state === 'on' ? switchOff(name, settings) : switchOn({ name, toolset, members }, settings)
    await api('PATCH', '/api/settings', { body })
    await onChange()
  }
  return (
    <li class={available ? 'row tool' : 'row'}>
      <code class="grow">{name}</code>
      {available ? (
        <span class="badge">{nameOf('by', by ?? '')}</span>
      ) : (
        !isLeftOut(tool) && (
          <span class="note" dir="auto">
            <span class="badge warn">{say('missing')}</span> {reason}
          </span>
        )
      )}
      {state !== 'off-by-default' && (
        <Switch
          label={say('switchTool', { name })}
          text={say(state === 'on' ? 'on' : 'off')}
          isOn={state === 'on'}
          isFixed={!can('write')}
          onChange={change}
        />
      )}
    </li>
  )
}

/** Tools that servers and plugins bring are switched where these are. */
const Foreign = ({ servers, plugins }: Pick<Loaded, 'servers' | 'plugins'>) => (
  <section class="list-of">
    <h2>{say('foreign')}</h2>
    <ul class="list-of">
      {servers.map(({ alias, tool_count: count, status }) => (
        <li key={`mcp ${alias}`} class="card row">
          <a href={addressOf('mcp', alias)}>{alias}</a>
          <span class="badge">{t('mcp')}</span>
          <span class={`badge ${status === 'ready' ? '' : 'warn'}`}>{nameOfServer('status', status)}</span>
          <span class="note">{say('count', { count })}</span>
        </li>
      ))}
      {plugins.map(({ name, tools, status }) => (
        <li key={`plugin ${name}`} class="card row">
          <a href={addressOf('plugins', name)}>{name}</a>
          <span class="badge">{t('plugins')}</span>
          <span class={`badge ${status === 'active' ? '' : 'warn'}`}>{nameOf('plugin', status)}</span>
          <span class="note">{say('count', { count: tools.length })}</span>
        </li>
      ))}
      {!servers.length && !plugins.length && <li class="note">{say('noForeign')}</li>}
    </ul>
  </section>
)

const { say, nameOf } = wordsOf(
  {
    about: 'What the agent may use. A session can have fewer, never more; messengers and webhooks have less.',
    builtIn: 'Built in',
    by_talaria: 'runs in Talaria',
    by_virtual: 'virtual shell',
    by_cdp: 'your browser',
    by_host: 'on your host',
    count: '{count} tools',
    foreign: 'From servers and plugins',
    missing: 'Not available',
    noForeign: 'None. MCP servers and plugins bring more tools.',
    off: 'Off',
    offByDefault: 'Off by default. To have it, name {name} and all others in toolsets.enabled.',
    on: 'On',
    plugin_active: 'Active',
    plugin_failed: 'Failed',
    plugin_paused: 'Off',
    plugin_pending: 'Waits for approval',
    set_browser: 'Browser',
    set_browser_cdp: 'Browser, by its protocol',
    set_clarify: 'Questions',
    set_code_execution: 'Programs',
    set_cronjob: 'Jobs',
    set_delegation: 'Subagents',
    set_file: 'Files',
    set_image_gen: 'Pictures',
    set_memory: 'Memory',
    set_session_search: 'Earlier sessions',
    set_skills: 'Skills',
    set_terminal: 'Commands',
    set_todo: 'Plans',
    set_tts: 'Speech',
    set_video: 'Watching',
    set_video_gen: 'Films',
    set_vision: 'Seeing',
    set_web: 'Web',
    switchSet: 'Toolset {name}',
    switchTool: 'Tool {name}',
  },
  {
    about:
      'Was der Agent benutzen darf. Eine Sitzung kann weniger haben, nie mehr; Messenger und Webhooks haben weniger.',
    builtIn: 'Eingebaut',
    by_talaria: 'läuft in Talaria',
    by_virtual: 'virtuelle Shell',
    by_cdp: 'dein Browser',
    by_host: 'auf deinem Rechner',
    count: '{count} Werkzeuge',
    foreign: 'Von Servern und Erweiterungen',
    missing: 'Nicht verfügbar',
    noForeign: 'Keine. MCP-Server und Erweiterungen bringen weitere Werkzeuge.',
    off: 'Aus',
    offByDefault: 'Ohne Einstellung aus. Um es zu haben, nenne {name} und alle anderen in toolsets.enabled.',
    on: 'An',
    plugin_active: 'Aktiv',
    plugin_failed: 'Fehlgeschlagen',
    plugin_paused: 'Aus',
    plugin_pending: 'Wartet auf Freigabe',
    set_browser: 'Browser',
    set_browser_cdp: 'Browser, über sein Protokoll',
    set_clarify: 'Fragen',
    set_code_execution: 'Programme',
    set_cronjob: 'Aufträge',
    set_delegation: 'Unteragenten',
    set_file: 'Dateien',
    set_image_gen: 'Bilder',
    set_memory: 'Gedächtnis',
    set_session_search: 'Frühere Sitzungen',
    set_skills: 'Fähigkeiten',
    set_terminal: 'Befehle',
    set_todo: 'Pläne',
    set_tts: 'Sprache',
    set_video: 'Filme ansehen',
    set_video_gen: 'Filme',
    set_vision: 'Sehen',
    set_web: 'Web',
    switchSet: 'Werkzeugsatz {name}',
    switchTool: 'Werkzeug {name}',
  },
)
