/** Finds words and days in the open session, and saves it as a file. */

import { useEffect, useState } from 'preact/hooks'
import { get, type Page, path, send } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { findSeqAt } from '../../model/find-at.ts'
import type { Message } from '../../model/types.ts'
import { showBidi } from '../../markdown/links.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { download } from '../../parts/download.ts'
import { Field } from '../../parts/form.tsx'
import { addressOf, goTo } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { t, wordsOf } from '../../words/words.ts'
import { MoveToProject } from '../projects/project-choice.tsx'
import { ShareSection } from './share-section.tsx'

type Props = { readonly id: string; readonly title: string; readonly onClose: () => void }
type Hit = { readonly snippet: string; readonly message_id: string }

const searchDelayMs = 250
const formats = [
  ['md', 'Markdown'],
  ['html', 'HTML'],
  ['pdf', 'PDF'],
  ['json', 'JSON'],
] as const

export function SessionDialog({ id, title, onClose }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Search id={id} onClose={onClose} />
      <JumpToDay id={id} onClose={onClose} />
      <div class="row" role="group" aria-label={t('export')}>
        <span class="grow">{t('export')}</span>
        {formats.map(([format, name]) => (
          <Button key={format} onClick={() => exportAs(id, title, format)}>
            {name}
          </Button>
        ))}
      </div>
      <a href={addressOf('tree', id)} onClick={onClose}>
        {say('tree')}
      </a>
      {can('write') && <MoveToProject id={id} />}
      {can('write') && <ShareSection id={id} />}
      <span class="row end">
        <IconButton icon="close" label={t('close')} onClick={onClose} />
      </span>
    </Dialog>
  )
}

async function exportAs(id: string, title: string, format: string): Promise<void> {
  const response = await send('GET', `${path`/api/sessions/${id}/export`}?format=${format}`)
  const name = title.replaceAll(/[^\p{L}\p{N} _-]+/gu, '').trim() || id
  download(`${name}.${format}`, await response.blob())
}

const { say } = wordsOf({ tree: 'Subagents and states of the files' }, { tree: 'Unteragenten und Stände der Dateien' })

type PartProps = Pick<Props, 'id' | 'onClose'>

function Search({ id, onClose }: PartProps) {
  const [words, setWords] = useState('')
  const [hits, setHits] = useState<readonly Hit[]>()
  useEffect(() => {
    if (words.trim().length < 2) return setHits(undefined)
    const find = async () =>
      setHits((await get<Page<Hit>>(`/api/search?q=${encodeURIComponent(`${words} session:${id}`)}`)).data)
    const timer = setTimeout(() => find().catch(showError), searchDelayMs)
    return () => clearTimeout(timer)
  }, [words])
  return (
    <div class="list-of">
      <Field label={t('searchHere')} value={words} onChange={setWords} />
      {hits && (
        <ul class="hits" aria-label={t('searchHere')}>
          {hits.map(({ snippet, message_id: message }) => (
            <li key={message}>
              <a href={addressOf('chat', id, message.replace('msg_', ''))} onClick={onClose} dir="auto">
                {showBidi(snippet)}
              </a>
            </li>
          ))}
          {!hits.length && <li class="note">{t('nothingFound')}</li>}
        </ul>
      )}
    </div>
  )
}

type Messages = Page<Message>

async function findDay(id: string, day: string): Promise<number> {
  const load = async (parameters: string) =>
    (await get<Messages>(`${path`/api/sessions/${id}/messages`}?preview=1&limit=1&${parameters}`)).data[0]
  const newest = await load('')
  const midnight = new Date(`${day}T00:00`).getTime()
  return findSeqAt(midnight, newest?.seq ?? 1, async (seq) => {
    const message = await load(`after=${seq - 1}`)
    return message && { seq: message.seq, at: new Date(message.created_at).getTime() }
  })
}

function JumpToDay({ id, onClose }: PartProps) {
  const [day, setDay] = useState('')
  const jump = async () => {
    goTo('chat', id, `${await findDay(id, day)}`)
    onClose()
  }
  return (
    <div class="row">
      <label class="grow">
        {t('jumpToDay')}
        <input type="date" value={day} onInput={(event) => setDay(event.currentTarget.value)} />
      </label>
      <Button onClick={jump} disabled={!day}>
        {t('open')}
      </Button>
    </div>
  )
}
