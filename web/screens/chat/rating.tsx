/** Rates an answer as good or bad, with a word about why, which exports and the agent's learning have. */

import { computed } from '@preact/signals'
import { useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { Message } from '../../model/types.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { place } from '../../parts/route.ts'
import { say } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { timeline } from './store.ts'

type Rating = NonNullable<Message['rating']>

/** While an answer streams these stay. */
const messages = computed(() => timeline.value.messages)
const ratings = computed(() => new Map(messages.value.map(({ seq, rating }) => [seq, rating])))

const values = ['good', 'bad'] as const
const maxNoteChars = 1_000

function show(seq: number, rating: Rating | undefined): void {
  const replace = ({ rating: _rating, ...message }: Message): Message => ({ ...message, ...(rating && { rating }) })
  const changed = timeline.value.messages.map((one) => (one.seq === seq ? replace(one) : one))
  timeline.value = { ...timeline.value, messages: changed }
}

async function rate(seq: number, rating: Rating | undefined): Promise<void> {
  const address = path`/api/sessions/${place.value.id}/messages/${`${seq}`}/rating`
  const { value, note } = rating ?? {}
  if (rating) await api('PUT', address, { body: { value, ...(note && { note }) } })
  else await api('DELETE', address)
  show(seq, rating)
  say(t(rating ? 'ratingSaved' : 'ratingRemoved'))
}

export function RatingButtons({ seq }: { readonly seq: number }) {
  const [isAsking, setAsking] = useState(false)
  const rating = ratings.value.get(seq)
  if (!can('chat')) return null
  const press = async (value: Rating['value']) => {
    const isRemoved = rating?.value === value
    await rate(seq, isRemoved ? undefined : { value, note: null })
    setAsking(!isRemoved)
  }
  return (
    <>
      {values.map((value) => (
        <IconButton
          key={value}
          icon={value}
          label={t(`rate_${value}`)}
          pressed={rating?.value === value}
          onClick={() => press(value)}
        />
      ))}
      {isAsking && rating && <Note seq={seq} rating={rating} onDone={() => setAsking(false)} />}
      {!isAsking && rating?.note && (
        <button type="button" class="rating-note clip" dir="auto" onClick={() => setAsking(true)}>
          {rating.note}
        </button>
      )}
    </>
  )
}

type NoteProps = { readonly seq: number; readonly rating: Rating; readonly onDone: () => void }

function Note({ seq, rating, onDone }: NoteProps) {
  const [text, setText] = useState(rating.note ?? '')
  const save = async () => {
    await rate(seq, { ...rating, note: text.trim() || null })
    onDone()
  }
  return (
    <form
      class="rating-form row"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <input
        class="grow"
        dir="auto"
        maxLength={maxNoteChars}
        aria-label={t(`why_${rating.value}`)}
        placeholder={t(`why_${rating.value}`)}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Button onClick={save}>{t('save')}</Button>
      <IconButton icon="close" label={t('close')} onClick={onDone} />
    </form>
  )
}
