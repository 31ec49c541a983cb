/** Keeps the focus in the field of the composer, which is a new element after the first message of a session. */

import { useLayoutEffect } from 'preact/hooks'

let hadFocus = false

export const useKeptFocus = (field: { readonly current: HTMLElement | null }): void =>
  useLayoutEffect(() => {
    const element = field.current
    if (hadFocus) element?.focus()
    return () => void (hadFocus = document.activeElement === element)
  }, [])
