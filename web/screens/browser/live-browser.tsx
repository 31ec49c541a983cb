/** Shows the browser of a session while the agent uses it, and lets a person act in it while they have it. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { api, get, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, place } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { formatDate } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'

type State = {
  readonly open: boolean
  readonly url: string | null
  readonly handed_over_until: string | null
  readonly reason: string | null
}
type Shot = { readonly width: number; readonly height: number; readonly jpeg: string }
type Input =
  | { readonly type: 'click'; readonly x: number; readonly y: number }
  | { readonly type: 'scroll'; readonly x: number; readonly y: number; readonly by: number }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'key'; readonly key: string }

const againMs = 2_500
const scrollPixels = 500
const keys = ['Enter', 'Tab', 'Backspace', 'Escape', 'ArrowUp', 'ArrowDown'] as const

export function LiveBrowser() {
  const { id } = place.value
  if (id) return <BrowserOf key={id} id={id} />
  return (
    <Screen title={say('title')}>
      <p class="note">{say('noSession')}</p>
    </Screen>
  )
}

function BrowserOf({ id }: { readonly id: string }) {
  const base = path`/api/sessions/${id}/browser`
  const loaded = useLoad(async () => {
    const state = await get<State>(base)
    return { state, shot: state.open && can('chat') ? await get<Shot>(`${base}/screen`) : undefined }
  }, id)
  useEffect(() => {
    const timer = setInterval(() => document.hidden || void loaded.reload(), againMs)
    return () => clearInterval(timer)
  }, [id])
  const send = async (body: Input) => {
    const shot = await api<Shot>('POST', `${base}/input`, { body })
    const { data } = loaded
    if (data) loaded.set({ ...data, shot })
  }
  const giveBack = async () => {
    await api('DELETE', `${base}/lease`)
    await loaded.reload()
  }
  return (
    <Screen title={say('title')} actions={<a href={addressOf('chat', id)}>{t('toSession')}</a>}>
      <Panel of={loaded}>
        {({ state, shot }) => (
          <section class="list-of">
            <Holder state={state} onGiveBack={giveBack} />
            {shot && <View shot={shot} isYours={state.handed_over_until !== null} onInput={send} />}
          </section>
        )}
      </Panel>
    </Screen>
  )
}

type HolderProps = { readonly state: State; readonly onGiveBack: () => Promise<void> }

function Holder({ state: { open, url, handed_over_until: until, reason }, onGiveBack }: HolderProps) {
  if (!open) return <p class="note">{say('closed')}</p>
  return (
    <>
      {until === null ? (
        <p class="note">{say('agentHas')}</p>
      ) : (
        <div class="card waiting">
          <p>
            <strong dir="auto">{reason}</strong>
          </p>
          <p class="note">{say('youHave', { until: formatDate(until) })}</p>
          <Button kind="main" onClick={onGiveBack}>
            {say('giveBack')}
          </Button>
        </div>
      )}
      {url !== null && (
        <p>
          <code>{url}</code>
        </p>
      )}
    </>
  )
}

type KeysProps = Pick<ViewProps, 'onInput'> & { readonly middle: { readonly x: number; readonly y: number } }

const Keys = ({ onInput, middle }: KeysProps) => (
  <div class="row">
    {keys.map((key) => (
      <Button key={key} onClick={() => onInput({ type: 'key', key })}>
        {key}
      </Button>
    ))}
    <Button onClick={() => onInput({ type: 'scroll', ...middle, by: -scrollPixels })}>{say('up')}</Button>
    <Button onClick={() => onInput({ type: 'scroll', ...middle, by: scrollPixels })}>{say('down')}</Button>
  </div>
)

type ViewProps = {
  readonly shot: Shot
  readonly isYours: boolean
  readonly onInput: (input: Input) => Promise<void>
}

function View({ shot: { width, height, jpeg }, isYours, onInput }: ViewProps) {
  const picture = useRef<HTMLImageElement>(null)
  const [text, setText] = useState('')
  const click = (event: MouseEvent) => {
    const box = picture.current?.getBoundingClientRect()
    if (!box || !isYours) return
    const x = Math.round(((event.clientX - box.left) / box.width) * width)
    const y = Math.round(((event.clientY - box.top) / box.height) * height)
    void onInput({ type: 'click', x, y }).catch(showError)
  }
  const type = async () => {
    if (!text) return
    await onInput({ type: 'text', text })
    setText('')
  }
  return (
    <>
      <img
        ref={picture}
        class="live-page"
        src={`data:image/jpeg;base64,${jpeg}`}
        alt={say(isYours ? 'pageYours' : 'page')}
        width={width}
        height={height}
        onClick={click}
      />
      {isYours && (
        <>
          <form
            class="row"
            aria-label={say('type')}
            onSubmit={(event) => {
              event.preventDefault()
              void type().catch(showError)
            }}
          >
            <input
              class="grow"
              type="password"
              autocomplete="off"
              aria-label={say('text')}
              placeholder={say('text')}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <button type="submit" class="button" disabled={!text}>
              {say('type')}
            </button>
          </form>
          <Keys onInput={onInput} middle={{ x: width / 2, y: height / 2 }} />
          <p class="note">{say('hidden')}</p>
        </>
      )}
    </>
  )
}

const { say } = wordsOf(
  {
    agentHas: 'The agent has the browser. You can watch.',
    closed: 'No browser is open in this session.',
    down: 'Scroll down',
    giveBack: 'Give it back',
    hidden: 'What you type here is hidden from the agent, also later on.',
    page: 'The page that the agent sees',
    pageYours: 'The page. Click where you want to click.',
    text: 'Text for the field that you clicked',
    noSession: 'The browser of a session appears here. Open it from the request with which the agent hands it to you.',
    title: 'Browser',
    type: 'Type',
    up: 'Scroll up',
    youHave: 'You have the browser until {until}. The agent waits.',
  },
  {
    agentHas: 'Der Agent hat den Browser. Du kannst zusehen.',
    closed: 'In dieser Sitzung ist kein Browser offen.',
    down: 'Nach unten',
    giveBack: 'Zurückgeben',
    hidden: 'Was du hier tippst, sieht der Agent nicht, auch später nicht.',
    page: 'Die Seite, die der Agent sieht',
    pageYours: 'Die Seite. Klicke, wohin du klicken willst.',
    text: 'Text für das Feld, das du angeklickt hast',
    noSession:
      'Hier erscheint der Browser einer Sitzung. Öffne ihn aus der Anfrage, mit der der Agent ihn dir übergibt.',
    title: 'Browser',
    type: 'Tippen',
    up: 'Nach oben',
    youHave: 'Du hast den Browser bis {until}. Der Agent wartet.',
  },
)
