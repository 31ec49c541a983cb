/** Loads the data of a panel. A panel that fails says why and can be tried again, and the others go on. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { t } from '../words/words.ts'
import { Button } from './button.tsx'
import { explain, isMissingPart, reloading } from './toast.ts'

export type Loaded<T> = {
  readonly data: T | undefined
  readonly error: unknown
  readonly reload: () => Promise<void>
  readonly set: (data: T) => void
}

/** Loads again when `key` changes. An answer that a newer request has overtaken is dropped. */
export function useLoad<T>(load: () => Promise<T>, key: string): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown }>({ key })
  const newest = useRef({ load, key, requests: 0 })
  Object.assign(newest.current, { load, key })
  const reload = useCallback(async () => {
    // The caller may hold an older render, which has asked for something else.
    const { load: loadNewest, key: asked } = newest.current
    const request = ++newest.current.requests
    const isNewest = () => newest.current.requests === request && newest.current.key === asked
    try {
      const data = await loadNewest()
      if (isNewest()) setState({ key: asked, data })
    } catch (error) {
      if (isNewest()) setState((before) => ({ ...(before.key === asked && before), key: asked, error }))
    }
  }, [])
  useEffect(() => void reload(), [key])
  const isCurrent = state.key === key
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    reload,
    set: (data) => newest.current.key === key && setState({ key, data }),
  }
}

type PanelProps<T> = {
  readonly of: Loaded<T>
  readonly children: (data: T) => ComponentChildren
}

export function Panel<T>({ of, children }: PanelProps<T>) {
  if (of.data !== undefined) return <>{children(of.data)}</>
  if (of.error === undefined) return <Waiting />
  const { label, run } = isMissingPart(of.error) ? reloading() : { label: t('retry'), run: of.reload }
  return (
    <div class="failure" role="alert">
      <p>{explain(of.error)}</p>
      <Button onClick={run}>{label}</Button>
    </div>
  )
}

const tickMs = 1_000
/** Silence that is worth a word. */
const silentSeconds = 10

/** Stands for what is loaded, and says when that takes long. */
export function Waiting({ class: name = '' }: { readonly class?: string }) {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), tickMs)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <div class={`skeleton ${name}`} aria-label={t('loading')} role="img" />
      {seconds >= silentSeconds && (
        <p class="note" role="status">
          {t('silentServer', { seconds: silentSeconds })}
        </p>
      )}
    </>
  )
}

type ScreenProps = {
  readonly title: string
  readonly children: ComponentChildren
  readonly actions?: ComponentChildren
}
export const Screen = ({ title, children, actions }: ScreenProps) => (
  <div class="screen">
    <header class="screen-head">
      <h1>{title}</h1>
      <div class="row">{actions}</div>
    </header>
    {children}
  </div>
)
