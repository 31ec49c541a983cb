/** Draws the files that a text names. The chat registers how, because files belong to a session. */

import type { ComponentType } from 'preact'
import { showBidi } from './links.ts'

export type NamedFile = { readonly path: string; readonly text: string }

let view: ComponentType<NamedFile> = ({ text }) => <>{showBidi(text)}</>
export const drawFilesBy = (component: ComponentType<NamedFile>): void => void (view = component)

export function FileLink(file: NamedFile) {
  const View = view
  return <View key={file.path} {...file} />
}
