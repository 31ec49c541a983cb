/** Renders the description of a picture that its author has written. Programs put names of files in its place. */

import { getAttribute } from './xml-tokens.ts'

const isFileName = (text: string): boolean => /^\S{1,200}\.\w{3,4}$|^\w:\\|^file:/i.test(text)

/** `attributes`: of the tag that names the picture. Empty: it has no description. */
export function renderDescription(attributes: string): string {
  const description = (getAttribute(attributes, 'descr') ?? '').replaceAll(/\s+/g, ' ').trim()
  return description === '' || isFileName(description) ? '' : `[picture: ${description}]`
}
