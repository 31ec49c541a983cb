/** Failures of tools and the calls that fixed them, which the agent is offered when a failure returns. */

import { useState } from 'preact/hooks'
import { api, get, type Page } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Field } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { showDone } from '../../parts/toast.ts'
import { t, wordsOf } from '../../words/words.ts'

type Fix = {
  readonly id: string
  readonly tool: string
  readonly error: string
  readonly failed: string
  readonly fix: string
  readonly uses: number
  readonly tags: readonly string[]
  readonly foreign: boolean
}

const maxTags = 10

export function Fixes() {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say('title')}</summary>
      {isOpen && <FixList />}
    </details>
  )
}

const isFound = ({ tool, error, failed, fix, tags }: Fix, words: string): boolean =>
  words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => [tool, error, failed, fix, ...tags].join(' ').toLowerCase().includes(word))

function FixList() {
  const fixes = useLoad(() => get<Page<Fix>>('/api/learning?limit=200'), '')
  const [search, setSearch] = useState('')
  const change = async (body: object): Promise<number> => {
    const { changed } = await api<{ readonly changed: number }>('POST', '/api/learning', { body })
    await fixes.reload()
    return changed
  }
  const unite = async () => {
    const count = await change({ action: 'consolidate' })
    showDone(count ? say('united', { count: String(count) }) : say('noneAlike'))
  }
  return (
    <section class="list-of" aria-label={say('title')}>
      <p class="note">{say('about')}</p>
      <Panel of={fixes}>
        {({ data }) =>
          data.length ? (
            <>
              <Field label={t('search')} value={search} onChange={setSearch} />
              <ul class="list-of">
                {data
                  .filter((one) => isFound(one, search))
                  .map((one) => (
                    <FixCard key={one.id} of={one} onChange={change} />
                  ))}
              </ul>
              {can('write') && (
                <div class="row">
                  <Button onClick={unite}>{say('unite')}</Button>
                </div>
              )}
            </>
          ) : (
            <p class="note">{say('none')}</p>
          )
        }
      </Panel>
    </section>
  )
}

type CardProps = { readonly of: Fix; readonly onChange: (body: object) => Promise<number> }

function FixCard({ of, onChange }: CardProps) {
  const { id, tool, error, failed, fix, uses, tags, foreign } = of
  const setTags = async () => {
    const text = await ask({ title: t('editTags'), text: say('tagsHint'), action: t('save'), field: tags.join(', ') })
    if (text === undefined) return
    const words = [...new Set(text.split(',').map((word) => word.trim()))].filter(Boolean)
    await onChange({ action: 'tag', ids: [id], tags: words.slice(0, maxTags) })
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: error, action: t('delete'), isDangerous: true })) === undefined) return
    await onChange({ action: 'delete', ids: [id] })
  }
  return (
    <li class="card list-of">
      <div class="row">
        <strong class="grow" dir="auto">
          {error}
        </strong>
        {can('write') && <IconButton icon="edit" label={t('editTags')} onClick={setTags} />}
        {can('write') && <IconButton icon="trash" label={t('delete')} onClick={remove} />}
      </div>
      {failed && (
        <pre>
          <code>{failed}</code>
        </pre>
      )}
      <span class="note">{say('fixedBy')}</span>
      <pre>
        <code>{fix}</code>
      </pre>
      <p class="row">
        <span class="badge">{tool}</span>
        {tags.map((tag) => (
          <span key={tag} class="badge" dir="auto">
            {tag}
          </span>
        ))}
        <span class="note">
          {say('uses', { count: String(uses) })}
          {foreign && ` · ${say('foreign')}`}
        </span>
      </p>
    </li>
  )
}

const { say } = wordsOf(
  {
    about: 'When the same call of a tool fails again, in any session, the agent is told what helped before.',
    fixedBy: 'Fixed by',
    foreign: 'from a turn that had read texts of others',
    none: 'Nothing was learned from errors yet.',
    noneAlike: 'No two of them are alike.',
    tagsHint: 'Up to ten words, with commas between them.',
    title: 'Learned from errors',
    unite: 'Unite those that are alike',
    united: 'United: {count}.',
    uses: 'offered {count} times',
  },
  {
    about: 'Wenn derselbe Aufruf eines Werkzeugs wieder fehlschlägt, egal wo, erfährt der Agent, was früher half.',
    fixedBy: 'Behoben durch',
    foreign: 'aus einem Zug, der fremde Texte gelesen hatte',
    none: 'Aus Fehlern wurde noch nichts gelernt.',
    noneAlike: 'Keine zwei davon ähneln sich.',
    tagsHint: 'Bis zu zehn Wörter, durch Kommas getrennt.',
    title: 'Aus Fehlern gelernt',
    unite: 'Ähnliche zusammenfassen',
    united: 'Zusammengefasst: {count}.',
    uses: '{count}-mal angeboten',
  },
)
