/**
 * Runs before the page and asks for the words of the person's language, which come beside the page then. Without it the
 * page would ask when it runs, and wait. A file of its own, a few hundred bytes: nothing it imports may be shared.
 */

import { wishedLanguage } from './words/wished-language.ts'

// The document names the file of each table of words: `data-de="/app/de-….js"`.
const words = document.currentScript?.getAttribute(`data-${wishedLanguage()}`)
if (words) {
  const link = document.createElement('link')
  link.rel = 'modulepreload'
  link.href = words
  document.head.append(link)
}
