/** Keeps which file of the session is open beside the chat. */

import { signal } from '@preact/signals'

export type Opened = { readonly session: string; readonly path: string }

export const opened = signal<Opened | undefined>(undefined)
/** Gets the focus back. */
let opener: Element | null = null

export function openArtifact(file: Opened): void {
  opener = document.activeElement
  opened.value = file
}

export function closeArtifact(): void {
  opened.value = undefined
  if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
}
